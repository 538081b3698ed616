"""``lengthmirror score`` end to end with the tiny judge: one table, however it came about."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict

import pyarrow.parquet as pq
import pytest

from lengthmirror.cli import main
from lengthmirror.frozen import sha256_file
from lengthmirror.judge import Judge
from lengthmirror.manifest import check_logits_entry, read_manifest
from lengthmirror.pairs import read_pairs
from lengthmirror.scoring import ENGINE
from lengthmirror.scoring_job import Places, plan
from lengthmirror.weights import locate_weights

from .tiny import HUB, REVISION, SLUG, byte_tokenizer, save_hub_layout

N_ROWS, N_GROUPS = 82, 14  # 41 judged units in both orders; 7 questions of 2 turns
LIMIT = 40  # units of a trial run
PATIENCE = 120
# The command itself, with a group that never ends, so that it can be stopped half-way.
# A shell's background job ignores Ctrl-C, and so would all that this test run starts.
ENDLESS = ("import signal, sys, time\n"
           "from lengthmirror import cli, judge\n"
           "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
           "score = judge.Judge.score_shared\n"
           "def endless(self, prompts, options, units):\n"
           "    time.sleep(600 if units[0].startswith('question 3, turn 1,') else 0)\n"
           "    return score(self, prompts, options, units)\n"
           "judge.Judge.score_shared = endless\n"
           "sys.exit(cli.main(sys.argv[1:]))\n")


def options(folders, weights, *more):
    """Arguments of a scoring command on the small study."""
    return ["score", SLUG, *folders.job_options(weights), f"--work={folders.work}", *more]


def table(folders):
    """The path of the tiny judge's logits."""
    return folders.artifacts / SLUG / "logits.parquet"


@pytest.fixture(scope="module")
def whole(small_study_template, tiny_weights, tmp_path_factory):
    """The bytes of an uninterrupted run of ``LIMIT`` units with one worker."""
    folders = small_study_template.copy(tmp_path_factory.mktemp("whole") / "study")
    return trial(folders, tiny_weights)


def trial(folders, weights, *more):
    """Scores ``LIMIT`` units into an output folder of their own and returns the table's bytes."""
    output = folders.root / "trial"
    assert main(options(folders, weights, f"--limit-units={LIMIT}", f"--output={output}",
                        *more)) == 0
    return (output / SLUG / "logits.parquet").read_bytes()


@pytest.fixture
def endless_run(small, tiny_weights):
    """The command in a process of its own, with two workers, when some groups are done."""
    command = [sys.executable, "-c", ENDLESS, *options(
        small, tiny_weights, f"--limit-units={LIMIT}", f"--output={small.root / 'trial'}",
        "--workers=2")]
    run = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    deadline = time.monotonic() + PATIENCE
    while len(finished(small)) < 3 and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    yield run
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


def finished(folders):
    """The files of finished groups."""
    return sorted(folders.work.rglob("q*.json"))


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_same_bytes_for_any_number_of_workers(small, tiny_weights, whole, n_workers):
    """Forty units scored by one, two or four processes give one table, bit for bit."""
    assert trial(small, tiny_weights, f"--workers={n_workers}") == whole


def test_same_bytes_after_a_kill(small, tiny_weights, whole, endless_run):
    """SIGKILL of the run and its workers half-way; the same command ends with the same bytes."""
    os.killpg(endless_run.pid, signal.SIGKILL)
    endless_run.communicate(timeout=PATIENCE)
    assert 3 <= len(finished(small)) < N_GROUPS
    assert not list((small.root / "trial").rglob("*.parquet"))
    assert trial(small, tiny_weights, "--workers=2") == whole


def test_interrupt_keeps_finished_groups_and_exits_with_130(small, tiny_weights, whole,
                                                            endless_run):
    """Ctrl-C ends the run within seconds with exit status 130; finished groups are kept."""
    started = time.monotonic()
    os.killpg(endless_run.pid, signal.SIGINT)
    _, complaints = endless_run.communicate(timeout=PATIENCE)
    assert time.monotonic() - started < 60  # the group in progress would take 600
    assert endless_run.returncode == 130 and "Traceback" not in complaints
    assert complaints.splitlines()[-1].startswith("lengthmirror: interrupted; finished groups are")
    assert len(finished(small)) >= 3 and not list((small.root / "trial").rglob("*.parquet"))
    assert trial(small, tiny_weights) == whole


def test_rerun_scores_nothing_and_gives_the_same_bytes(small, tiny_weights, whole, monkeypatch):
    """A run whose groups are all finished never asks the judge and writes the same table."""
    assert trial(small, tiny_weights) == whole
    monkeypatch.setattr(Judge, "score_shared", None)
    assert trial(small, tiny_weights) == whole


def test_table_holds_both_orders_of_every_judged_unit(small, tiny_weights):
    """Every unit with a decided vote has its two rows, and a unit of ties alone has none."""
    assert main(options(small, tiny_weights, "--workers=2")) == 0
    rows = pq.read_table(table(small)).to_pylist()
    pairs = read_pairs(small.artifacts / "pairs.parquet")
    assert len(rows) == N_ROWS
    ties = pairs.votes_tie_expert + pairs.votes_tie_author == 3
    expected = {(question_id, turn, *slots)
                for question_id, turn, a, b, tied in zip(pairs.question_id, pairs.turn,
                                                         pairs.model_a, pairs.model_b, ties)
                if not tied for slots in ((a, b), (b, a))}
    assert {(row["question_id"], row["turn"], row["model_a"], row["model_b"])
            for row in rows} == expected


def test_rows_are_the_judges_own_scores(small, small_config, tiny_weights, rung):
    """The table's first and last groups equal the judge asked directly, bit for bit."""
    assert main(options(small, tiny_weights)) == 0
    rows = pq.read_table(table(small)).to_pylist()
    judge = Judge(rung, locate_weights(rung, tiny_weights, False), small_config.templates)
    groups, _ = plan(small_config, Places(small.artifacts, tiny_weights, small.data))
    first, last = groups[0], groups[-1]
    for group, of_group in ((first, rows[:len(first.prompts)]), (last, rows[-len(last.prompts):])):
        ids = [judge.encoder.encode(prompt.text, "u") for prompt in group.prompts]
        scores, _ = judge.score_shared(ids, judge.encoder.option_ids(group.prompts[0].text),
                                       ["u"] * len(ids))
        for prompt, score, row in zip(group.prompts, scores, of_group, strict=True):
            assert row | asdict(score) == row and row["prompt_sha256"] == prompt.sha256
            assert (row["model_a"], row["model_b"]) == (prompt.slot_a, prompt.slot_b)


def test_sharded_repository_gives_the_same_bytes(small, tiny_model, tmp_path, whole):
    """A hub repository of several safetensors files is scored like one of a single file."""
    folder = save_hub_layout(tmp_path / "weights" / SLUG, tiny_model, byte_tokenizer(), "20KB")
    assert (folder / "model.safetensors.index.json").exists()
    assert len(list(folder.glob("*.safetensors"))) > 1
    assert trial(small, tmp_path / "weights", "--workers=2") == whole


def test_manifest_says_what_the_table_is(small, small_config, tiny_weights):
    """The entry holds the table's digest and all its logits depend on, and passes its check."""
    assert main(options(small, tiny_weights)) == 0
    manifest = read_manifest(small.artifacts / "MANIFEST.json")
    entry = check_logits_entry(manifest, small_config, small_config.rungs[SLUG], table(small))
    assert entry["table_sha256"] == sha256_file(table(small)) and entry["n_rows"] == N_ROWS
    assert entry["weights"] == {"hub": HUB, "revision": REVISION}
    assert entry["registration_digest"] == small_config.digest
    assert entry["content_matches"] == {"human": True, "gpt4_pair": True}
    assert set(entry["versions"]) >= {"torch", "transformers", "python"}
    assert {"model", "instruction_set"} <= set(entry["cpu"])
    assert entry["prompt_tokens"] > entry["tokens_computed"] > N_ROWS
    assert entry["path"] == "shared_prefix" and entry["engine"] == ENGINE
    assert len(set(entry["option_ids"])) == 2 and entry["wall_seconds"] > 0
    assert json.dumps(entry)  # plain values alone


def test_progress_is_told_on_stderr(small, tiny_weights, capsys):
    """The bar shows the judge, prompts done of all, tokens per second; stdout names the table."""
    assert main(options(small, tiny_weights)) == 0
    printed = capsys.readouterr()
    assert f"{SLUG}: 100%" in printed.err and f"{N_ROWS}/{N_ROWS} prompts" in printed.err
    assert "tokens/s" in printed.err
    assert printed.out.startswith(f"{table(small)}: written; mean option mass 0.")
    assert f" of {N_ROWS} orderings, 0 exact ties\n" in printed.out
