"""Failures that show only once a judge is loaded: one sentence at the end, no table."""

import json

import pytest
import torch

from lengthmirror.cli import main
from lengthmirror.judge import Judge

from .tiny import CHAT, SLUG, byte_tokenizer, save_hub_layout, tiny_llama

N_GROUPS = 14


@pytest.fixture
def fail(small, capsys):
    """Scores with other weights, which must fail; returns the last line of stderr."""
    def run(weights, *more):
        job = [*small.job_options(weights), f"--work={small.work}"]
        assert main(["score", SLUG, *job, *more]) == 1
        printed = capsys.readouterr()
        assert printed.out == "" and "Traceback" not in printed.err
        assert not (small.artifacts / SLUG).exists()
        assert json.loads((small.artifacts / "MANIFEST.json").read_text())["rungs"] == {}
        return printed.err.splitlines()[-1]
    return run


@pytest.fixture
def folder(tmp_path):
    """Where this test's own weights of the tiny judge go."""
    return tmp_path / "weights" / SLUG


@pytest.mark.parametrize("n_workers", [1, 2])
def test_nan_logits_name_judge_unit_and_ordering(folder, fail, n_workers):
    """A judge that gives NaN fails with judge, unit and ordering, from any worker."""
    model = tiny_llama(byte_tokenizer())
    with torch.no_grad():
        model.lm_head.weight[77] = float("nan")
    save_hub_layout(folder, model, byte_tokenizer())
    sentence = fail(folder.parent, f"--workers={n_workers}")
    assert sentence.startswith(f"lengthmirror: {SLUG}: question ")
    assert " in slot A and " in sentence and sentence.endswith("a logit that is not finite.")


def test_prompt_longer_than_the_context_names_unit_length_and_limit(folder, tiny_model, fail):
    """Nothing is cut: the first prompt that does not fit is named, before anything is scored."""
    save_hub_layout(folder, tiny_model, byte_tokenizer())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 300}))
    sentence = fail(folder.parent)
    assert f"{SLUG}: the prompt of question 1, turn 1, heron in slot A" in sentence
    assert "tokens, more than the context window of 300." in sentence


def test_other_parameter_count_is_refused(folder, fail):
    """Weights of another size than the registered one are refused with both numbers."""
    tokenizer = byte_tokenizer(merges=(("Ġ", "A"),))
    save_hub_layout(folder, tiny_llama(tokenizer), tokenizer)
    assert "parameters, expected" in fail(folder.parent)


def test_options_that_are_no_single_token_are_refused(folder, tiny_model, fail):
    """A tokenizer that joins the option with the template before it is refused by the slug."""
    tokenizer = byte_tokenizer(CHAT.replace("<|judge|>\n", "<|judge|>\n=>"))
    tokenizer.backend_tokenizer.add_tokens([">A"])
    save_hub_layout(folder, tiny_model, tokenizer)
    assert f"{SLUG}: the option 'A' is not exactly one new token" in fail(folder.parent)


def test_finished_groups_survive_a_failure(small, tiny_weights, fail, monkeypatch):
    """Groups finished before a failure are kept, and the next run scores only the others."""
    score = Judge.score_shared

    def crashing(self, prompts, option_ids, units):
        if units[0].startswith("question 4, turn 2"):
            prompts = [[10 ** 6]]  # no such token: an error that no one foresaw
        return score(self, prompts, option_ids, units)
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "score_shared", crashing)
        sentence = fail(tiny_weights)
    assert f"the worker scoring {SLUG}, question 4, turn 2 died (exit status 1)" in sentence
    kept = len(list(small.work.rglob("q*.json")))
    assert main(["score", SLUG, *small.job_options(tiny_weights), f"--work={small.work}"]) == 0
    entry = json.loads((small.artifacts / "MANIFEST.json").read_text())["rungs"][SLUG]
    assert 0 < kept < N_GROUPS and entry["resumed_groups"] == kept
