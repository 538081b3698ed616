"""Intervals and p-values: Wilson, cluster Wilson, percentile, equivalence, Holm.

PREREGISTRATION.md sections 3, 4, 7 and 11.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from .errors import InvalidStatistic


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """``ci95`` and ``ci90`` are the 1 - alpha and 1 - 2 alpha intervals of the registered alpha."""
    estimate: float
    ci95: Interval
    ci90: Interval


@dataclass(frozen=True)
class Proportion:
    """``wilson`` assumes independent units; ``wilson_cluster`` allows for questions."""
    estimate: float
    n: float
    wilson: Interval
    wilson_cluster: Interval
    design_effect: float


def wilson(k: float, n: float, alpha: float) -> Interval:
    """Wilson score interval of k successes in n independent units, within [0, 1].

    Args:
        k: number of successes; half-integers are allowed (a tie counts one half).
        n: number of units.
        alpha: 1 - coverage.

    Raises:
        InvalidStatistic: not 0 <= k <= n with n > 0.
    """
    if not (n > 0 and 0 <= k <= n):
        raise InvalidStatistic(f"a Wilson interval needs 0 <= k <= n and n > 0, got k = {k} and "
                               f"n = {n}.")
    low, high = proportion_confint(k, n, alpha=alpha, method="wilson")
    return _clipped(low, high, k == 0, k == n)


def cluster_proportion(numerators: np.ndarray, denominators: np.ndarray, points: int,
                       alpha: float, deff_floor: float) -> Proportion:
    """A proportion over clustered units with both Wilson intervals (PREREGISTRATION.md section 3).

    The design effect is K/(K-1) * sum_q e_q^2 / n^2 over p (1 - p) / n, where e_q is the summed
    residual of question q and K the number of questions with a unit; it is 1 when p is 0 or 1.

    Args:
        numerators: int64[Q], summed points of each question.
        denominators: int64[Q], largest possible points of each question.
        points: points of one whole unit.
        alpha: 1 - coverage.
        deff_floor: the design effect used is never below this.

    Raises:
        InvalidStatistic: fewer than two questions have a unit.
    """
    present = denominators > 0
    n_clusters = int(np.count_nonzero(present))
    if n_clusters < 2:
        raise InvalidStatistic("a cluster Wilson interval needs units in at least 2 questions, "
                               f"got {n_clusters}.")
    numerator, denominator = int(numerators.sum()), int(denominators.sum())
    p, n = numerator / denominator, denominator / points
    effect = _design_effect(numerators[present], denominators[present], p, points)
    critical = float(stats.t.isf(alpha / 2, n_clusters - 1))
    return Proportion(p, denominator // points if denominator % points == 0 else n,
                      wilson(numerator / points, n, alpha),
                      _score_interval(p, n / critical / critical, max(effect, deff_floor)), effect)


def percentile_interval(ordered: np.ndarray, alpha: float) -> Interval:
    """Percentile interval whose endpoints are order statistics, not interpolated quantiles.

    Args:
        ordered: float64[B], valid replicates in increasing order.
        alpha: 1 - coverage; taken as the decimal it prints as, so that the rank is exact.

    Raises:
        InvalidStatistic: there is no replicate.
    """
    n = len(ordered)
    if n == 0:
        raise InvalidStatistic("a percentile interval needs at least 1 replicate, got 0.")
    rank = max(floor((n + 1) * Fraction(repr(float(alpha))) / 2), 1)
    return Interval(float(ordered[rank - 1]), float(ordered[n - rank]))


def bootstrap_estimate(estimate: float, replicates: np.ndarray, alpha: float) -> Estimate:
    """A point estimate with its 1 - alpha and 1 - 2 alpha percentile intervals."""
    ordered = np.sort(replicates)
    return Estimate(float(estimate), percentile_interval(ordered, alpha),
                    percentile_interval(ordered, 2 * alpha))


def equivalence_p(replicates: np.ndarray, margin: float) -> float:
    """The larger of the two one-sided p-values against a value beyond -margin or margin.

    At most alpha exactly when the 1 - 2 alpha percentile interval is strictly inside the margin.
    """
    beyond = max(np.count_nonzero(replicates <= -margin), np.count_nonzero(replicates >= margin))
    return float((1 + beyond) / (len(replicates) + 1))


def two_sided_bootstrap_p(replicates: np.ndarray) -> float:
    """min(1, 2 min((1 + #<=0) / (B + 1), (1 + #>=0) / (B + 1)))."""
    tail = min(np.count_nonzero(replicates <= 0), np.count_nonzero(replicates >= 0))
    return float(min(1, 2 * ((1 + tail) / (len(replicates) + 1))))


def holm_adjusted(p_values: Sequence[float]) -> np.ndarray:
    """Holm-adjusted p-values, float64 in the order given; empty for none."""
    if len(p_values) == 0:
        return np.zeros(0)
    return np.asarray(multipletests(p_values, method="holm")[1])


def _design_effect(numerators: np.ndarray, denominators: np.ndarray, p: float,
                   points: int) -> float:
    if p in (0, 1):
        return 1.0
    n_clusters, n = len(numerators), denominators.sum() / points
    residuals = (numerators - p * denominators) / points
    between = n_clusters / (n_clusters - 1) * np.sum(residuals ** 2) / n ** 2
    return float(between / (p * (1 - p) / n))


def _score_interval(p: float, scaled_n: float, effect: float) -> Interval:
    """Wilson's closed form at n / effect units; ``scaled_n`` is n over the squared quantile."""
    a = effect / scaled_n
    centre, half = p + a / 2, sqrt(p * (1 - p) * a + a * a / 4)
    return _clipped((centre - half) / (1 + a), (centre + half) / (1 + a), p == 0, p == 1)


def _clipped(low: float, high: float, none: bool, every: bool) -> Interval:
    return Interval(0.0 if none else max(float(low), 0.0), 1.0 if every else min(float(high), 1.0))
