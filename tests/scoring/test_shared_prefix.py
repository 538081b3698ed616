"""The shared-prefix path against scoring every prompt from scratch."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra 'score'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'score'")

from lengthmirror.chunked_attention import attention_in_chunks  # noqa: E402
from lengthmirror.errors import InvalidJudge  # noqa: E402
from lengthmirror.judge import Judge  # noqa: E402
from lengthmirror.ladder import FROM_SCRATCH, PATHS, SHARED_PREFIX  # noqa: E402
from lengthmirror.prompts import prompt_sha256, prompt_text  # noqa: E402
from lengthmirror.scoring import score_groups  # noqa: E402
from lengthmirror.scoring_plan import Group, Prompt  # noqa: E402
from lengthmirror.shared_prefix import (  # noqa: E402
    check_layers,
    check_reuse,
    last_logits,
    plan_batches,
    plan_steps,
)
from lengthmirror.weights import locate_weights  # noqa: E402

VOCABULARY, WINDOW = 64, 16
SHAPE = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48,
         "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 512, "attn_implementation": "sdpa"}
SLIDING = {"head_dim": 8, "sliding_window": WINDOW,
           "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
MODELS = {"llama": (transformers.LlamaConfig, {}), "qwen2": (transformers.Qwen2Config, {}),
          "gemma3": (transformers.Gemma3TextConfig, SLIDING)}
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=8)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """A random model of each kind of attention that the ladder's rungs have."""
    config, extra = MODELS[request.param]
    torch.manual_seed(7)
    return transformers.AutoModelForCausalLM.from_config(config(**SHAPE, **extra)).eval()


def prompts():
    """Two orders of three long answers after one question, as a group has them."""
    generator = torch.Generator().manual_seed(3)

    def text(length):
        return torch.randint(VOCABULARY, (length,), generator=generator).tolist()

    question, end, answers = text(3 * WINDOW), text(4), [text(5), text(2 * WINDOW), text(40)]
    return [question + first + second + end
            for first, second in itertools.permutations(answers, 2)]


def from_scratch(model, sequence):
    with torch.inference_mode():
        return model(torch.tensor([sequence]), use_cache=False).logits[0, -1].float()


def test_logits_against_scoring_from_scratch(model):
    """Reused prefixes give the logits of whole prompts, also beyond a sliding window."""
    sequences = prompts()
    logits, _ = last_logits(model, sequences)
    for sequence, shared in zip(sequences, logits):
        assert torch.allclose(shared, from_scratch(model, sequence), atol=1e-5, rtol=0)


def test_reuse_is_not_trivial(model):
    """Prompts that differ give logits that differ by much more than the tolerance."""
    logits, _ = last_logits(model, prompts())
    gaps = [float((one - other).abs().max()) for one, other in itertools.combinations(logits, 2)]
    assert min(gaps) > 1e-3


def test_identical_prompts_are_computed_once(model):
    """A prompt that occurs twice, or is the beginning of another, costs nothing again."""
    first, second = prompts()[:2]
    logits, computed = last_logits(model, [first, second, first, first[:50]])
    assert torch.equal(logits[0], logits[2])
    assert computed == distinct_prefixes([first, second])
    assert torch.allclose(logits[3], from_scratch(model, first[:50]), atol=1e-5, rtol=0)


@settings(deadline=None, derandomize=True)
@given(SEQUENCES)
def test_steps_compute_every_distinct_prefix_once_against_definition(sequences):
    """The tokens computed are the nodes of the trie, and every sequence has one step."""
    steps = plan_steps(sequences)
    assert sorted(step.index for step in steps) == list(range(len(sequences)))
    assert (sum(len(sequences[step.index]) - step.kept for step in steps)
            == distinct_prefixes(sequences))


@settings(deadline=None, derandomize=True)
@given(SEQUENCES, st.integers(1, 4))
def test_batches_are_endings_of_one_prefix(sequences, size):
    """Batches keep the order of the steps; one of several adds nothing a later step needs."""
    steps = plan_steps(sequences)
    batches = plan_batches(steps, [len(sequence) for sequence in sequences], size)
    assert [step for batch in batches for step in batch] == steps
    assert all(len(batch) <= size for batch in batches)
    cached = []
    for batch in batches:
        for step in batch:
            assert cached[:step.kept] == sequences[step.index][:step.kept]
        if len(batch) == 1:
            cached = sequences[batch[0].index]
        else:
            assert len({step.kept for step in batch}) == 1
            cached = cached[:batch[0].kept]


def test_siblings_share_a_batch():
    """Three endings of one prefix go together after the first of them brought the prefix."""
    sequences = [[1, 1, 2], [1, 1, 3], [1, 1, 4], [1, 1, 5]]
    batches = plan_batches(plan_steps(sequences), [3, 3, 3, 3], 2)
    assert [[step.index for step in batch] for batch in batches] == [[0], [1, 2], [3]]


@pytest.mark.parametrize("size", [2, 3, 16])
def test_batches_of_endings_against_scoring_from_scratch(model, size):
    """Padded endings of one prefix give the logits of whole prompts; padding is counted."""
    sequences = prompts()
    start = sequences[0][:60]
    sequences += [start + ending for ending in ([1], [2, 3, 4], [5] * 30, [6] * 9)]
    logits, computed = last_logits(model, sequences, size)
    for sequence, shared in zip(sequences, logits):
        assert torch.allclose(shared, from_scratch(model, sequence), atol=1e-5, rtol=0)
    assert computed > last_logits(model, sequences)[1]


@settings(deadline=None, derandomize=True)
@given(SEQUENCES)
def test_kept_tokens_are_those_in_the_cache(sequences):
    """What a step keeps is the beginning of the sequence computed just before it."""
    cached = []
    for step in plan_steps(sequences):
        sequence = sequences[step.index]
        assert cached[:step.kept] == sequence[:step.kept]
        cached = sequence


def test_unchecked_attention_is_refused(model):
    """A kind of layer that has not been checked is named; it is scored from scratch only."""
    check_layers(model, "tiny")
    config = model.config.get_text_config()
    before, config.layer_types = config.layer_types if hasattr(config, "layer_types") else None, [
        "full_attention", "linear_attention", "full_attention"]
    try:
        with pytest.raises(InvalidJudge, match="tiny: .* kind 'linear_attention'"):
            check_layers(model, "tiny")
    finally:
        config.layer_types = before


@pytest.mark.parametrize("rotary", [
    {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4,
     "long_factor": [4.0] * 4, "original_max_position_embeddings": 64, "factor": 8.0},
    {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}])
def test_positions_that_depend_on_the_length_are_refused(rotary):
    """A prefix whose positions change with the whole prompt cannot be reused: refused by type."""
    config = transformers.LlamaConfig(**SHAPE, rope_parameters=rotary)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with pytest.raises(InvalidJudge, match=f"tiny: its rotary positions of the type "
                                           f"'{rotary['rope_type']}' depend on the length"):
        check_layers(model, "tiny")


def test_reuse_of_a_working_cache_is_accepted(model):
    """The probe passes where cached logits are those of scoring from scratch."""
    check_reuse(model, "tiny")
    with attention_in_chunks(model):
        check_reuse(model, "tiny")


def test_model_without_a_cache_is_refused():
    """A model that swallows the cache scores endings alone, which the probe finds."""
    torch.manual_seed(1)
    config = transformers.OpenAIGPTConfig(vocab_size=VOCABULARY, n_positions=128, n_embd=32,
                                          n_layer=2, n_head=4, initializer_range=0.3)
    model = transformers.OpenAIGPTLMHeadModel(config).eval()
    with pytest.raises(InvalidJudge, match="tiny: shared-prefix scoring .*; path = 'from_scratch' "
                                           "scores it"):
        check_reuse(model, "tiny")


def test_model_that_looks_ahead_is_refused():
    """A bidirectional model has no reusable prefix; with chunks its missing mask is refused."""
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                     num_attention_heads=4, intermediate_size=48, is_decoder=False,
                                     max_position_embeddings=128, initializer_range=0.3,
                                     attn_implementation="sdpa")
    model = transformers.BertLMHeadModel(config).eval()
    with pytest.raises(InvalidJudge, match="shared-prefix scoring"):
        check_reuse(model, "tiny")
    with attention_in_chunks(model), pytest.raises(InvalidJudge, match="shared-prefix scoring"):
        check_reuse(model, "tiny")


def distinct_prefixes(sequences):
    return len({tuple(sequence[:end]) for sequence in sequences
                for end in range(1, len(sequence) + 1)})


@pytest.fixture(scope="module")
def tables(rung, tiny_weights, templates, tmp_path_factory):
    """The logits of one group of the tiny judge, by each path."""
    return {path: scored(replace(rung, path=path), tiny_weights, templates,
                         tmp_path_factory.mktemp(path)) for path in PATHS}


def scored(rung, weights, templates, work):
    judge = Judge(rung, locate_weights(rung, weights, fetch=False), templates)
    texts = {(a, b): prompt_text(templates, 1, ["Why?", "a" * 200 * a], ["Why?", "b" * 150 * b])
             for a, b in itertools.permutations((1, 2, 3), 2)}
    group = Group(1, 1, tuple(Prompt(str(a), str(b), text, prompt_sha256(text))
                              for (a, b), text in texts.items()))
    return score_groups(judge, [group], "key", work, 1, lambda *_: None)


def test_both_paths_give_the_same_verdicts(tables):
    """A whole group scored with shared prefixes has the rows of from-scratch scoring."""
    shared, scratch = tables[SHARED_PREFIX].columns, tables[FROM_SCRATCH].columns
    for name in ("logit_a", "logit_b", "logprob_a", "logprob_b"):
        assert shared[name] == pytest.approx(scratch[name], abs=1e-5)
    assert ([a > b for a, b in zip(shared["logit_a"], shared["logit_b"])]
            == [a > b for a, b in zip(scratch["logit_a"], scratch["logit_b"])])
    for name in ("model_a", "model_b", "n_tokens", "argmax_token", "prompt_sha256"):
        assert shared[name] == scratch[name]


def test_tokens_computed_are_counted(tables):
    """From scratch every token is computed, with shared prefixes fewer; the table says so."""
    total = sum(tables[FROM_SCRATCH].columns["n_tokens"])
    assert tables[FROM_SCRATCH].tokens_computed == total
    assert 0 < tables[SHARED_PREFIX].tokens_computed < total
