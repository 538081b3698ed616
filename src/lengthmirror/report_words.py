"""Words and cells of the report: what classes, flags and states mean, and numbers as text."""

from collections.abc import Sequence
from typing import Any

from .figure_style import size_text
from .report_data import ReportData, Row

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
CLASS_MEANINGS = {
    "NO_PREFERENCE": "G is equivalent to 0 and so is the lean: a coin, or a judge that only "
                     "follows the slot.",
    "LENGTH_PREFERENCE": "G is equivalent to 0 and the judge leans to the longer answer: a "
                         "preference that ignores quality.",
    "BREVITY_PREFERENCE": "G is equivalent to 0 and the judge leans to the shorter answer: a "
                          "preference that ignores quality.",
    "ZERO_GAP_LEAN_UNRESOLVED": "G is equivalent to 0; the lean is neither shown nor excluded.",
    "QUALITY_TRACKING": "G is above 0 and equivalent to the human gap: the judge follows the "
                        "human labels as one annotator follows another.",
    "PARTIAL_TRACKING": "G is above 0 and below the human gap: the judge follows the labels, less "
                        "than a human does.",
    "EXCEEDS_HUMAN": "G is above 0 and above the human gap.",
    "INVERSE": "G is below 0: the judge runs against the humans.",
    "INCONCLUSIVE": "These data cannot say.",
    "UNRESOLVABLE_MARGINS": "Both equivalences hold at once: these data cannot tell the "
                            "hypotheses apart.",
}
FLAG_MEANINGS = {
    "position_dominated": "most verdicts change when the two answers change places.",
    "excess_length_lean": "the judge leans to the longer answer more than the humans do.",
    "composition_driven": "the test of G pooled over pairs and the one paired by question "
                          "disagree.",
    "length_gradient": "G is above 0, but not once the size of the length difference is "
                       "adjusted for.",
    "borderline_mc": "an interval ends close to a boundary of the rule, so it was computed again "
                     "with more resamples; the class is not in doubt because of it.",
}
OUTCOME_MEANINGS = {
    "UNIFORM": "all scored judges have the same class.",
    "LOCALISED": "the class changes once, between two neighbours, and G has no significant "
                 "slope among the judges on either side, where there are several.",
    "GRADED": "the class changes gradually: more than once in one direction, or with a slope of "
              "G among judges of one class.",
    "NON_MONOTONE": "the class changes back and forth with size.",
    "UNDETERMINED": "too few scored judges, a judge without a definite class, or a change that "
                    "these data do not show.",
}
COMPARISON_MEANINGS = {
    "gpt4-published": "published verdicts",
    "humans": "one annotator against another",
    "always-longer": "control: the longer one, always",
    "coin": "control: one half, always",
}
STATUS_MEANINGS = {
    "verified": "the frozen files equal the receipt, were not changed since, and are older than "
                "the logits.",
    "unverifiable": "the frozen files equal the receipt, but there was no history to check that "
                    "they are older than the logits.",
    "unregistered": "this study has no receipt for these files, so nothing shows that the rule "
                    "was fixed before the results.",
    "broken": "a tamper check failed; do not rely on these results before you have read what "
              "lengthmirror verify says.",
}


def number(value: float | None, digits: int = 3) -> str:
    """A decimal with a true minus sign; a dash where there is none."""
    if value is None:
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def p_value(value: float | None) -> str:
    """Four decimals, and as many more as a smaller value needs."""
    return number(value, 4 if value is None or value >= 1e-4 or not value else 6)


def count(value: float | None) -> str:
    """A number of units; a fraction (of weighted pairs) keeps one decimal."""
    return DASH if value is None else f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def interval(estimate: Row | None, name: str = "ci95") -> str:
    """``[low, high]`` of an estimate or a proportion."""
    if estimate is None:
        return ""
    low, high = estimate[name]
    return f"[{number(low)}, {number(high)}]"


def raised_flags(row: Row) -> list[str]:
    """The names of the flags that are raised, sorted."""
    return sorted(name for name, value in (row["flags"] or {}).items() if value is True)


def classes_shown(data: ReportData) -> list[str]:
    """The classes that occur on the page, in the order of their meanings."""
    rows = [*data.judges, *data.comparisons]
    found = {row["class"] for row in rows}
    found |= {row["order_debiased"]["class"] for row in rows if row["order_debiased"]}
    return [name for name in CLASS_MEANINGS if name in found]


def flags_shown(data: ReportData) -> list[str]:
    """The flags that are raised anywhere on the page."""
    rows = [*data.judges, *data.comparisons]
    rows += [row["order_debiased"] for row in rows if row["order_debiased"]]
    found = {name for row in rows for name in raised_flags(row)}
    return [name for name in FLAG_MEANINGS if name in found]


def outcomes_shown(data: ReportData) -> list[str]:
    """The scale outcomes on the page, primary and order-debiased."""
    found = {each["outcome"] for each in data.fitted_ladders}
    found |= {each["order_debiased"]["outcome"] for each in data.fitted_ladders
              if each["order_debiased"]}
    return [name for name in OUTCOME_MEANINGS if name in found]


def other_classes(specifications: Sequence[Row]) -> list[Row]:
    """The specifications whose class is another than the first one's, or missing."""
    return [row for row in specifications[1:] if row["class"] != specifications[0]["class"]]


def not_run_by_reason(data: ReportData) -> list[tuple[str | None, list[str]]]:
    """Names of the rungs without results, with what they share as the reason, in ladder order."""
    groups: dict[str | None, list[str]] = {}
    for row in data.not_run:
        groups.setdefault(row["unscored_reason"], []).append(row["rung"])
    return list(groups.items())


def alternative_texts(data: ReportData) -> dict[str, str]:
    """What each figure shows, for who cannot see it, by name of the figure."""
    rows = [*data.judges, *data.comparisons]
    return {
        "gap": _listed("Forest plot of G with its intervals", rows, _gap),
        "subsets": _listed("Scatter plot of r_long where humans preferred the longer answer "
                           "(first number) and where they preferred the shorter one (second)",
                           rows, lambda row: " and ".join(number(row["r_long"][subset]["estimate"])
                                                          for subset in ("longer", "shorter"))),
        "scale": _listed("G against the number of parameters, with the fitted slope of each "
                         "ladder", data.fitted_ladders,
                         lambda each: f"slope {number(each['slope']['estimate'])} "
                                      f"{interval(each['slope'])}", "ladder"),
        "length": "One panel per judge: r_long in both subsets against the relative length "
                  "difference, with intervals. The ladder file has the numbers under "
                  "length_curve.",
        "orders": _listed("Position consistency, share of verdicts for slot A and mean option "
                          "mass", [row for row in data.judges if row["position_consistency"]],
                          _orders),
    }


def _listed(what: str, rows: Sequence[Row], text: Any, key: str = "rung") -> str:
    return f"{what}. " + "; ".join(f"{row[key]}: {text(row)}" for row in rows) + "."


def _gap(row: Row) -> str:
    size = f" ({size_text(row['parameters'])} parameters)" if row["parameters"] else ""
    return f"{number(row['gap']['estimate'])} {interval(row['gap'])}{size}, {row['class'] or DASH}"


def _orders(row: Row) -> str:
    return ", ".join(number(value) for value in (row["position_consistency"]["estimate"],
                                                 row["slot_a_share"], row["option_mass"]["mean"]))
