"""One row per ladder: the trend of G over its scored rungs and the registered scale outcome.

PREREGISTRATION.md section 8. The statistics are ``scale``'s; here they get the names of the rungs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .analysis import Row, RungStatistics, plain
from .inputs import Inputs
from .judge_statistics import JudgeStatistics
from .ladder import Ladder
from .ladder_report import aligned, estimate_text
from .rule import Rule
from .scale import ScaleStatistics, SizedJudge, scale_statistics
from .scale_outcome import runs_of

MIXED = "mixed_families"
CAVEAT = ("In a ladder of mixed families scale is confounded with family (and with quantisation "
          "and prompt mode).")
SECTION = ("slope", "slope_p", "kendall_tau", "fit", "monotone", "steps", "boundary", "boundaries",
           "runs", "judges")
COLUMNS = ("ladder", "kind", "scored", "slope of G [interval]", "p", "monotone", "outcome",
           "order-debiased")


@dataclass(frozen=True)
class Coverage:
    """Which rungs of a ladder have logits, both in order of size."""
    ladder: Ladder
    scored: tuple[str, ...]
    not_scored: tuple[str, ...]
    min_judges: int

    @property
    def enough(self) -> bool:
        """Whether anything can be said across scale."""
        return len(self.scored) >= self.min_judges

    @property
    def sentence(self) -> str:
        """How much of the ladder is scored, and which rungs are not."""
        text = f"{self.ladder.name} has {len(self.scored)} of {len(self.ladder.rungs)} rungs scored"
        if not self.enough:
            text += f" and needs at least {self.min_judges}"
        return f"{text} (not scored: {', '.join(self.not_scored) or 'none'})."


def coverage(inputs: Inputs, name: str) -> Coverage:
    """Which rungs of the ladder enter its row."""
    ladder = inputs.study.ladders[name]
    scored = tuple(slug for slug in ladder.rungs if inputs.has_logits(slug))
    missing = tuple(slug for slug in ladder.rungs if slug not in scored)
    return Coverage(ladder, scored, missing, inputs.study.rule.scale.min_judges)


def scale_row(inputs: Inputs, name: str, statistics: Callable[[str], RungStatistics]) -> Row:
    """The row of a ladder, with empty statistics where too few of its rungs are scored.

    Args:
        inputs: the study.
        name: of the ladder.
        statistics: gives those of a scored rung.

    Raises:
        InvalidLogits, UnresolvableDesign: those of its scored rungs.
    """
    covered, study = coverage(inputs, name), inputs.study
    row = _empty_row(inputs, covered)
    if not covered.enough:
        return row
    found = {slug: statistics(slug) for slug in covered.scored}
    sizes = {slug: study.rungs[slug].parameters for slug in covered.scored}
    return {**row, **_section({slug: each.deciding.statistics for slug, each in found.items()},
                              sizes, study.rule),
            "order_debiased": _section({slug: each.debiased.statistics
                                        for slug, each in found.items()}, sizes, study.rule)}


def _empty_row(inputs: Inputs, covered: Coverage) -> Row:
    ladder, registration = covered.ladder, inputs.registration
    scored = "scored" if registration.registered else "unregistered"
    return {"ladder": ladder.name, "kind": ladder.kind,
            "caveat": CAVEAT if ladder.kind == MIXED else None,
            "status": scored if covered.enough else "not_run", "coverage": covered.sentence,
            "rungs": ladder.rungs, "scored": covered.scored, "not_scored": covered.not_scored,
            "registration_digest": registration.digest,
            "registration_status": registration.status,
            "outcome": "UNDETERMINED", **dict.fromkeys(SECTION), "order_debiased": None}


def _section(judges: dict[str, JudgeStatistics], sizes: dict[str, int], rule: Rule) -> Row:
    """Everything registered about the ladder for one kind of verdict."""
    sized = [SizedJudge(sizes[slug], each.outcome, each.sign_flip_p, each.equivalence_p_0,
                        each.equivalence_p_H, each.sums) for slug, each in judges.items()]
    found, slugs = scale_statistics(sized, rule), list(judges)
    at = found.localisation.boundary
    return {"outcome": found.localisation.outcome,
            "boundary": None if at is None else _between(slugs, at),
            "slope": plain(found.trend.slope), "slope_p": found.trend.p,
            "kendall_tau": found.trend.kendall_tau, "fit": _fit(found),
            "monotone": found.monotone, "steps": _steps(judges, found),
            "boundaries": [{**_between(slugs, each.right), "contrast": each.contrast,
                            "p_holm": each.p} for each in found.localisation.boundaries],
            "runs": _runs(judges, found), "judges": _judges(judges, sizes, found)}


def _between(slugs: Sequence[str], right: int) -> Row:
    return {"below": slugs[right - 1], "above": slugs[right]}


def _fit(found: ScaleStatistics) -> list[Row]:
    return [{"log10_parameters": point.log10_parameters, "estimate": point.gap.estimate,
             "ci95": list(point.gap.ci95)} for point in found.fit]


def _steps(judges: dict[str, JudgeStatistics], found: ScaleStatistics) -> list[Row]:
    slugs, gaps = list(judges), [each.gap.estimate for each in judges.values()]
    return [{**_between(slugs, right), "difference": gaps[right] - gaps[right - 1], "p_holm": p}
            for right, p in enumerate(found.step_p, start=1)]


def _runs(judges: dict[str, JudgeStatistics], found: ScaleStatistics) -> list[Row]:
    """Runs of equal class; a run of one judge has no slope inside it."""
    slugs, p_values = list(judges), iter(found.localisation.run_slope_p)
    return [{"class": run.outcome, "rungs": [slugs[member] for member in run.members],
             "slope_p_holm": next(p_values) if len(run.members) > 1 else None}
            for run in runs_of([each.outcome for each in judges.values()])]


def _judges(judges: dict[str, JudgeStatistics], sizes: dict[str, int],
            found: ScaleStatistics) -> list[Row]:
    adjusted = zip(found.gap_p_holm, found.equivalence_p_0_holm, found.equivalence_p_H_holm)
    return [{"rung": slug, "parameters": sizes[slug], "class": each.outcome,
             "gap": plain(each.gap), "lean": plain(each.lean), "sign_flip_p": each.sign_flip_p,
             "sign_flip_p_holm": p, "equivalence_p_0_holm": p_0, "equivalence_p_H_holm": p_h}
            for (slug, each), (p, p_0, p_h) in zip(judges.items(), adjusted)]


def scale_lines(rows: Sequence[Row]) -> list[str]:
    """The ladders for the terminal: one line each under a heading, then what must be said."""
    caveats = [f"{row['ladder']}: {row['caveat']}" for row in rows if row["caveat"]]
    return [*aligned([COLUMNS, *(_cells(row) for row in rows)]), *caveats]


def scale_text(row: Row) -> str:
    """The outcome of a ladder in one phrase, with the boundary where there is one."""
    if row["status"] == "not_run":
        return "not run"
    boundary = row["boundary"]
    where = f" ({boundary['below']} | {boundary['above']})" if boundary else ""
    return row["outcome"] + where


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    p = "-" if row["slope_p"] is None else f"{row['slope_p']:.4f}"
    debiased = row["order_debiased"] or {}
    return (row["ladder"], row["kind"], f"{len(row['scored'])} of {len(row['rungs'])}",
            estimate_text(row["slope"]), p, row["monotone"] or "-", scale_text(row),
            debiased.get("outcome") or "-")
