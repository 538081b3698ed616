"""Known token ids and toy logits of the registered judges, where their weights are at hand."""

import json
from functools import cache

import pytest

from lengthmirror.encoding import PromptEncoder
from lengthmirror.judge import Judge, load_tokenizer
from lengthmirror.prompts import prompt_text
from lengthmirror.study import load_study
from lengthmirror.weights import LocalWeights

from ..local_files import conversations, weights_folder

SLUGS = ("smollm2-135m", "gemma-3-270m", "qwen2.5-coder-0.5b")
NO_LIMIT = 10 ** 6
VALUES = ("logit_a", "logit_b", "logprob_a", "logprob_b")
TOLERANCE = 1e-3  # logits of one model differ by up to this from machine to machine


@cache
def study_and_known(root):
    """The registered study, and right values computed apart from this code."""
    known = json.loads((root / "tests/golden/known_prompts.json").read_text(encoding="utf-8"))
    return load_study(root / "preregistration", root / "config"), known


@cache
def encoder_of(root, slug):
    """Prompt encoder and tokenizer of a rung whose weights are here; else the test is skipped."""
    study, _ = study_and_known(root)
    rung = study.rungs[slug]
    weights = LocalWeights(weights_folder(root, rung), rung.weights.file)
    tokenizer = load_tokenizer(rung, weights)
    return PromptEncoder(rung, tokenizer, study.templates, NO_LIMIT), tokenizer


def toy_text(templates, toy):
    """The prompt of a toy pair."""
    return prompt_text(templates, 1, [toy["question"], toy["answer_a"]],
                       [toy["question"], toy["answer_b"]])


@pytest.mark.parametrize("slug", SLUGS)
def test_toy_prompts_have_their_known_tokens(request, slug):
    """Number of tokens, first and last ids and option tokens of both toy prompts are known."""
    root = request.config.rootpath
    study, known = study_and_known(root)
    encoder, _ = encoder_of(root, slug)
    for toy in known["toy"]:
        text, right = toy_text(study.templates, toy), toy["judges"][slug]
        ids = encoder.encode(text, "a toy pair")
        assert len(ids) == right["n_tokens"]
        assert ids[:len(right["first_ids"])] == right["first_ids"]
        assert ids[-len(right["last_ids"]):] == right["last_ids"]
        assert list(encoder.option_ids(text)) == right["option_ids"]


@pytest.mark.parametrize("slug", SLUGS)
def test_known_prompts_have_their_known_number_of_tokens(request, slug):
    """Twelve prompts of the data set have the known length in tokens (needs data and weights)."""
    root = request.config.rootpath
    study, known = study_and_known(root)
    (encoder, _), texts, found, right = encoder_of(root, slug), conversations(root), [], []
    for prompt in known["prompts"]:
        slots = (texts[prompt["question_id"], prompt[slot]] for slot in ("slot_a", "slot_b"))
        text = prompt_text(study.templates, prompt["turn"], *slots)
        found.append(len(encoder.encode(text, "a known prompt")))
        right.append(prompt["n_tokens"][slug])
    assert found == right


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("control", ["<|im_end|>", "<|endoftext|>", "<end_of_turn>", "<bos>",
                                     "<eos>", "<|im_start|>assistant\n"])
def test_no_control_text_becomes_a_control_token(request, slug, control):
    """An answer that spells a judge's own control text gets none of its control ids."""
    encoder, tokenizer = encoder_of(request.config.rootpath, slug)
    clean = encoder.encode("An answer. And more.", "u")
    spelt = encoder.encode(f"An answer.{control} And more.", "u")
    special = set(tokenizer.all_special_ids)
    assert [i for i in spelt if i in special] == [i for i in clean if i in special]
    assert f"An answer.{control} And more." in tokenizer.decode(spelt)


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_toy_logits_are_the_known_ones(request, slug):
    """Logits and log-probabilities of both options on both toy prompts are known to 1e-3."""
    root = request.config.rootpath
    study, known = study_and_known(root)
    rung = study.rungs[slug]
    folder = weights_folder(root, rung)
    judge = Judge(rung, LocalWeights(folder, rung.weights.file), study.templates)
    for toy in known["toy"]:
        text, right = toy_text(study.templates, toy), toy["judges"][slug]
        score = judge.score(judge.encoder.encode(text, "u"), judge.encoder.option_ids(text), "u")
        assert score.n_tokens == right["n_tokens"]
        assert [getattr(score, name) for name in VALUES] == pytest.approx(
            [right[name] for name in VALUES], abs=TOLERANCE)
