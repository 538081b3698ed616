"""Softmax attention by chunks of queries, each over the keys it sees, for one CPU thread.

torch's CPU kernel with a mask computes every query against every key and then drops what the mask
hides: half of a causal square, and nearly all of a sliding window in a long prompt. A chunk of
queries needs only the keys between the first and the last one that any of them sees. The query
heads of one key-value head are stacked, which makes the matrix products larger and spares
repeating keys and values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = "lengthmirror_chunked"
CHUNK = 32


@contextmanager
def attention_in_chunks(model: Any) -> Iterator[None]:
    """Within it, a model that was loaded with ``sdpa`` computes its attention in chunks."""
    AttentionInterface.register(NAME, chunked_attention)
    AttentionMaskInterface.register(NAME, _explicit_mask)
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@dataclass(frozen=True)
class _Chunk:
    """Queries ``start`` to ``end`` see keys from ``first`` to ``last``, but not those hidden.

    ``edges``: (from, to, hidden) for every stretch of those keys, counted from ``first``, of which
    some query sees a key and some does not; ``hidden`` is bool [queries, keys of the stretch].
    """
    start: int
    end: int
    first: int
    last: int
    edges: tuple[tuple[int, int, torch.Tensor], ...]


_CHUNKS = WeakTensorKeyDictionary()


def chunked_attention(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor,
                      value: torch.Tensor, attention_mask: torch.Tensor,
                      scaling: float | None = None, softcap: float | None = None,
                      position_bias: torch.Tensor | None = None, **_) -> tuple[torch.Tensor, None]:
    """What ``sdpa`` of transformers computes, with the signature transformers calls.

    Args:
        module: the attention layer; not used.
        query: [1, heads, queries, dimension].
        key, value: [1, key-value heads, keys, dimension].
        attention_mask: bool [1, 1, queries, keys], True where a query sees a key; every query
            sees one key or more.
        scaling: of the scores; None means dimension ** -0.5.
        softcap, position_bias: not supported.

    In bfloat16 and float16 the scores are rounded to that type before the softmax, as in the
    attention ``eager`` of transformers; torch's own kernel keeps them in float32.

    Returns:
        [1, queries, heads, dimension] and None (no attention weights).
    """
    if softcap is not None or position_bias is not None:
        raise NotImplementedError("chunked attention has no soft cap and no position bias")
    if attention_mask is None or attention_mask.dtype != torch.bool:
        raise NotImplementedError("chunked attention needs a mask of true and false")
    heads, dimension, shared = query.shape[1], query.shape[3], key.shape[1]
    query = query[0] * (dimension ** -0.5 if scaling is None else scaling)
    key, value = key[0].transpose(1, 2), value[0]
    result = query.new_empty(1, query.shape[1], heads, value.shape[-1])
    for chunk in _chunks(attention_mask):
        rows = chunk.end - chunk.start
        stacked = query[:, chunk.start:chunk.end].reshape(shared, -1, dimension)
        scores = torch.bmm(stacked, key[:, :, chunk.first:chunk.last])
        by_head = scores.view(heads, rows, -1)
        for begin, end, hidden in chunk.edges:
            by_head[:, :, begin:end].masked_fill_(hidden, -torch.inf)
        mixed = torch.bmm(torch.softmax(scores, dim=-1), value[:, chunk.first:chunk.last])
        result[0, chunk.start:chunk.end] = mixed.view(heads, rows, -1).transpose(0, 1)
    return result, None


def _chunks(mask: torch.Tensor) -> list[_Chunk]:
    """How a mask is worked through; all layers of one forward pass share the answer."""
    if mask not in _CHUNKS:
        rows = mask[0, 0]
        _CHUNKS[mask] = [_chunk(rows[start:start + CHUNK], start)
                         for start in range(0, len(rows), CHUNK)]
    return _CHUNKS[mask]


def _chunk(rows: torch.Tensor, start: int) -> _Chunk:
    seen = rows.any(dim=0).nonzero()
    first, last = int(seen[0]), int(seen[-1]) + 1
    hidden = ~rows[:, first:last]
    partly = hidden.any(dim=0)
    changes = torch.diff(partly.int(), prepend=torch.zeros(1), append=torch.zeros(1)).nonzero()
    bounds = changes.flatten().tolist()
    return _Chunk(start, start + len(rows), first, last,
                  tuple((begin, end, hidden[:, begin:end].contiguous())
                        for begin, end in zip(bounds[::2], bounds[1::2])))


def _explicit_mask(*arguments, **options) -> torch.Tensor:
    """The mask of ``sdpa``, never left out in favour of the kernel's own causal flag."""
    return sdpa_mask(*arguments, **{**options, "allow_is_causal_skip": False})
