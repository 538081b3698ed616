"""From committed tables to one row per judge: every registered statistic and the class.

``rung_row``, ``gpt4_row``, ``humans_row`` and ``control_row`` each give one row of the ladder
report (README.md has the data dictionary). No model is loaded here.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .errors import InvalidLogits
from .inputs import CONTROL, CONTROLS, GPT4, HUMANS, JUDGE, REFERENCE, REFERENCES, Inputs
from .intervals import Estimate, Proportion
from .judge_statistics import HumanStatistics, JudgeStatistics, human_statistics, judge_statistics
from .length_curve import LengthBin, human_length_curve, judge_length_curve
from .logit_alignment import align_logits
from .logit_table import read_logits
from .manifest import NAME, check_logits_entry
from .pairs import PairTable, Units
from .rule import Rule
from .verdicts import (
    Diagnostics,
    OrderedLogits,
    Verdicts,
    order_debiased_verdicts,
    primary_verdicts,
)

ORDER_DEBIASED = "order_debiased"
MASS_PERCENTILE = 5  # the option mass is described by its mean and its 5th percentile
MODEL = ("model", "family", "parameters", "unscored_reason")  # of the rung; null for references
STATISTICS = ("r_long", "gap", "gap_adjusted", "gap_within", "gap_consistent", "lean", "human_gap",
              "human_lean", "gap_matched", "shortfall", "excess_lean", "d_prime", "criterion",
              "sign_flip_p", "bootstrap_p", "equivalence_p_0", "equivalence_p_H", "facts", "flags",
              "position_consistency", "slot_a_share", "option_mass", "exact_ties",
              "n_resamples", "n_dropped")

Row = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """A judge's statistics for one kind of verdict, and what its two orders reveal."""
    statistics: JudgeStatistics
    diagnostics: Diagnostics
    length_curve: list[LengthBin]


@dataclass(frozen=True)
class RungStatistics:
    """``deciding`` for the registered kind of verdict, ``debiased`` for the order-debiased one."""
    deciding: Judged
    debiased: Judged


def rung_statistics(inputs: Inputs, slug: str) -> RungStatistics:
    """Both verdicts of a scored rung on the registered units.

    Raises:
        InvalidLogits: the table is corrupt, incomplete, duplicated or another judge's.
        UnresolvableDesign: the registered margins cannot tell the hypotheses apart.
    """
    logits = rung_logits(inputs, slug)(inputs.units)
    rule = inputs.study.rule
    return RungStatistics(judged(inputs.units, logits, rule, rule.verdict_kind),
                          judged(inputs.units, logits, rule, ORDER_DEBIASED))


def rung_row(inputs: Inputs, slug: str, found: RungStatistics | None = None) -> Row:
    """The row of a scored rung, from its statistics where they are there already.

    Raises:
        InvalidLogits, UnresolvableDesign: as for ``rung_statistics``.
    """
    found = found or rung_statistics(inputs, slug)
    return _row(inputs, slug, "scored", **_judged_fields(found.deciding),
                order_debiased=_judged_fields(found.debiased))


def rung_logits(inputs: Inputs, slug: str) -> Callable[[Units], OrderedLogits]:
    """Gives the checked logits of a rung for any units it was scored on.

    Raises:
        InvalidLogits: as for ``rung_statistics``.
    """
    path = inputs.logits_path(slug)
    entry = check_logits_entry(inputs.manifest, inputs.study, inputs.study.rungs[slug], path)
    table = read_logits(path, slug)
    if entry.get("n_rows", table.num_rows) != table.num_rows:
        raise InvalidLogits(f"{slug}: {path} has {table.num_rows} rows, but {NAME} records "
                            f"{entry['n_rows']}.")
    align_logits(inputs.scored_units, inputs.pairs, table, slug)
    return lambda units: align_logits(units, inputs.pairs, table, slug)


def judged(units: Units, logits: OrderedLogits, rule: Rule, verdict_kind: str) -> Judged:
    """The statistics of a judge's verdicts of one kind."""
    verdicts = verdicts_of(units, logits, verdict_kind)
    found = verdicts.diagnostics
    return Judged(judge_statistics(units, verdicts.score4, found.consistent, rule), found,
                  judge_length_curve(units, verdicts.score4, rule))


def verdicts_of(units: Units, logits: OrderedLogits, verdict_kind: str) -> Verdicts:
    """Scores and diagnostics for one kind of verdict, "primary" or "order_debiased"."""
    read = order_debiased_verdicts if verdict_kind == ORDER_DEBIASED else primary_verdicts
    return read(logits, units.judged, MASS_PERCENTILE / 100)


def not_run_row(inputs: Inputs, slug: str) -> Row:
    """The row of a rung without logits: no statistics."""
    return _row(inputs, slug, "not_run")


def gpt4_row(inputs: Inputs) -> Row:
    """The reference row of GPT-4's published pair verdicts; a tie of either kind scores 0.5."""
    score4 = published_score4(inputs.pairs, inputs.units)
    statistics = judge_statistics(inputs.units, score4, None, inputs.study.rule)
    curve = judge_length_curve(inputs.units, score4, inputs.study.rule)
    return _row(inputs, GPT4, REFERENCE, **_fields(statistics), length_curve=_curve(curve))


def humans_row(inputs: Inputs) -> Row:
    """The reference row of the leave-one-out human gap; the rule classifies judges only."""
    human = human_statistics(inputs.units, inputs.study.rule)
    curve = human_length_curve(inputs.units, inputs.study.rule)
    return _row(inputs, HUMANS, REFERENCE, **_human_fields(human), length_curve=_curve(curve))


def control_row(inputs: Inputs, name: str) -> Row:
    """The row of a control, which no rung is: it picks the longer answer always, or is a coin.

    The coin's score is one half in every unit, what the orders of a fair coin average to.
    """
    score4 = np.where(inputs.units.judged, CONTROLS[name], 0).astype(np.int64)
    statistics = judge_statistics(inputs.units, score4, None, inputs.study.rule)
    curve = judge_length_curve(inputs.units, score4, inputs.study.rule)
    return _row(inputs, name, CONTROL, **_fields(statistics), length_curve=_curve(curve))


def published_score4(pairs: PairTable, units: Units) -> np.ndarray:
    """GPT-4's verdicts in quarter points toward the longer answer: int64[n], 4, 2 or 0."""
    verdict = pairs.gpt4_verdict[units.row]
    longer = np.where(units.longer_is_a, "model_a", "model_b")
    decided = np.isin(verdict, ("model_a", "model_b"))
    score4 = np.where(decided, np.where(verdict == longer, 4, 0), 2)
    return np.where(units.judged, score4, 0).astype(np.int64)


def _judged_fields(found: Judged) -> Row:
    shown = found.diagnostics
    return {**_fields(found.statistics), "length_curve": _curve(found.length_curve),
            "slot_a_share": shown.slot_a_share,
            "option_mass": asdict(shown.option_mass), "exact_ties": shown.exact_ties}


def _row(inputs: Inputs, name: str, status: str, **fields: Any) -> Row:
    registration = inputs.registration
    if status != "not_run" and not registration.registered:
        status = "unregistered"
    rung = inputs.study.rungs.get(name)
    kind = JUDGE if rung else REFERENCE if name in REFERENCES else CONTROL
    what = {key: getattr(rung, key, None) for key in MODEL}
    empty = dict.fromkeys(("class", *STATISTICS, "length_curve", "order_debiased"))
    return {"rung": name, "kind": kind, "status": status,
            "registration_digest": registration.digest,
            "registration_status": registration.status, **what, **empty, **fields}


def _fields(statistics: JudgeStatistics) -> Row:
    fields = {name: getattr(statistics, name) for name in STATISTICS if hasattr(statistics, name)}
    return {"class": statistics.outcome, **{name: plain(value) for name, value in fields.items()}}


def _human_fields(human: HumanStatistics) -> Row:
    return {"r_long": plain(human.r_long), "gap": plain(human.gap), "lean": plain(human.lean),
            "human_gap": plain(human.gap), "human_lean": plain(human.lean)}


def _curve(bins: list[LengthBin]) -> list[Row]:
    return [{"relative_difference": {"low": each.low, "median": each.median, "high": each.high},
             "r_long": plain(each.r_long)} for each in bins]


def plain(value: Any) -> Any:
    """Dataclasses and intervals as the dicts and lists of the report."""
    if isinstance(value, Estimate):
        return {"estimate": value.estimate, "ci95": list(value.ci95), "ci90": list(value.ci90)}
    if isinstance(value, Proportion):
        return {**asdict(value), "wilson": list(value.wilson),
                "wilson_cluster": list(value.wilson_cluster)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
