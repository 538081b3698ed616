"""Scores some units of a committed rung again, on this machine, and compares."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .errors import InvalidLogits
from .ladder import AGREEMENT
from .logit_table import KEY, LOGIT_COLUMNS
from .scoring_plan import Unit

SHOWN = 10  # orderings of a sentence


@dataclass(frozen=True)
class Comparison:
    """How re-scored units differ from the committed rows.

    Attributes:
        n_units: units scored again, each in both orders.
        seed: what chose them; the same seed chooses them again.
        longest_prompt: tokens of the longest prompt scored again.
        largest_difference: largest absolute difference of an option logit.
        verdict_changes: orderings whose verdict is another one.
        close: orderings (question_id, turn, model_a, model_b) whose verdict the largest difference
            could change, being at least half their committed margin, or did change.
        bits_agree: every stored value of every row is the same.
    """
    n_units: int
    seed: int
    longest_prompt: int
    largest_difference: float
    verdict_changes: int
    close: tuple[tuple, ...]
    bits_agree: bool

    @property
    def sentence(self) -> str:
        names = [f"question {question} turn {turn} {first} before {second}"
                 for question, turn, first, second in self.close]
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        close = "; ".join(names[:SHOWN] + more)
        return (f"{self.n_units} units scored again (sample seed {self.seed}; longest prompt "
                f"{self.longest_prompt} tokens): largest logit difference "
                f"{self.largest_difference:.3g}, verdict changes {self.verdict_changes} of "
                f"{2 * self.n_units}, within reach of a change: {close or 'none'}; bits "
                f"{'agree' if self.bits_agree else 'differ'}.")

    def agrees(self, dtype: str) -> bool:
        """No other verdict and, for float32 and float64, logits as near as is registered."""
        near = self.largest_difference <= AGREEMENT or dtype not in ("float32", "float64")
        return near and not self.verdict_changes


def sample_units(units: Sequence[Unit], k: int, seed: int) -> list[Unit]:
    """K different units in table order, or all of them when there are fewer."""
    return sorted(random.Random(seed).sample(list(units), min(k, len(units))))


def compare(committed: pa.Table, again: pa.Table, slug: str, seed: int) -> Comparison:
    """Compares re-scored rows with the committed rows of the same orderings.

    Args:
        committed: the rung's logits table (``logit_table.LOGITS_SCHEMA``).
        again: rows of some of its orderings, same schema.
        slug: the judge, named in errors.
        seed: of ``sample_units``.

    Raises:
        InvalidLogits: an ordering is not in the committed table, or its prompt is another one.
    """
    keys = list(zip(*(committed[name].to_pylist() for name in KEY)))
    place = {key: at for at, key in enumerate(keys)}
    wanted = list(zip(*(again[name].to_pylist() for name in KEY)))
    missing = [key for key in wanted if key not in place]
    if missing:
        raise InvalidLogits(f"{slug}: the committed table has no row for {missing[0]}.")
    before = committed.take([place[key] for key in wanted])
    if before["prompt_sha256"].to_pylist() != again["prompt_sha256"].to_pylist():
        raise InvalidLogits(f"{slug}: the committed rows were made from other prompts.")
    old, new = _option_logits(before), _option_logits(again)
    margin, largest = old[:, 0] - old[:, 1], float(np.abs(old - new).max())
    changed = np.sign(margin) != np.sign(new[:, 0] - new[:, 1])
    return Comparison(len(wanted) // 2, seed, max(again["n_tokens"].to_pylist()), largest,
                      int(np.count_nonzero(changed)),
                      tuple(wanted[at] for at in
                            np.flatnonzero((np.abs(margin) <= 2 * largest) & (largest > 0)
                                           | changed)),
                      before.combine_chunks().equals(again.combine_chunks()))


def _option_logits(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in LOGIT_COLUMNS[:2]]).astype(float)
