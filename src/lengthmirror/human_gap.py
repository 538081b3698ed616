"""Leave-one-out comparison: the human gap G_h and a judge's gap on the same vote pairs.

For a unit with n >= 2 votes, every ordered pair of different annotators (i, j) gives the label of
vote j, unless it is a tie, and the verdict of vote i; its weight is 1 / (n (n - 1)). A judge is
matched by replacing verdict i, keeping units, labels and weights (PREREGISTRATION.md section 5).
With l longer, t tie and s shorter votes, the pairs of a unit are counted rather than listed.
"""

from dataclasses import dataclass, replace
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from .errors import EmptySubset, InvalidStatistic
from .subset_sums import POINTS, SubsetSums, check_scores, question_totals

if TYPE_CHECKING:
    from .pairs import Units


@dataclass(frozen=True)
class LeaveOneOut:
    """Vote pairs of each unit as integers: weights int64[n], scaled by ``scale``.

    ``longer``/``shorter``: weight of the pairs with that label, a whole unit weighing ``scale``.
    ``verdicts_longer``/``verdicts_shorter``: weighted quarter points of the left-in votes.
    """
    scale: int
    longer: np.ndarray
    shorter: np.ndarray
    verdicts_longer: np.ndarray
    verdicts_shorter: np.ndarray
    n_units: int
    n_pairs: int

    def only(self, keep: np.ndarray) -> "LeaveOneOut":
        """The pairs of the units where ``keep`` bool[n] is true; the others weigh nothing.

        ``n_units`` and ``n_pairs`` stay those of all units.
        """
        names = ("longer", "shorter", "verdicts_longer", "verdicts_shorter")
        return replace(self, **{name: getattr(self, name) * keep for name in names})


def leave_one_out(units: "Units") -> LeaveOneOut:
    """Counts the vote pairs of each unit.

    Raises:
        EmptySubset: no pair has the label longer, or none the label shorter.
        InvalidStatistic: a unit has so many votes that the weights leave 64-bit integers.
    """
    longer, tie, shorter = units.votes_longer, units.votes_tie, units.votes_shorter
    n = longer + tie + shorter
    several = n >= 2
    scale = _common_multiple(np.unique(n[several]), len(n))
    per_pair = np.where(several, scale // np.where(several, n * (n - 1), 1), 0)
    result = LeaveOneOut(
        scale,
        longer=longer * (n - 1) * per_pair,
        shorter=shorter * (n - 1) * per_pair,
        verdicts_longer=longer * (POINTS * (longer - 1) + POINTS // 2 * tie) * per_pair,
        verdicts_shorter=shorter * (POINTS * longer + POINTS // 2 * tie) * per_pair,
        n_units=int(np.count_nonzero(several & (longer + shorter > 0))),
        n_pairs=int(((longer + shorter) * (n - 1))[several].sum()))
    if not (result.longer.any() and result.shorter.any()):
        raise EmptySubset("the human gap needs units with two or more votes and labels of both "
                          f"kinds, got {result.n_units} such units.")
    return result


def human_sums(units: "Units", pairs: LeaveOneOut) -> SubsetSums:
    """Per-question sums of the left-in votes, arrays int64[Q], weights times ``pairs.scale``."""
    return SubsetSums(question_totals(units, pairs.verdicts_longer),
                      question_totals(units, POINTS * pairs.longer),
                      question_totals(units, pairs.verdicts_shorter),
                      question_totals(units, POINTS * pairs.shorter))


def matched_sums(units: "Units", score4: np.ndarray, pairs: LeaveOneOut) -> SubsetSums:
    """Per-question sums of a judge over the same pairs, arrays int64[Q].

    Args:
        units: unit table.
        score4: int[n], quarter points toward the longer answer.
        pairs: the vote pairs of the units.
    """
    check_scores(units, score4)
    return SubsetSums(question_totals(units, score4 * pairs.longer),
                      question_totals(units, POINTS * pairs.longer),
                      question_totals(units, score4 * pairs.shorter),
                      question_totals(units, POINTS * pairs.shorter))


def _common_multiple(vote_counts: np.ndarray, n_units: int) -> int:
    """Least common multiple of n (n - 1) over the numbers of votes that occur."""
    scale = lcm(*(int(n) * (int(n) - 1) for n in vote_counts))
    if scale * POINTS * max(n_units, 1) > 2 ** 53:
        raise InvalidStatistic(f"units with up to {vote_counts.max()} votes need a common weight "
                               f"of {scale}, too large for exact 64-bit sums of {n_units} units.")
    return scale
