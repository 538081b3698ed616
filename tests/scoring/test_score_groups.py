"""A logits table has the same bytes for any number of workers and any interruption."""

import json
import os
from dataclasses import replace

import pytest

from lengthmirror.errors import InvalidJudge, InvalidLogits, ScoringFailed
from lengthmirror.logit_table import read_logits, write_logits
from lengthmirror.scoring import ENGINE, score_groups

from .fake_judge import (
    GROUPS,
    FakeEncoder,
    FakeJudge,
    fake_groups,
    fake_rung,
    key_of,
    kill_at,
    no_progress,
    table_bytes,
)

WORK, TABLE = "work", "fake/logits.parquet"


@pytest.fixture
def whole(tmp_path):
    """The bytes of the table that one worker makes in one go."""
    return table_bytes(FakeJudge(fake_rung()), fake_groups(), tmp_path / "first", tmp_path / TABLE)


def parts(work):
    """The files of finished groups."""
    return sorted(work.rglob("q*.json"))


def rescored(tmp_path, judge=None, groups=None, key=None, work=WORK):
    """How many groups a second run in the same work folder scores anew."""
    done = []
    judge = judge or FakeJudge(fake_rung())
    score_groups(judge, groups or fake_groups(), key or key_of(judge), tmp_path / work, 1,
                 lambda *counts: done.append(counts[-1]))
    return done.count(False)


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_table_is_the_same_for_any_number_of_workers(tmp_path, whole, n_workers):
    """Bytes do not depend on how many processes shared the groups, or which finished first."""
    found = table_bytes(FakeJudge(fake_rung()), fake_groups(), tmp_path / WORK, tmp_path / TABLE,
                        n_workers)
    assert found == whole


def test_table_is_the_same_for_groups_in_any_order(tmp_path, whole):
    """The order in which groups are given is not in the bytes."""
    found = table_bytes(FakeJudge(fake_rung()), fake_groups()[::-1], tmp_path / WORK,
                        tmp_path / TABLE)
    assert found == whole


@pytest.mark.parametrize("already", range(GROUPS + 1))
def test_table_is_the_same_from_any_number_of_finished_groups(tmp_path, whole, already):
    """A run that finds any number of groups finished ends with the same bytes, all of them too."""
    judge = FakeJudge(fake_rung())
    if already:
        score_groups(judge, fake_groups(already), key_of(judge), tmp_path / WORK, 1, no_progress)
    assert rescored(tmp_path) == GROUPS - already
    assert table_bytes(judge, fake_groups(), tmp_path / WORK, tmp_path / TABLE) == whole


def test_every_row_is_the_judges_own_score(tmp_path, whole):
    """Each row holds the logits of its own prompt, against the judge asked directly."""
    table = {(row["question_id"], row["turn"], row["model_a"], row["model_b"]): row
             for row in read_logits(tmp_path / TABLE, "fake").to_pylist()}
    judge, encoder = FakeJudge(fake_rung()), FakeEncoder()
    for group in fake_groups():
        for prompt in group.prompts:
            row = table.pop((group.question_id, group.turn, prompt.slot_a, prompt.slot_b))
            score = judge.score(encoder.encode(prompt.text, ""), (65, 66), "")
            assert (row["logit_a"], row["logprob_b"], row["argmax_token"], row["n_tokens"],
                    row["prompt_sha256"]) == (score.logit_a, score.logprob_b, score.argmax_token,
                                              score.n_tokens, prompt.sha256)
    assert not table


def test_killed_worker_names_its_group_and_keeps_the_others(tmp_path, whole):
    """A worker that dies is an error with judge and group; a second run goes on from there."""
    dying = FakeJudge(fake_rung(), before=kill_at("question 2, turn 2"))
    with pytest.raises(ScoringFailed, match="scoring fake, question 2, turn 2 died .*SIGKILL"):
        table_bytes(dying, fake_groups(), tmp_path / WORK, tmp_path / "fake/other.parquet", 2)
    assert not (tmp_path / "fake/other.parquet").exists()
    kept = len(parts(tmp_path / WORK))
    assert 0 < kept < GROUPS
    assert rescored(tmp_path) == GROUPS - kept
    assert table_bytes(FakeJudge(fake_rung()), fake_groups(), tmp_path / WORK,
                       tmp_path / TABLE) == whole


def test_progress_is_told_of_every_prompt_and_token_once(tmp_path):
    """The counts given to the progress bar add up to the whole job, resumed groups included."""
    told, groups = [], fake_groups()
    judge = FakeJudge(fake_rung())
    for n_groups in (3, GROUPS):
        told.clear()
        run = score_groups(judge, groups[:n_groups], key_of(judge), tmp_path / WORK, 2,
                           lambda *counts: told.append(counts))
    assert sum(n_prompts for n_prompts, *_ in told) == sum(len(g.prompts) for g in groups)
    assert sum(n_tokens for _, n_tokens, *_ in told) == sum(run.columns["n_tokens"])
    assert {all_tokens for _, _, all_tokens, _ in told} == {sum(run.columns["n_tokens"])}
    assert [resumed for *_, resumed in told].count(True) == run.resumed_groups == 3
    assert run.tokens_computed == sum(run.columns["n_tokens"])
    assert run.option_ids == (65, 66)


DAMAGED = {
    "torn": lambda text, part: text[:-20].encode(), "empty": lambda text, part: b"",
    "not json": lambda text, part: b"nonsense", "a list": lambda text, part: b"[]",
    "another key": lambda text, part: changed_part(part, key="0" * 64),
    "binary": lambda text, part: b"\xff\xfe\x00",
    "no rows": lambda text, part: changed_part(part, group=None),
    "a row less": lambda text, part: changed_part(
        part, group={**part["group"], "rows": part["group"]["rows"][1:]}),
    "another value": lambda text, part: text.replace('"n_tokens": ', '"n_tokens": 1').encode(),
}


def changed_part(part, **changes):
    return json.dumps({**part, **changes}).encode()


@pytest.mark.parametrize("damage", DAMAGED)
def test_torn_or_foreign_part_is_scored_again(tmp_path, whole, damage):
    """A part that is torn, changed, of another key or no part at all is a miss, and is replaced."""
    rescored(tmp_path)
    path = parts(tmp_path / WORK)[3]
    text = path.read_text()
    path.write_bytes(DAMAGED[damage](text, json.loads(text)))
    assert rescored(tmp_path) == 1
    assert table_bytes(FakeJudge(fake_rung()), fake_groups(), tmp_path / WORK,
                       tmp_path / TABLE) == whole


def test_part_of_another_group_is_a_miss(tmp_path):
    """A finished group under another group's name is not taken for it."""
    rescored(tmp_path)
    first, second, *_ = parts(tmp_path / WORK)
    second.write_bytes(first.read_bytes())
    assert rescored(tmp_path) == 1


@pytest.mark.parametrize("field, value", [
    ("dtype", "bfloat16"), ("attention", "eager"), ("device", "cuda"), ("threads", 2),
    ("path", "other"), ("suffixes_per_forward", 2), ("bos", "none"),
    ("weights", replace(fake_rung().weights, revision="d" * 40)),
])
def test_changed_rung_is_another_key(field, value):
    """Weights and every setting that can change a logit are each part of the key."""
    changed = FakeJudge(fake_rung(**{field: value}))
    assert key_of(changed) != key_of(FakeJudge(fake_rung()))


def test_changed_surroundings_are_another_key():
    """Tokenizer, templates, library versions and processor are each part of the key."""
    judge = FakeJudge(fake_rung())
    keys = {key_of(judge), key_of(FakeJudge(fake_rung(), tokenizer_sha256="e" * 64)),
            key_of(judge, templates="1" * 64),
            key_of(judge, environment={"versions": {"torch": "2"}, "cpu": {"model": "x"}}),
            key_of(judge, environment={"versions": {"torch": "1"}, "cpu": {"model": "y"}})}
    assert len(keys) == 5


def test_another_engine_is_another_key(monkeypatch):
    """Groups kept from before a change of the engine are scored again."""
    before = key_of(FakeJudge(fake_rung()))
    monkeypatch.setattr("lengthmirror.scoring.ENGINE", ENGINE + 1)
    assert key_of(FakeJudge(fake_rung())) != before


def test_name_and_prose_of_a_rung_are_not_in_its_key():
    """What logits do not depend on (model name, licence, size) is no reason to score anew."""
    changed = fake_rung(model="other", family="other", licence="other", parameters=7,
                        unscored_reason="other")
    assert key_of(FakeJudge(changed)) == key_of(FakeJudge(fake_rung()))


def test_changed_key_scores_everything_anew(tmp_path):
    """Another judge in the same work folder never gets this judge's logits."""
    assert rescored(tmp_path) == GROUPS
    assert rescored(tmp_path, key="9" * 64) == GROUPS
    assert rescored(tmp_path) == 0


@pytest.mark.parametrize("change", [
    lambda: {"groups": fake_groups(changed="!")},
    lambda: {"groups": [replace(fake_groups()[0], prompts=fake_groups()[0].prompts[:2]),
                        *fake_groups()[1:]]}], ids=["text", "units"])
def test_changed_prompts_of_a_group_score_that_group_anew(tmp_path, change):
    """Another text or other units in one group are a miss for that group alone."""
    rescored(tmp_path)
    assert rescored(tmp_path, **change()) == 1


def test_other_option_tokens_score_everything_anew(tmp_path):
    """The option tokens are part of a finished group's key."""
    rescored(tmp_path)
    assert rescored(tmp_path, FakeJudge(fake_rung(), encoder=FakeEncoder((66, 65)))) == GROUPS


def test_option_tokens_that_change_with_the_prompt_are_refused(tmp_path):
    """A judge whose option tokens depend on the prompt is refused by name and prompt."""
    class Fickle(FakeEncoder):
        def option_ids(self, text):
            return (65, 66) if "('m', 'n')" in text else (65, 67)
    with pytest.raises(InvalidJudge, match=r"^fake: the option tokens after question \d, turn \d"):
        rescored(tmp_path, FakeJudge(fake_rung(), encoder=Fickle()))


@pytest.mark.parametrize("changes", [{"device": "cuda"}, {"threads": 2}])
def test_several_workers_need_one_cpu_thread_each(tmp_path, changes):
    """A rung on a GPU or with several threads runs in one worker or not at all."""
    judge = FakeJudge(fake_rung(**changes))
    with pytest.raises(InvalidJudge, match="^fake: more than one worker needs device 'cpu'"):
        score_groups(judge, fake_groups(), key_of(judge), tmp_path, 2, no_progress)
    assert not parts(tmp_path)


def test_logit_that_is_not_finite_never_reaches_a_table(tmp_path):
    """Columns with a NaN are refused when written, and a table that was there stays."""
    judge = FakeJudge(fake_rung())
    before = table_bytes(judge, fake_groups(), tmp_path / WORK, tmp_path / TABLE)
    run = score_groups(judge, fake_groups(), key_of(judge), tmp_path / WORK, 1, lambda *_: None)
    columns = {**run.columns, "logit_a": [float("nan")] * len(run.columns["logit_a"])}
    with pytest.raises(InvalidLogits, match="^fake: logit_a of question 1, turn 1"):
        write_logits(tmp_path / TABLE, columns)
    assert (tmp_path / TABLE).read_bytes() == before


@pytest.mark.parametrize("device, here", [("cpu", False), ("cuda", True)])
def test_an_accelerator_is_used_from_this_process(tmp_path, device, here):
    """A CUDA context does not survive a fork, so its groups are scored without one."""
    path = tmp_path / "pids"

    def note(unit):
        with path.open("a") as file:
            file.write(f"{os.getpid()}\n")
    judge = FakeJudge(fake_rung(device=device), note)
    score_groups(judge, fake_groups(), key_of(judge), tmp_path / WORK, 1, lambda *_: None)
    assert (str(os.getpid()) in path.read_text().split()) is here
