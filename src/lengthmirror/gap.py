"""The estimand and its variants, for observed sums and for bootstrap replicates alike.

A ``totals`` array is int64[..., 4]: numerator and denominator in L, then in S (see subset_sums).
Leading axes are replicates, so that one function serves the estimate and its interval.
PREREGISTRATION.md sections 4, 6 and 11.
"""

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from .resampling import flipped_sums
from .subset_sums import POINTS, SubsetSums

if TYPE_CHECKING:
    from .pairs import Units
    from .rule import SignFlipRule


def r_long(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of the longer answer in L and in S; NaN for an empty subset."""
    return _ratio(totals[..., 0], totals[..., 1]), _ratio(totals[..., 2], totals[..., 3])


def gap(totals: np.ndarray) -> np.ndarray:
    """G = r_L - r_S."""
    longer, shorter = r_long(totals)
    return longer - shorter


def lean(totals: np.ndarray) -> np.ndarray:
    """(r_L + r_S) / 2 - 1/2: how far the judge favours longer answers in both subsets alike."""
    longer, shorter = r_long(totals)
    return (longer + shorter) / 2 - 0.5


def gap_adjusted(totals: np.ndarray) -> np.ndarray:
    """G within length bins, Mantel-Haenszel weights n_L n_S / (n_L + n_S).

    Args:
        totals: int64[..., n_bins, 4]; a bin without both subsets has weight 0.

    Returns:
        float64[...], NaN where no bin has both subsets.
    """
    excess, weight = mantel_haenszel(totals)
    return _ratio(_in_order(excess), _in_order(weight))


def mantel_haenszel(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted difference and weight of each stratum, in doubled scores.

    The difference is (2y_L n2_S - 2y_S n2_L) / (n2_L + n2_S) and the weight
    n2_L n2_S / (n2_L + n2_S), where 2y are summed doubled scores and n2 twice the number of units;
    both are 0 in an empty stratum. The numerators are integers, divided once.

    Args:
        totals: int64[..., 4].
    """
    num_longer, den_longer, num_shorter, den_shorter = np.moveaxis(totals, -1, 0)
    n_longer, n_shorter = den_longer // POINTS, den_shorter // POINTS
    n = n_longer + n_shorter
    excess = num_longer * n_shorter - num_shorter * n_longer
    return _ratio(excess, 2 * n, empty=0), _ratio(2 * n_longer * n_shorter, n, empty=0)


def length_bins(units: "Units", n_bins: int) -> np.ndarray:
    """Quantile bin int64[n] of |log((la + 1) / (lb + 1))|.

    Edges are the linear quantiles at 1/n_bins, 2/n_bins, ... over the units of L and S, each once.
    """
    distance = np.log((units.length_longer + 1) / (units.length_shorter + 1))
    labelled = (units.weight_longer + units.weight_shorter) > 0
    edges = np.quantile(distance[labelled], np.arange(1, n_bins) / n_bins, method="linear")
    return np.searchsorted(edges, distance, side="left")


@dataclass(frozen=True)
class PairedTest:
    """``gap_within``: G with the question as the pairing unit; ``p``: its sign-flip p-value."""
    gap_within: float
    p: float


def paired_test(sums: SubsetSums, seed: int, rule: "SignFlipRule") -> PairedTest:
    """Two-sided sign-flip test of G over questions; the questions are the pairing units."""
    excess, weight = mantel_haenszel(sums.columns())
    total = fsum(weight)
    within = fsum(excess) / total if total else float("nan")
    return PairedTest(within, sign_flip_p(excess, seed, rule))


def sign_flip_p(contrast: np.ndarray, seed: int, rule: "SignFlipRule") -> float:
    """(1 + #{|flipped| >= |observed| - slack}) / (P + 1).

    Args:
        contrast: float64[Q], one value per question, in doubled scores.
        seed: registered seed.
        rule: P and the slack that absorbs rounding.
    """
    flipped = np.abs(flipped_sums(contrast, seed, rule.n_resamples))
    extreme = np.count_nonzero(flipped >= abs(fsum(contrast)) - rule.slack)
    return float((1 + extreme) / (rule.n_resamples + 1))


def signal_detection(totals: np.ndarray) -> tuple[float | None, float | None]:
    """d' = z(r_L) - z(r_S) and criterion c = -(z(r_L) + z(r_S)) / 2, descriptive.

    Both are None where a rate is 0 or 1, for which z is not finite; no rate is corrected.

    Args:
        totals: int64[4].
    """
    rates = [float(rate) for rate in r_long(totals)]
    if not all(0 < rate < 1 for rate in rates):
        return None, None
    longer, shorter = stats.norm.ppf(rates)
    return float(longer - shorter), float(-(longer + shorter) / 2)


def _ratio(numerator: np.ndarray, denominator: np.ndarray, empty: float = np.nan) -> np.ndarray:
    result = np.full(np.shape(denominator), float(empty))
    return np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0)


def _in_order(strata: np.ndarray) -> np.ndarray:
    """Sum over the last axis from first to last, the same to the bit for any number of rows."""
    total = np.zeros(strata.shape[:-1])
    for stratum in np.moveaxis(strata, -1, 0):
        total = total + stratum
    return total
