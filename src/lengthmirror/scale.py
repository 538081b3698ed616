"""Across scale: the trend of G over a ladder, and whether the class changes at one size.

PREREGISTRATION.md section 8. All judges of a ladder share units and resamples, so every contrast
between them has a joint bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from .errors import InvalidStatistic
from .gap import gap, lean, mantel_haenszel, sign_flip_p
from .intervals import Estimate, bootstrap_estimate, holm_adjusted, two_sided_bootstrap_p
from .joint_bootstrap import valid_replicates
from .resampling import resampled_totals
from .scale_outcome import Boundary, Localisation, localisation, runs_of
from .subset_sums import SubsetSums

if TYPE_CHECKING:
    from .rule import Rule

FITTED_POINTS = 17  # of the line that a figure shows

@dataclass(frozen=True)
class SizedJudge:
    """One scored rung of a ladder: ``sums`` are those of its JudgeStatistics."""
    parameters: int
    outcome: str
    sign_flip_p: float
    equivalence_p_0: float
    equivalence_p_H: float
    sums: SubsetSums


@dataclass(frozen=True)
class Trend:
    """``slope``: of G per tenfold size; ``p``: sign-flip; ``kendall_tau``: None when undefined."""
    slope: Estimate
    p: float
    kendall_tau: float | None


@dataclass(frozen=True)
class FittedGap:
    """``gap``: what the trend gives at this size, with pointwise intervals (descriptive)."""
    log10_parameters: float
    gap: Estimate


@dataclass(frozen=True)
class ScaleStatistics:
    """Statistics of a ladder, judges in order of size.

    Attributes:
        trend: None for fewer than two judges.
        fit: the fitted line between the smallest and the largest judge; empty without a trend.
        monotone: increasing, decreasing, violated or "no evidence".
        step_p: Holm-adjusted two-sided p of each difference of G between neighbours.
        localisation: the scale outcome and what it rests on.
        gap_p_holm: Holm-adjusted sign-flip p of "G differs from 0", one per judge.
        equivalence_p_0_holm, equivalence_p_H_holm: Holm-adjusted equivalence p, one per judge.
    """
    trend: Trend | None
    fit: tuple[FittedGap, ...]
    monotone: str
    step_p: tuple[float, ...]
    localisation: Localisation
    gap_p_holm: tuple[float, ...]
    equivalence_p_0_holm: tuple[float, ...]
    equivalence_p_H_holm: tuple[float, ...]


def scale_statistics(judges: Sequence[SizedJudge], rule: "Rule") -> ScaleStatistics:
    """Everything registered about one ladder.

    Args:
        judges: the scored rungs, in strictly increasing size, all on the same units.
        rule: the registered numbers.

    Raises:
        InvalidStatistic: sizes that do not increase, or judges of different units.
    """
    _check(judges)
    joint = JointLadder(judges, rule)
    trend = joint.trend(range(len(judges))) if len(judges) > 1 else None
    step_p = _holm(joint.contrast_p(joint.gaps, [left], [left + 1])
                   for left in range(len(judges) - 1))
    return ScaleStatistics(
        trend, joint.fit() if trend else (),
        _monotone(trend, np.diff(joint.observed_gaps), step_p, rule.intervals.alpha),
        step_p, _localised(judges, joint, rule),
        *(_holm(getattr(judge, name) for judge in judges)
          for name in ("sign_flip_p", "equivalence_p_0", "equivalence_p_H")))


class JointLadder:
    """Joint replicates of G and lean: ``gaps``, ``leans`` float64[judges, valid replicates]."""

    def __init__(self, judges: Sequence[SizedJudge], rule: "Rule"):
        self._judges, self._rule = judges, rule
        columns = np.stack([judge.sums.columns() for judge in judges])
        replicates = np.stack([
            resampled_totals(each, rule.bootstrap.seed, rule.bootstrap.n_resamples)
            for each in columns])
        valid = valid_replicates(gap(replicates).sum(axis=0), rule.bootstrap.max_dropped_share)
        self.observed_gaps = gap(columns.sum(axis=1))
        self.gaps, self.leans = gap(replicates)[:, valid], lean(replicates)[:, valid]

    def trend(self, members: Sequence[int]) -> Trend:
        """Least squares over the judges with these indices."""
        members = list(members)
        sizes = [self._judges[member].parameters for member in members]
        coefficients = slope_coefficients(sizes)
        observed = self.observed_gaps[members]
        contrast = _combined(coefficients, np.stack([
            mantel_haenszel(self._judges[member].sums.columns())[0] for member in members]))
        rule = self._rule
        tau = stats.kendalltau(sizes, observed).statistic
        return Trend(
            bootstrap_estimate(_combined(coefficients, observed),
                               _combined(coefficients, self.gaps[members]), rule.intervals.alpha),
            sign_flip_p(contrast, rule.bootstrap.seed, rule.sign_flip),
            float(tau) if np.isfinite(tau) else None)

    def fit(self) -> tuple[FittedGap, ...]:
        """The fitted line at evenly spaced sizes, each with the interval of the joint bootstrap."""
        sizes = np.log10([judge.parameters for judge in self._judges])
        coefficients = slope_coefficients([judge.parameters for judge in self._judges])
        points = []
        for at in np.linspace(sizes[0], sizes[-1], FITTED_POINTS):
            at_size = 1 / len(sizes) + coefficients * (at - sizes.mean())
            points.append(FittedGap(float(at), bootstrap_estimate(
                _combined(at_size, self.observed_gaps), _combined(at_size, self.gaps),
                self._rule.intervals.alpha)))
        return tuple(points)

    def contrast_p(self, replicates: np.ndarray, left: Sequence[int],
                   right: Sequence[int]) -> float:
        """Two-sided p of the mean over the judges ``right`` minus that over ``left``."""
        contrast = replicates[list(right)].mean(axis=0) - replicates[list(left)].mean(axis=0)
        return two_sided_bootstrap_p(contrast)


def slope_coefficients(parameters: Sequence[int]) -> np.ndarray:
    """Weights c with slope = sum c G, least squares of G on log10(parameters): float64[judges]."""
    centred = np.log10(parameters) - np.mean(np.log10(parameters))
    return centred / np.sum(centred ** 2)


def _combined(coefficients: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum over judges in order, without BLAS, so that the bits depend on no library."""
    return sum(coefficient * row for coefficient, row in zip(coefficients, values))


def _monotone(trend: Trend | None, steps: np.ndarray, step_p: Sequence[float],
              alpha: float) -> str:
    significant = np.array(step_p) < alpha
    if trend is None:
        return "no evidence"
    for name, side in (("increasing", 1), ("decreasing", -1)):
        if (significant & (np.sign(steps) == side)).all():
            return name
    against = np.sign(steps) * np.sign(trend.slope.estimate) < 0
    return "violated" if (significant & against).any() else "no evidence"


def _localised(judges: Sequence[SizedJudge], joint: JointLadder, rule: "Rule") -> Localisation:
    runs = runs_of([judge.outcome for judge in judges])
    contrasts, boundaries = [], []
    for left, right in zip(runs, runs[1:]):
        both_zero = {left.outcome, right.outcome} <= set(rule.scale.zero_gap)
        contrasts.append("lean" if both_zero else "gap")
        replicates = joint.leans if both_zero else joint.gaps
        boundaries.append(joint.contrast_p(replicates, left.members, right.members))
    slopes = [joint.trend(run.members).p for run in runs if len(run.members) > 1]
    adjusted = [Boundary(run.members[0], p, contrast)
                for run, p, contrast in zip(runs[1:], _holm(boundaries), contrasts)]
    return localisation(runs, adjusted, _holm(slopes), rule.scale, rule.intervals.alpha)


def _holm(p_values) -> tuple[float, ...]:
    return tuple(float(p) for p in holm_adjusted(list(p_values)))


def _check(judges: Sequence[SizedJudge]) -> None:
    if not judges:
        raise InvalidStatistic("a ladder needs at least 1 scored judge, got 0.")
    sizes = [judge.parameters for judge in judges]
    if any(left >= right for left, right in zip(sizes, sizes[1:])):
        raise InvalidStatistic(f"the judges of a ladder must increase in size, got {sizes}.")
    for judge in judges:
        for name in ("den_longer", "den_shorter"):
            if not np.array_equal(getattr(judge.sums, name), getattr(judges[0].sums, name)):
                raise InvalidStatistic("the judges of a ladder must be judged on the same units.")
