"""A judge's score is one plain forward pass: the logits of the last position, nothing else."""

import subprocess
import sys
from dataclasses import replace
from math import log

import pytest
import torch
from transformers import AutoModelForCausalLM

from lengthmirror.encoding import plain_ids
from lengthmirror.errors import ScoringFailed
from lengthmirror.judge import Judge, load_tokenizer, prompt_score, tokenizer_digest
from lengthmirror.weights import LocalWeights, locate_weights

from .tiny import CHAT, SLUG, byte_tokenizer, save_hub_layout, tiny_llama
from .tiny_gguf import write_gguf

MERGES = (("Ġ", "A"), ("Ġ", "B"))
TEXTS = ("Which is better, A or B?", "é" * 300, "A <|end|> B")


@pytest.fixture(scope="module")
def judge(rung, tiny_weights, templates):
    """The tiny judge, loaded as a scoring run loads it."""
    return Judge(rung, locate_weights(rung, tiny_weights, fetch=False), templates)


def logits_of(model, ids):
    """The last position's logits by an ordinary call of the model."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits[0, -1]


@pytest.mark.parametrize("text", TEXTS)
def test_score_is_one_forward_pass_against_transformers(judge, tiny_model, text):
    """Logits and argmax are those of the model called directly on the same ids."""
    ids, options = judge.encoder.encode(text, "u"), judge.encoder.option_ids(text)
    score, expected = judge.score(ids, options, "u"), logits_of(tiny_model, ids)
    right = expected[list(options)].tolist()
    assert (score.logit_a, score.logit_b) == pytest.approx(right, abs=1e-5)
    assert (score.n_tokens, score.argmax_token) == (len(ids), int(expected.argmax()))


@pytest.mark.parametrize("text", TEXTS)
def test_log_probabilities_against_definition(judge, text):
    """A log-probability is the logit minus the log of the summed exponentials of all logits."""
    ids, options = judge.encoder.encode(text, "u"), judge.encoder.option_ids(text)
    score, logits = judge.score(ids, options, "u"), logits_of(judge.model, ids).double()
    total = log(sum(logits.exp().tolist()))
    assert score.logprob_a == pytest.approx(score.logit_a - total, abs=1e-6)
    assert score.logprob_b == pytest.approx(score.logit_b - total, abs=1e-6)


def test_scores_do_not_depend_on_what_was_scored_before(judge):
    """The same prompt gives the same bits first, last and in any company."""
    prompts = [(judge.encoder.encode(text, "u"), judge.encoder.option_ids(text)) for text in TEXTS]
    there = [judge.score(*prompt, "u") for prompt in prompts]
    back = [judge.score(*prompt, "u") for prompt in reversed(prompts)]
    assert there == back[::-1]


@pytest.mark.parametrize("shard_size, at_least", [("1GB", 1), ("20KB", 3)])
def test_hub_layout_loads_whole_and_in_shards(rung, tmp_path, tiny_model, templates, shard_size,
                                              at_least):
    """One safetensors file and many shards with an index give the same judge."""
    save_hub_layout(tmp_path / SLUG, tiny_model, byte_tokenizer(), shard_size)
    assert len(list((tmp_path / SLUG).glob("*.safetensors"))) >= at_least
    loaded = Judge(rung, locate_weights(rung, tmp_path, fetch=False), templates)
    ids = loaded.encoder.encode(TEXTS[0], "u")
    assert torch.equal(logits_of(loaded.model, ids), logits_of(tiny_model, ids))


def test_weights_start_at_cache_lines_however_they_lie_in_files(rung, tmp_path, templates):
    """A mapped file's tensors may start anywhere; a judge's never do, or its bits would vary."""
    tokenizer = byte_tokenizer()
    save_hub_layout(tmp_path / SLUG, tiny_llama(tokenizer), tokenizer, "20KB")
    mapped = AutoModelForCausalLM.from_pretrained(tmp_path / SLUG)
    assert any(tensor.data_ptr() % 64 for tensor in mapped.parameters())
    loaded = Judge(rung, locate_weights(rung, tmp_path, fetch=False), templates)
    assert not any(tensor.data_ptr() % 64 for tensor in loaded.model.parameters())
    for found, written in zip(loaded.model.parameters(), mapped.parameters(), strict=True):
        assert torch.equal(found, written)


def test_gguf_file_gives_the_same_judge_as_the_hub_layout(rung, tmp_path, templates):
    """A GGUF file of the same weights gives the same ids and the same logits."""
    tokenizer = byte_tokenizer(merges=MERGES)
    model = tiny_llama(tokenizer)
    write_gguf(tmp_path / "tiny.gguf", model, tokenizer, MERGES)
    count = sum(parameter.numel() for parameter in model.parameters())
    loaded = Judge(replace(rung, loaded_parameters=count), LocalWeights(tmp_path, "tiny.gguf"),
                   templates)
    ids = loaded.encoder.encode(TEXTS[2], "u")
    assert loaded.tokenizer.chat_template == CHAT
    assert ids[3:-4] == plain_ids(tokenizer, TEXTS[2])
    assert torch.allclose(logits_of(loaded.model, ids), logits_of(model, ids), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_registered_dtype_and_attention_are_the_ones_used(rung, tmp_path, tiny_model, templates,
                                                          dtype, attention):
    """Weights stored as bfloat16 are computed in the registered dtype and attention."""
    save_hub_layout(tmp_path / SLUG, tiny_llama(byte_tokenizer()).bfloat16(), byte_tokenizer())
    registered = replace(rung, dtype=dtype, attention=attention)
    loaded = Judge(registered, locate_weights(registered, tmp_path, fetch=False), templates)
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {getattr(torch, dtype)}
    assert loaded.model.config._attn_implementation == attention
    score = loaded.score(loaded.encoder.encode(TEXTS[0], "u"), (0, 1), "u")
    assert score.logit_a == pytest.approx(torch.tensor(score.logit_a, dtype=torch.float32).item())


def test_loading_makes_the_process_deterministic(judge):
    """Loading a judge switches deterministic algorithms on and fixes the number of threads."""
    assert judge.rung.threads == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == 1
    assert torch.get_float32_matmul_precision() == "highest"
    assert not judge.model.training


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_any_logit_that_is_not_finite_is_an_error(value, place):
    """Also outside the two options a NaN or an infinity names the prompt and gives no verdict."""
    logits = torch.tensor([1.0, 2.0, 3.0])
    logits[place] = value
    with pytest.raises(ScoringFailed, match="^tiny: question 1, turn 2.* not finite"):
        prompt_score(logits, 5, (0, 1), "tiny: question 1, turn 2, x in slot A and y in slot B")


def test_tokenizer_digest_sees_vocabulary_and_chat_template(tiny_weights, rung):
    """The digest that keys scores changes with the vocabulary and with the chat template."""
    loaded = load_tokenizer(rung, LocalWeights(tiny_weights / SLUG, None))
    again = load_tokenizer(rung, LocalWeights(tiny_weights / SLUG, None))
    digests = {tokenizer_digest(tokenizer) for tokenizer in
               (loaded, again, byte_tokenizer(merges=MERGES), byte_tokenizer(CHAT + " "))}
    assert len(digests) == 3 and tokenizer_digest(loaded) == tokenizer_digest(again)


def test_encoding_does_not_change_the_tokenizer_digest(judge):
    """Encoding answers as data leaves no trace in what keys the scores."""
    before = judge.tokenizer_sha256
    judge.encoder.encode(TEXTS[2], "u")
    judge.encoder.option_ids(TEXTS[2])
    judge.encoder.count_tokens(TEXTS[2])
    assert judge.tokenizer_sha256 == before


def test_planning_a_run_needs_no_model_library():
    """Prompts, groups, workers and the command line import neither torch nor transformers."""
    code = ("import sys, lengthmirror.cli, lengthmirror.commands, lengthmirror.scoring, "
            "lengthmirror.scoring_plan, lengthmirror.weights\n"
            "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'datasets')))")
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)},
                          timeout=120).returncode == 0


def test_operation_without_deterministic_form_is_named(judge, monkeypatch):
    """An operation that torch cannot do deterministically ends scoring, by its name."""
    def forward(ids, **_):
        return torch.zeros(3).put_(torch.tensor([0, 1]), torch.tensor([1.0, 2.0]))

    ids, options = judge.encoder.encode(TEXTS[0], "u"), judge.encoder.option_ids(TEXTS[0])
    monkeypatch.setattr(judge.model, "forward", forward)
    with pytest.raises(ScoringFailed, match="^tiny: the operation put_ has no deterministic form "
                                            "on the device 'cpu'"):
        judge.score(ids, options, "u")


def test_other_errors_of_a_model_are_not_renamed(judge, monkeypatch):
    """Only torch's refusal is put into a sentence of ours."""
    def forward(ids, **_):
        raise RuntimeError("something else")

    monkeypatch.setattr(judge.model, "forward", forward)
    with pytest.raises(RuntimeError, match="^something else$"):
        judge.score([1], (2, 3), "u")
