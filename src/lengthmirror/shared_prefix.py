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

CHECKED_LAYERS = {"full_attention", "sliding_attention"}


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
        InvalidJudge: naming the kind of layer.
    """
    kinds = getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"]
    unchecked = sorted(set(kinds) - CHECKED_LAYERS)
    if unchecked:
        raise InvalidJudge(f"{slug}: shared-prefix scoring has not been checked for layers of the "
                           f"kind {unchecked[0]!r}; path = 'from_scratch' scores them.")


def last_logits(model: Any, sequences: Sequence[Sequence[int]]) -> tuple[list[torch.Tensor], int]:
    """Logits of each sequence's last position, and how many tokens were computed.

    Args:
        model: a causal language model that ``check_layers`` accepts.
        sequences: non-empty token ids.

    Returns:
        float32 vectors [vocabulary] in the order of ``sequences``, and the number of tokens.
    """
    results: dict[int, torch.Tensor] = {}
    cache, length, computed = DynamicCache(), 0, 0
    with torch.inference_mode():
        for step in plan_steps(sequences):
            sequence = sequences[step.index]
            if step.kept < len(sequence):
                if step.kept < length:
                    cache.crop(step.kept - length)
                batch = torch.tensor([sequence[step.kept:]], device=model.device)
                latest = model(batch, **{_cache_argument(model): cache}, use_cache=True,
                               logits_to_keep=1).logits[0, -1].float()
                length, computed = len(sequence), computed + len(sequence) - step.kept
            results[step.index] = latest
    return [results[index] for index in range(len(sequences))], computed


def _cache_argument(model: Any) -> str:
    """Newer releases of transformers call the argument ``cache``, older ones another name."""
    named = "cache" in inspect.signature(model.forward).parameters
    return "cache" if named else "past_key_values"
