"""Shared-prefix scoring: every distinct prefix of a group's prompts goes through the model once.

The token sequences of one (question_id, turn) form a trie: template, question and first answer are
shared. In sorted order each sequence goes on from the prefix it shares with the one before it: the
key-value cache is cropped to that prefix and only the rest is computed, so the tokens computed are
the trie's distinct tokens.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from .errors import InvalidJudge
from .ladder import AGREEMENT

CHECKED_LAYERS = {"full_attention", "sliding_attention"}
LENGTH_DEPENDENT = {"longrope", "dynamic"}  # rotary positions that change with the whole length
HALF_AGREEMENT = 1 / 16  # of the range of the logits, for types of less precision than float32
PROBE = 80  # tokens
FROM_SCRATCH_SERVES = "path = 'from_scratch' scores it."


@dataclass(frozen=True)
class Step:
    """``index``: which sequence; ``kept``: its leading tokens that are in the cache already."""
    index: int
    kept: int


def plan_steps(sequences: Sequence[Sequence[int]]) -> list[Step]:
    """The sequences in sorted order, each with the prefix it shares with the one before.

    The sum of ``len(sequence) - kept`` is the number of distinct prefixes: neighbours in sorted
    order share the longest prefixes.
    """
    order = sorted(range(len(sequences)), key=lambda index: sequences[index])
    kept = [shared_length(sequences[before], sequences[index])
            for before, index in zip(order, order[1:])]
    return [Step(index, length) for index, length in zip(order, [0, *kept])]


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    for at, (left, right) in enumerate(zip(first, second)):
        if left != right:
            return at
    return min(len(first), len(second))


def check_layers(model: Any, slug: str) -> None:
    """Refuses a kind of attention whose cache has not been checked against from-scratch scoring.

    A sliding layer has been: the cache used here keeps every position and the mask does the
    sliding, so that cropping below the window is still reuse.

    Raises:
        InvalidJudge: naming the kind of layer, or rotary positions that depend on the length of
            the whole prompt, for which a cached prefix is not the prefix of a longer prompt.
    """
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or ["full_attention"]
    unchecked = sorted(set(kinds) - CHECKED_LAYERS)
    if unchecked:
        raise InvalidJudge(f"{slug}: shared-prefix scoring has not been checked for layers of the "
                           f"kind {unchecked[0]!r}; {FROM_SCRATCH_SERVES}")
    rotary = sorted(_rotary_types(config) & LENGTH_DEPENDENT)
    if rotary:
        raise InvalidJudge(f"{slug}: its rotary positions of the type {rotary[0]!r} depend on the "
                           f"length of the prompt, so no prefix can be reused; "
                           f"{FROM_SCRATCH_SERVES}")


def _rotary_types(config: Any) -> set[str]:
    parameters = getattr(config, "rope_parameters", None) or {}
    nested = [value for value in parameters.values() if isinstance(value, dict)]
    return {str(each.get("rope_type")) for each in nested or [parameters]}


def check_reuse(model: Any, slug: str) -> None:
    """Scores two short sequences with one prefix both ways: a wrong cache shows at once.

    Raises:
        InvalidJudge: reuse fails, or its logits are not those of scoring from scratch.
    """
    vocabulary = model.config.get_text_config().vocab_size
    start = [(7 * place + 3) % vocabulary for place in range(PROBE)]
    sequences = [[*start, 1 % vocabulary], [*start, 2 % vocabulary, 1 % vocabulary]]
    try:
        shared, _ = last_logits(model, sequences)
    except Exception as error:  # whatever a model that cannot do it may raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidJudge(f"{slug}: shared-prefix scoring does not work for this model "
                           f"({reason}); {FROM_SCRATCH_SERVES}") from error
    for sequence, found in zip(sequences, shared):
        with torch.inference_mode():
            ids = torch.tensor([sequence], device=model.device)
            expected = model(ids, use_cache=False, logits_to_keep=1).logits[0, -1].float()
        difference = float((found - expected).abs().max())
        if difference > _tolerance(model.dtype, expected):
            raise InvalidJudge(f"{slug}: shared-prefix scoring gives other logits than scoring "
                               f"from scratch (by {difference:.3g}); {FROM_SCRATCH_SERVES}")


def _tolerance(dtype: torch.dtype, logits: torch.Tensor) -> float:
    if dtype in (torch.float32, torch.float64):
        return AGREEMENT
    return HALF_AGREEMENT * float(logits.max() - logits.min())


def plan_batches(steps: Sequence[Step], lengths: Sequence[int], size: int) -> list[list[Step]]:
    """Neighbouring steps that go through the model together.

    Steps share a batch when they end one and the same prefix and no later step goes on from what
    they add to the cache.

    Args:
        steps: from ``plan_steps``.
        lengths: of the sequences, by index.
        size: steps of one batch at most.
    """
    later = [step.kept for step in steps[1:]] + [0]
    batches: list[list[Step]] = []
    open_batch = False
    for step, next_kept in zip(steps, later):
        ends = next_kept <= step.kept < lengths[step.index]
        if (ends and open_batch and batches[-1][0].kept == step.kept
                and len(batches[-1]) < size):
            batches[-1].append(step)
        else:
            batches.append([step])
        open_batch = ends
    return batches


def last_logits(model: Any, sequences: Sequence[Sequence[int]],
                batch_size: int = 1) -> tuple[list[torch.Tensor], int]:
    """Logits of each sequence's last position, and how many tokens were computed.

    Args:
        model: a causal language model that ``check_layers`` accepts.
        sequences: non-empty token ids.
        batch_size: endings of one prefix that are computed together, padded to the longest of
            them; 1 pads nothing.

    Returns:
        float32 vectors [vocabulary] in the order of ``sequences``, and the number of tokens,
        padding included.
    """
    walk = _Walk(model, sequences)
    lengths = [len(sequence) for sequence in sequences]
    with torch.inference_mode():
        for batch in plan_batches(plan_steps(sequences), lengths, batch_size):
            if len(batch) == 1:
                walk.go_on(batch[0])
            else:
                walk.branch(batch)
    return [walk.logits[index] for index in range(len(sequences))], walk.computed


class _Walk:
    """Depth-first through the trie, with the cache of the sequence computed last."""

    def __init__(self, model: Any, sequences: Sequence[Sequence[int]]):
        self._model, self._sequences = model, sequences
        self._cache, self._length = DynamicCache(), 0
        self._argument = _cache_argument(model)
        self.logits: dict[int, torch.Tensor] = {}
        self.computed = 0

    def go_on(self, step: Step) -> None:
        """Computes one sequence and keeps it in the cache."""
        sequence = self._sequences[step.index]
        if step.kept < len(sequence):
            self._crop(step.kept)
            self._latest = self._forward([sequence[step.kept:]], self._cache, 1)[0, -1].float()
            self._length = len(sequence)
        self.logits[step.index] = self._latest

    def branch(self, batch: Sequence[Step]) -> None:
        """Computes several endings of the prefix in the cache, which stays as it is."""
        self._crop(batch[0].kept)
        endings = [self._sequences[step.index][step.kept:] for step in batch]
        longest = max(map(len, endings))
        last = torch.tensor([len(ending) - 1 for ending in endings], device=self._model.device)
        kept, place = torch.unique(last, return_inverse=True)
        padded = [[*ending, *[ending[-1]] * (longest - len(ending))] for ending in endings]
        logits = self._forward(padded, self._copies(len(batch)), kept)
        for row, step in enumerate(batch):
            self.logits[step.index] = self._latest = logits[row, place[row]].float()

    def _forward(self, rows: list[list[int]], cache: DynamicCache,
                 keep: int | torch.Tensor) -> torch.Tensor:
        self.computed += len(rows) * len(rows[0])
        ids = torch.tensor(rows, device=self._model.device)
        return self._model(ids, **{self._argument: cache}, use_cache=True,
                           logits_to_keep=keep).logits

    def _crop(self, length: int) -> None:
        if length < self._length:
            self._cache.crop(length - self._length)
            self._length = length

    def _copies(self, n: int) -> DynamicCache:
        """A cache of n rows, each with what the cache holds."""
        copies = DynamicCache()
        for index, layer in enumerate(self._cache.layers if self._length else ()):
            copies.update(layer.keys.expand(n, -1, -1, -1), layer.values.expand(n, -1, -1, -1),
                          index)
        return copies


def _cache_argument(model: Any) -> str:
    """Newer releases of transformers call the argument ``cache``, older ones another name."""
    named = "cache" in inspect.signature(model.forward).parameters
    return "cache" if named else "past_key_values"
