"""Per-question integer sums of a judge's scores in the two mirror subsets.

A score toward the longer answer is counted in quarter points 0 to 4, so that the mean of two
orderings, each with a possible exact tie, is an integer. Every statistic of a subset is a ratio of
such sums, exact until its one division.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidStatistic

if TYPE_CHECKING:
    from .pairs import Units

POINTS = 4


@dataclass(frozen=True)
class SubsetSums:
    """Quarter points (``num``) and their largest possible value (``den``), each int64[Q, ...].

    ``longer`` is the subset L whose human label is the longer answer, ``shorter`` its mirror S.
    """
    num_longer: np.ndarray
    den_longer: np.ndarray
    num_shorter: np.ndarray
    den_shorter: np.ndarray

    def columns(self) -> np.ndarray:
        """int64[Q, ..., 4] in the order of the fields."""
        return np.stack([self.num_longer, self.den_longer, self.num_shorter, self.den_shorter],
                        axis=-1)


def subset_sums(units: "Units", score4: np.ndarray) -> SubsetSums:
    """Sums over the units of each question, arrays int64[Q].

    Args:
        units: unit table.
        score4: int[n], quarter points toward the longer answer.

    Raises:
        InvalidStatistic: the scores do not fit the units.
    """
    return weighted_sums(units, score4, units.weight_longer, units.weight_shorter)


def weighted_sums(units: "Units", score4: np.ndarray, weight_longer: np.ndarray,
                  weight_shorter: np.ndarray) -> SubsetSums:
    """Like :func:`subset_sums`, with integer weights int64[n] given for each subset."""
    check_scores(units, score4)
    return SubsetSums(*(
        question_totals(units, column)
        for weight in (weight_longer, weight_shorter)
        for column in (score4 * weight, POINTS * weight)))


def binned_sums(units: "Units", score4: np.ndarray, bins: np.ndarray, n_bins: int) -> SubsetSums:
    """Sums by question and length bin, arrays int64[Q, n_bins].

    Args:
        units: unit table.
        score4: int[n], quarter points toward the longer answer.
        bins: int64[n], bin of each unit, from 0.
        n_bins: number of bins.
    """
    check_scores(units, score4)
    cells = units.question_index * n_bins + bins
    shape = len(units.frame), n_bins
    return SubsetSums(*(
        _totals(cells, column, shape[0] * shape[1]).reshape(shape)
        for weight in (units.weight_longer, units.weight_shorter)
        for column in (score4 * weight, POINTS * weight)))


def question_totals(units: "Units", column: np.ndarray) -> np.ndarray:
    """Integer totals by question of the resampling frame: int64[n] to int64[Q]."""
    return _totals(units.question_index, column, len(units.frame))


def check_scores(units: "Units", score4: np.ndarray) -> None:
    """Raises InvalidStatistic unless the scores are n whole quarter points 0 to 4."""
    if score4.shape != units.label.shape or score4.dtype.kind not in "iu":
        raise InvalidStatistic(f"scores must be {len(units.label)} integers, one per unit, got "
                               f"{score4.dtype} of shape {score4.shape}.")
    if score4.size and not 0 <= score4.min() <= score4.max() <= POINTS:
        raise InvalidStatistic(f"scores must be quarter points from 0 to {POINTS}, got "
                               f"{score4.min()} to {score4.max()}.")


def _totals(cells: np.ndarray, column: np.ndarray, n_cells: int) -> np.ndarray:
    totals = np.zeros(n_cells, dtype=np.int64)
    np.add.at(totals, cells, column.astype(np.int64, copy=False))
    return totals
