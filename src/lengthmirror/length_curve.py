"""r_long by relative length difference, in both mirror subsets: descriptive, no class rests on it.

The bins are the registered ones of G_adj (PREREGISTRATION.md section 4): quantile bins of the log
length ratio, which grows with the relative length difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .gap import length_bins
from .human_gap import human_sums, leave_one_out
from .intervals import Proportion, cluster_proportion
from .subset_sums import POINTS, SubsetSums, binned_sums

if TYPE_CHECKING:
    from .pairs import Units
    from .rule import Rule


@dataclass(frozen=True)
class LengthBin:
    """One bin of a curve.

    Attributes:
        low, median, high: relative length differences of the labelled units in the bin, 0 to 1
            under the metric "max".
        r_long: keys longer and shorter; None where fewer than two questions have such a unit,
            so that no interval exists.
    """
    low: float
    median: float
    high: float
    r_long: dict[str, Proportion | None]


def judge_length_curve(units: "Units", score4: np.ndarray, rule: "Rule") -> list[LengthBin]:
    """The curve of a judge, shortest differences first; a bin without a labelled unit is left out.

    Args:
        units: n units above tau.
        score4: int64[n], quarter points toward the longer answer.
        rule: the registered bins, length metric and interval numbers.

    Raises:
        InvalidStatistic: scores that do not fit the units.
    """
    bins = length_bins(units, rule.n_length_bins)
    return list(_curve(units, bins, binned_sums(units, score4, bins, rule.n_length_bins), POINTS,
                       rule))


def human_length_curve(units: "Units", rule: "Rule") -> list[LengthBin]:
    """The curve of one annotator measured against another, as the human gap is.

    Raises:
        EmptySubset: no unit has two votes with labels of both kinds.
    """
    bins = length_bins(units, rule.n_length_bins)
    pairs = leave_one_out(units)
    of_each = [human_sums(units, pairs.only(bins == index)).columns()
               for index in range(rule.n_length_bins)]
    sums = SubsetSums(*np.moveaxis(np.stack(of_each, axis=1), -1, 0))
    return list(_curve(units, bins, sums, POINTS * pairs.scale, rule))


def relative_difference(units: "Units", metric: str) -> np.ndarray:
    """|la - lb| over the longer, the mean or the shorter length: float64[n]."""
    longer, shorter = units.length_longer, units.length_shorter
    base = {"max": longer, "mean": (longer + shorter) / 2, "min": shorter}[metric]
    return (longer - shorter) / base


def _curve(units: "Units", bins: np.ndarray, sums: SubsetSums, points: int,
           rule: "Rule") -> Iterator[LengthBin]:
    labelled = (units.weight_longer + units.weight_shorter) > 0
    difference = relative_difference(units, rule.units.length_metric)
    for index in range(rule.n_length_bins):
        inside = difference[labelled & (bins == index)]
        if inside.size:
            yield LengthBin(float(inside.min()), float(np.median(inside)), float(inside.max()),
                            _shares(sums.columns()[:, index], points, rule))


def _shares(columns: np.ndarray, points: int, rule: "Rule") -> dict[str, Proportion | None]:
    """r_long of one bin from its columns int64[Q, 4]."""
    return {"longer": _share(columns[:, 0], columns[:, 1], points, rule),
            "shorter": _share(columns[:, 2], columns[:, 3], points, rule)}


def _share(numerators: np.ndarray, denominators: np.ndarray, points: int,
           rule: "Rule") -> Proportion | None:
    if np.count_nonzero(denominators) < 2:
        return None
    return cluster_proportion(numerators, denominators, points, rule.intervals.alpha,
                              rule.intervals.deff_floor)
