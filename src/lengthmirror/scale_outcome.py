"""The registered rule that turns the classes of a ladder into one scale outcome (section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rule import ScaleRule


@dataclass(frozen=True)
class Run:
    """Neighbouring judges of one class; ``members`` index the ladder."""
    outcome: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Boundary:
    """``right``: index of the first judge above the boundary; ``p``: Holm-adjusted contrast.

    ``contrast``: the statistic whose mean differs, gap or, between two zero-gap classes, lean.
    """
    right: int
    p: float
    contrast: str = "gap"


@dataclass(frozen=True)
class Localisation:
    """The scale outcome of a ladder.

    Attributes:
        outcome: UNDETERMINED, UNIFORM, LOCALISED, GRADED or NON_MONOTONE.
        boundary: index of the first judge above the boundary, for LOCALISED only.
        boundaries: every boundary between runs of equal class.
        run_slope_p: Holm-adjusted sign-flip p of the slope inside each run of two or more.
    """
    outcome: str
    boundary: int | None
    boundaries: tuple[Boundary, ...]
    run_slope_p: tuple[float, ...]


def runs_of(outcomes: Sequence[str]) -> list[Run]:
    """Runs of equal class, in order of size."""
    runs: list[Run] = []
    for index, outcome in enumerate(outcomes):
        if runs and runs[-1].outcome == outcome:
            runs[-1] = Run(outcome, (*runs[-1].members, index))
        else:
            runs.append(Run(outcome, (index,)))
    return runs


def localisation(runs: Sequence[Run], boundaries: Sequence[Boundary], run_slope_p: Sequence[float],
                 rule: "ScaleRule", alpha: float) -> Localisation:
    """Applies the rule.

    Args:
        runs: runs of equal class, in order of size.
        boundaries: one per pair of neighbouring runs.
        run_slope_p: Holm-adjusted p of the slope inside each run of two or more judges.
        rule: registered classes and ranks.
        alpha: registered level.
    """
    outcome = _outcome(runs, boundaries, run_slope_p, rule, alpha)
    return Localisation(outcome, boundaries[0].right if outcome == "LOCALISED" else None,
                        tuple(boundaries), tuple(run_slope_p))


def _outcome(runs: Sequence[Run], boundaries: Sequence[Boundary], run_slope_p: Sequence[float],
             rule: "ScaleRule", alpha: float) -> str:
    too_few = sum(len(run.members) for run in runs) < rule.min_judges
    if too_few or any(run.outcome in rule.undetermined for run in runs):
        return "UNDETERMINED"
    if len(runs) == 1:
        return "UNIFORM"
    if any(not boundary.p < alpha for boundary in boundaries):
        return "UNDETERMINED"
    if len(runs) > 2:
        ranks = [dict(rule.rank)[run.outcome] for run in runs]
        return "GRADED" if ranks in (sorted(ranks), sorted(ranks, reverse=True)) else "NON_MONOTONE"
    return "GRADED" if any(p < alpha for p in run_slope_p) else "LOCALISED"
