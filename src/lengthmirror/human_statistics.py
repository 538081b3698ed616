"""The leave-one-out human judge and the design check that rests on it (sections 5 and 7)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import UnresolvableDesign
from .gap import gap, lean
from .human_gap import human_sums, leave_one_out
from .intervals import Estimate, Proportion, bootstrap_estimate
from .joint_bootstrap import subset_proportions, valid_replicates
from .resampling import resampled_totals
from .subset_sums import POINTS, SubsetSums

if TYPE_CHECKING:
    from .pairs import Units
    from .rule import Rule


@dataclass(frozen=True)
class HumanStatistics:
    """Humans as a judge of each other, over units with two or more votes.

    Attributes:
        r_long: keys longer and shorter; ``n`` is a number of units, a fraction where some votes
            of a unit carry the label and others do not.
        gap: G_h.
        lean: (r_L + r_S) / 2 - 1/2.
        n_units: units with two or more votes, at least one of them not a tie.
        n_pairs: ordered pairs of votes whose label is not a tie.
        n_resamples, n_dropped: replicates drawn, and dropped for an empty subset.
        sums: per-question sums, weights times ``scale``.
    """
    r_long: dict[str, Proportion]
    gap: Estimate
    lean: Estimate
    n_units: int
    n_pairs: int
    n_resamples: int
    n_dropped: int
    sums: SubsetSums
    scale: int


def human_statistics(units: "Units", rule: "Rule") -> HumanStatistics:
    """G_h and its companions.

    Raises:
        EmptySubset: no unit has two votes with labels of both kinds.
        InvalidStatistic: too many replicates lack a subset.
    """
    pairs = leave_one_out(units)
    sums = human_sums(units, pairs)
    columns = sums.columns()
    replicates = resampled_totals(columns, rule.bootstrap.seed, rule.bootstrap.n_resamples)
    valid = valid_replicates(gap(replicates), rule.bootstrap.max_dropped_share)
    estimates = [bootstrap_estimate(of(columns.sum(axis=0)), of(replicates[valid]),
                                    rule.intervals.alpha) for of in (gap, lean)]
    return HumanStatistics(
        subset_proportions(sums, POINTS * pairs.scale, rule.intervals), *estimates, pairs.n_units,
        pairs.n_pairs, len(replicates), int(np.count_nonzero(~valid)), sums, pairs.scale)


def check_design(human: HumanStatistics, rule: "Rule") -> None:
    """Refuses margins that cannot tell "no gap" from "the human gap".

    Raises:
        UnresolvableDesign: delta_0 + delta_h is not below the lower 1 - alpha limit of G_h.
    """
    margins, lower = rule.decision.delta_0 + rule.decision.delta_h, human.gap.ci95.low
    if not margins < lower:
        raise UnresolvableDesign(
            f"the margins delta_0 + delta_h = {margins:.4f} must be below the lower limit of the "
            f"human gap, {lower:.4f}, or no judge can be classified.")
