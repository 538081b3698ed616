"""From the logits of both orderings to one score per unit, and what the orderings reveal.

PREREGISTRATION.md section 2.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from .errors import InvalidLogits
from .subset_sums import POINTS


@dataclass(frozen=True)
class OrderedLogits:
    """float64[n, 2] arrays: column 0 has the longer answer in slot A, column 1 in slot B.

    ``logit_longer`` belongs to the option token of the longer answer, whichever slot it is in.
    """
    logit_longer: np.ndarray
    logit_shorter: np.ndarray
    logprob_longer: np.ndarray
    logprob_shorter: np.ndarray


@dataclass(frozen=True)
class OptionMass:
    """Probability on the two option tokens, over the orderings of the judged units."""
    mean: float
    p05: float


@dataclass(frozen=True)
class Diagnostics:
    """Position diagnostics of the judged units.

    Attributes:
        consistent: bool[n], both orderings give the same score; False for units not judged.
        slot_a_share: share of verdicts for slot A, an exact tie counting one half.
        option_mass: probability on the two option tokens.
        exact_ties: number of orderings whose two logits are equal.
    """
    consistent: np.ndarray
    slot_a_share: float
    option_mass: OptionMass
    exact_ties: int


@dataclass(frozen=True)
class Verdicts:
    """``score4``: int64[n], quarter points toward the longer answer, 0 for units not judged."""
    score4: np.ndarray
    diagnostics: Diagnostics


def primary_verdicts(logits: OrderedLogits, judged: np.ndarray, mass_level: float) -> Verdicts:
    """The larger option logit of each ordering, averaged over the two; an exact tie scores 1/2.

    Args:
        logits: arrays [n, 2].
        judged: bool[n], units with a non-tie vote; the others score 0 and are not diagnosed.
        mass_level: level of the low quantile of the option mass.

    Raises:
        InvalidLogits: a value of a judged unit is not finite.
    """
    return _verdicts(logits, judged, mass_level,
                     lambda margins: _points(margins, POINTS // 2).sum(axis=1))


def order_debiased_verdicts(logits: OrderedLogits, judged: np.ndarray,
                            mass_level: float) -> Verdicts:
    """The sign of the logit margin toward the longer answer, averaged over the two orderings.

    Arguments, errors and diagnostics are those of :func:`primary_verdicts`.
    """
    return _verdicts(logits, judged, mass_level,
                     lambda margins: _points(margins.sum(axis=1), POINTS))


def _verdicts(logits: OrderedLogits, judged: np.ndarray, mass_level: float,
              score: Callable[[np.ndarray], np.ndarray]) -> Verdicts:
    _check_finite(logits, judged)
    margins = np.zeros(logits.logit_longer.shape)
    margins[judged] = logits.logit_longer[judged] - logits.logit_shorter[judged]
    return Verdicts(np.where(judged, score(margins), 0),
                    _diagnostics(logits, margins, judged, mass_level))


def _points(margin: np.ndarray, whole: int) -> np.ndarray:
    """``whole`` points for a positive margin, half of them for 0, none for a negative one."""
    return (whole // 2) * (np.sign(margin).astype(np.int64) + 1)


def _diagnostics(logits: OrderedLogits, margins: np.ndarray, judged: np.ndarray,
                 mass_level: float) -> Diagnostics:
    sign = np.sign(margins).astype(np.int64)
    for_slot_a = (sign[judged] * np.array([1, -1]) + 1).sum()
    mass = np.minimum(np.exp(logits.logprob_longer[judged])
                      + np.exp(logits.logprob_shorter[judged]), 1)
    return Diagnostics(
        consistent=judged & (sign[:, 0] == sign[:, 1]),
        slot_a_share=float(for_slot_a / (2 * sign[judged].size)),
        option_mass=OptionMass(float(mass.mean()), float(np.quantile(mass, mass_level))),
        exact_ties=int(np.count_nonzero(sign[judged] == 0)))


def _check_finite(logits: OrderedLogits, judged: np.ndarray) -> None:
    if not judged.any():
        raise InvalidLogits("there is no judged unit, so there is no verdict.")
    for field in fields(logits):
        values = getattr(logits, field.name)
        if values.shape != (len(judged), 2):
            raise InvalidLogits(f"{field.name} must have shape ({len(judged)}, 2), got "
                                f"{values.shape}.")
        bad = judged & ~np.isfinite(values).all(axis=1)
        if bad.any():
            raise InvalidLogits(f"{field.name} of unit {int(np.argmax(bad))} is not finite.")
