"""How many floating-point operations scoring needs, and how fast a matrix product does them."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SIDE = 2048  # of the square matrices that the scorer is compared with
REPEATS = 5  # products of one block, of which the fastest counts


@dataclass(frozen=True)
class Dimensions:
    """``linear``: parameters of all linear layers but the projection onto the vocabulary."""
    linear: int
    layers: int
    heads: int
    head_dimension: int
    hidden: int
    vocabulary: int


def needed_flops(model: Dimensions, steps: Iterable[tuple[int, int]]) -> int:
    """Operations of shared-prefix scoring, two for each multiplication with an addition.

    Args:
        model: its dimensions.
        steps: (tokens kept in the cache, tokens computed) of each forward pass. A pass projects
            its last position onto the vocabulary.

    Returns:
        2 x linear parameters for each token; 4 x layers x heads x head dimension for each pair of
        a query and a key it sees (its product with the key and with the value); and the
        projections. Norms, softmax and activations are not counted.
    """
    per_pair = 4 * model.layers * model.heads * model.head_dimension
    return sum(2 * model.linear * computed
               + per_pair * (computed * kept + computed * (computed + 1) // 2)
               + 2 * model.hidden * model.vocabulary for kept, computed in steps)


def trie_steps(sequences: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """(kept, computed) of each sequence in sorted order, those that are computed at all.

    Counted in a trie of its own, independent of how the scorer plans its steps.
    """
    root: dict = {}
    steps = []
    for sequence in sorted(sequences):
        node, kept = root, 0
        for token in sequence:
            kept += token in node
            node = node.setdefault(token, {})
        if kept < len(sequence):
            steps.append((kept, len(sequence) - kept))
    return steps


def distinct_prefixes(sequences: Sequence[Sequence[int]]) -> int:
    """Nodes of the trie of the sequences: the tokens that must be computed."""
    return sum(computed for _, computed in trie_steps(sequences))


def dimensions(model: Any) -> Dimensions:
    """Of a loaded transformers model with full attention."""
    from torch.nn import Linear
    config, head = model.config.get_text_config(), model.get_output_embeddings()
    linear = sum(module.weight.numel() for module in model.modules()
                 if isinstance(module, Linear) and module is not head)
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return Dimensions(linear, config.num_hidden_layers, heads, size, config.hidden_size,
                      config.vocab_size)


def product_rate(dtype: str) -> float:
    """FLOP/s of the fastest of a few matrix products SIDE cubed, on this process's threads."""
    import torch
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(SIDE, SIDE, generator=generator).to(getattr(torch, dtype))
                   for _ in range(2))
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        torch.mm(left, right)
        seconds.append(time.perf_counter() - started)
    return 2 * SIDE ** 3 / min(seconds)
