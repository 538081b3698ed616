"""The operations that scoring needs, counted from the formula and from a model."""

import pytest

from measure.flops import Dimensions, distinct_prefixes, needed_flops, trie_steps

MODEL = Dimensions(linear=1000, layers=2, heads=3, head_dimension=5, hidden=7, vocabulary=11)


def test_one_pass_against_the_formula():
    """Two per linear parameter and token, four per visible pair and channel, one projection."""
    kept, computed = 4, 3
    pairs = sum(kept + position for position in range(1, computed + 1))
    expected = 2 * 1000 * computed + 4 * 2 * 3 * 5 * pairs + 2 * 7 * 11
    assert needed_flops(MODEL, [(kept, computed)]) == expected


def test_going_on_from_a_cache_needs_what_is_not_in_it():
    """Two passes need as much as one over all tokens, and one projection more."""
    whole, parts = needed_flops(MODEL, [(0, 9)]), needed_flops(MODEL, [(0, 4), (4, 5)])
    assert parts == whole + 2 * 7 * 11


def test_no_pass_needs_nothing():
    """Without prompts there is no operation."""
    assert needed_flops(MODEL, []) == 0


def test_steps_of_a_trie():
    """In sorted order each sequence computes what no sequence before it has begun with."""
    assert trie_steps([[1, 2, 3], [1, 2], [1, 3], [2], [1, 2]]) == [(0, 2), (2, 1), (1, 1), (0, 1)]


@pytest.mark.parametrize("sequences", [
    [[1, 2, 3], [1, 2, 4], [5]], [[1]] * 4, [[2, 1], [1, 2]], [[1, 2], [1], [1, 2, 3]], []])
def test_distinct_prefixes_against_a_set(sequences):
    """The tokens to compute are the different prefixes, each once."""
    prefixes = {tuple(each[:end]) for each in sequences for end in range(1, len(each) + 1)}
    assert distinct_prefixes(sequences) == len(prefixes)


def test_dimensions_of_a_model():
    """Linear layers are counted without the head, tied or not, and without the embedding."""
    pytest.importorskip("transformers", reason="the extra 'score' is not installed")
    from transformers import LlamaConfig, LlamaForCausalLM

    from measure.flops import dimensions
    config = LlamaConfig(vocab_size=50, hidden_size=8, intermediate_size=12, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2)
    per_layer = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 12
    for tied in (True, False):
        config.tie_word_embeddings = tied
        assert dimensions(LlamaForCausalLM(config)) == Dimensions(2 * per_layer, 2, 4, 2, 8, 50)
