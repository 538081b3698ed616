"""Attention in chunks against torch's own, and against the masks of whole models."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'score'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'score'")

from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

from lengthmirror.chunked_attention import (  # noqa: E402
    CHUNK,
    NAME,
    attention_in_chunks,
    chunked_attention,
)
from lengthmirror.shared_prefix import last_logits  # noqa: E402

HEADS, SHARED, DIMENSION = 6, 2, 8
SIZES = [(1, 1), (1, 70), (CHUNK - 1, CHUNK - 1), (CHUNK, CHUNK), (CHUNK + 1, 3 * CHUNK),
         (3 * CHUNK + 5, 5 * CHUNK + 9)]
WINDOWS = [None, 1, 7, CHUNK, 2 * CHUNK + 3]


def visible(queries, keys, window):
    """Which key each of the last ``queries`` positions sees."""
    position = torch.arange(keys - queries, keys)[:, None]
    key = torch.arange(keys)[None]
    mask = key <= position
    return (mask if window is None else mask & (key > position - window))[None, None]


def inputs(queries, keys):
    generator = torch.Generator().manual_seed(queries * 1000 + keys)

    def some(heads, length):
        return torch.randn(1, heads, length, DIMENSION, generator=generator)

    return some(HEADS, queries), some(SHARED, keys), some(SHARED, keys)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_chunks_against_torch(queries, keys, window):
    """Every number of queries and keys, causal or sliding, gives torch's attention."""
    query, key, value = inputs(queries, keys)
    mask = visible(queries, keys, window)
    result, weights = chunked_attention(None, query, key, value, mask)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    assert weights is None
    assert torch.allclose(result, expected.transpose(1, 2), atol=1e-5, rtol=0)


def test_scaling_is_passed_on():
    """A model's own scaling of the scores is used."""
    query, key, value = inputs(5, 9)
    mask = visible(5, 9, None)
    result, _ = chunked_attention(None, query, key, value, mask, scaling=2.0)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True,
                                            scale=2.0)
    assert torch.allclose(result, expected.transpose(1, 2), atol=1e-5, rtol=0)
    assert not torch.allclose(result, chunked_attention(None, query, key, value, mask)[0], atol=0.1)


def test_any_mask_against_torch():
    """A mask of no regular shape is followed too, as long as every query sees a key."""
    query, key, value = inputs(2 * CHUNK + 3, 90)
    mask = torch.rand(1, 1, 2 * CHUNK + 3, 90, generator=torch.Generator().manual_seed(5)) > 0.4
    result, _ = chunked_attention(None, query, key, value, mask)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    assert torch.allclose(result, expected.transpose(1, 2), atol=1e-5, rtol=0)


@pytest.mark.parametrize("unsupported", ["softcap", "position_bias"])
def test_what_it_cannot_do_is_an_error(unsupported):
    """A soft cap or a position bias is never left out silently."""
    query, key, value = inputs(3, 3)
    with pytest.raises(NotImplementedError, match="no soft cap and no position bias"):
        chunked_attention(None, query, key, value, visible(3, 3, None), **{unsupported: 1.0})


@pytest.mark.parametrize("mask", [None, torch.zeros(1, 1, 3, 3)])
def test_a_mask_of_another_kind_is_an_error(mask):
    """A missing mask or one of numbers is never taken for something else."""
    query, key, value = inputs(3, 3)
    with pytest.raises(NotImplementedError, match="a mask of true and false"):
        chunked_attention(None, query, key, value, mask)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma3"])
def test_models_use_it_and_get_their_own_attention_back(kind, monkeypatch):
    """Within the context a model computes the same logits in chunks, after it as before."""
    model = tiny(kind)
    generator = torch.Generator().manual_seed(2)
    start = torch.randint(64, (3 * CHUNK,), generator=generator).tolist()
    sequences = [start + torch.randint(64, (n,), generator=generator).tolist()
                 for n in (5, 2 * CHUNK, 70)]
    expected, _ = last_logits(model, sequences)
    with attention_in_chunks(model):
        assert model.config._attn_implementation == NAME
        chunks, _ = last_logits(model, sequences)
    assert model.config._attn_implementation == "sdpa"
    assert all(torch.allclose(one, other, atol=1e-5, rtol=0)
               for one, other in zip(chunks, expected))
    assert any(not torch.equal(one, other) for one, other in zip(chunks, expected))


def tiny(kind):
    config = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config,
              "gemma3": transformers.Gemma3TextConfig}[kind]
    sliding = {"head_dim": 8, "sliding_window": 16, "layer_types": [
        "sliding_attention", "full_attention", "sliding_attention"]} if kind == "gemma3" else {}
    torch.manual_seed(7)
    return transformers.AutoModelForCausalLM.from_config(config(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        attn_implementation="sdpa", **sliding)).eval()
