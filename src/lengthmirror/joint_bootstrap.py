"""One bootstrap for every statistic of a judge: the same resamples of the same questions.

Humans and judge are resampled together, so that their difference D has a joint interval
(PREREGISTRATION.md sections 4, 5 and 11).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidStatistic
from .gap import gap, gap_adjusted, lean, length_bins
from .human_gap import human_sums, leave_one_out, matched_sums
from .intervals import (
    Estimate,
    Proportion,
    bootstrap_estimate,
    cluster_proportion,
    equivalence_p,
    two_sided_bootstrap_p,
)
from .resampling import resampled_totals
from .subset_sums import SubsetSums, binned_sums, subset_sums

if TYPE_CHECKING:
    from .pairs import Units
    from .rule import IntervalRule, Rule


@dataclass(frozen=True)
class JointBootstrap:
    """``estimates`` by name: gap, gap_adjusted, lean, human_gap, human_lean, gap_matched,
    shortfall (D = G_h - G_matched) and excess_lean."""
    estimates: dict[str, Estimate]
    bootstrap_p: float
    equivalence_p_0: float
    equivalence_p_H: float
    n_resamples: int
    n_dropped: int


def judge_columns(units: "Units", score4: np.ndarray, n_bins: int) -> np.ndarray:
    """Per-question integer sums int64[Q, 12 + 4 n_bins]: judge, matched judge, humans, bins.

    Args:
        units: unit table.
        score4: int[n], quarter points toward the longer answer.
        n_bins: number of length bins.
    """
    pairs = leave_one_out(units)
    binned = binned_sums(units, score4, length_bins(units, n_bins), n_bins).columns()
    return np.concatenate([
        subset_sums(units, score4).columns(), matched_sums(units, score4, pairs).columns(),
        human_sums(units, pairs).columns(), binned.reshape(len(binned), -1)], axis=1)


def joint_bootstrap(columns: np.ndarray, rule: "Rule", n_resamples: int) -> JointBootstrap:
    """Estimates and intervals of one judge from :func:`judge_columns`.

    Raises:
        InvalidStatistic: more replicates than allowed lack a subset.
    """
    observed = joint_statistics(columns.sum(axis=0))
    replicates = joint_statistics(resampled_totals(columns, rule.bootstrap.seed, n_resamples))
    valid = valid_replicates(sum(replicates.values()), rule.bootstrap.max_dropped_share)
    replicates = {name: values[valid] for name, values in replicates.items()}
    return JointBootstrap(
        {name: bootstrap_estimate(observed[name], replicates[name], rule.intervals.alpha)
         for name in observed},
        two_sided_bootstrap_p(replicates["gap"]),
        equivalence_p(replicates["gap"], rule.decision.delta_0),
        equivalence_p(replicates["shortfall"], rule.decision.delta_h),
        n_resamples, int(np.count_nonzero(~valid)))


def joint_statistics(totals: np.ndarray) -> dict[str, np.ndarray]:
    """The bootstrapped statistics of int64[..., 12 + 4 n_bins] totals, each float64[...]."""
    judge, matched, human = totals[..., 0:4], totals[..., 4:8], totals[..., 8:12]
    bins = totals[..., 12:].reshape(*totals.shape[:-1], -1, 4)
    return {"gap": gap(judge), "gap_adjusted": gap_adjusted(bins), "lean": lean(judge),
            "human_gap": gap(human), "human_lean": lean(human), "gap_matched": gap(matched),
            "shortfall": gap(human) - gap(matched), "excess_lean": lean(matched) - lean(human)}


def valid_replicates(replicates: np.ndarray, max_dropped_share: float) -> np.ndarray:
    """bool[B]: replicates in which no subset is empty (an empty one makes the statistic NaN).

    Raises:
        InvalidStatistic: more than the allowed share, or all of them, would be dropped.
    """
    valid = np.isfinite(replicates)
    dropped = int(np.count_nonzero(~valid))
    if dropped > max_dropped_share * len(valid) or dropped == len(valid):
        raise InvalidStatistic(f"a subset is empty in {dropped} of {len(valid)} bootstrap "
                               f"replicates, more than the allowed share {max_dropped_share}.")
    return valid


def subset_proportions(sums: SubsetSums, points: int,
                       rule: "IntervalRule") -> dict[str, Proportion]:
    """r_long in L and in S, keys longer and shorter; ``points`` are those of one whole unit."""
    return {name: cluster_proportion(numerators, denominators, points, rule.alpha, rule.deff_floor)
            for name, numerators, denominators in (
                ("longer", sums.num_longer, sums.den_longer),
                ("shorter", sums.num_shorter, sums.den_shorter))}
