"""Bad input to the command line: exit status 1, one sentence on stderr, nothing written or lost."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from lengthmirror.cli import main
from lengthmirror.manifest import update_manifest

from ..data.small_judgments import dataset_toml, gpt4_rows, human_rows, write_splits
from .tiny import SLUG

RUNG_LINES = ("dtype", "attention", "threads", "prompt_mode", "bos", "device", "path")


def edit(path, pattern, replacement):
    """Replaces the one match of a pattern in a text file."""
    text, count = re.subn(pattern, replacement, path.read_text(), flags=re.MULTILINE)
    assert count == 1
    path.write_text(text)


def state(folders):
    """Every file of a study with its content."""
    return {path: path.read_bytes() for path in sorted(folders.root.rglob("*")) if path.is_file()}


def fails(folders, capsys, arguments):
    """Runs a command that must fail; returns its sentence."""
    before, _ = state(folders), capsys.readouterr()
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and printed.err.endswith(".\n")
    assert printed.err.startswith("lengthmirror: ") and "Traceback" not in printed.err
    assert state(folders) == before
    return printed.err


@pytest.fixture
def refuse(small, tiny_weights, capsys):
    """Runs ``score`` or ``pairs`` on the small study and returns its one sentence."""
    def run(*more, command=("score", SLUG)):
        work = [f"--work={small.work}"] if command[0] == "score" else []
        return fails(small, capsys, [*command, *small.job_options(tiny_weights), *work, *more])
    return run


def test_unknown_rung_names_the_known_ones(refuse):
    """A rung that the configuration does not name is refused with those it names."""
    sentence = refuse(command=("score", "gpt-9"))
    assert "there is no rung 'gpt-9'" in sentence and f"it has {SLUG}" in sentence


@pytest.mark.parametrize("key", RUNG_LINES)
def test_missing_key_of_a_rung_names_rung_and_key(small, refuse, key):
    """A rung without its dtype, or any other required key, is refused by rung and key."""
    edit(small.config / "ladder.toml", rf"^{key} = .*\n", "")
    sentence = refuse()
    assert f"[[rung]] {SLUG}: the required key '{key}' is missing" in sentence


@pytest.mark.parametrize("key, value", [("dtype", '"int4"'), ("threads", "0"), ("threads", "1.5"),
                                        ("prompt_mode", '"poem"'), ("slug", '"Tiny Judge"')])
def test_impossible_value_of_a_rung_names_rung_and_key(small, refuse, key, value):
    """A value that no rung can have is refused with the key and what was got."""
    edit(small.config / "ladder.toml", rf"^{key} = .*$", f"{key} = {value}")
    assert f"'{key}'" in refuse()


def test_two_rungs_with_one_slug_are_refused(small, refuse):
    """A slug that names two rungs is refused with the slug."""
    path = small.config / "ladder.toml"
    head, rung, rest = re.split(r"(?=^\[\[rung\]\]|^\[\[ladder\]\])", path.read_text(),
                                flags=re.MULTILINE)
    path.write_text(head + rung + rung + rest)
    assert f"the slug '{SLUG}' is used twice" in refuse()


def test_tau_that_empties_a_subset_names_tau_and_counts(small, refuse):
    """A scoring tau that leaves no unit is refused with tau and both counts."""
    edit(small.registration / "decision_rule.toml", "^scoring_tau = 0.1", "scoring_tau = 0.99")
    assert "at tau 0.99 there are 0 units" in refuse()


@pytest.mark.parametrize("folder", ["registration", "config"])
def test_incomplete_registration_names_the_missing_file(small, refuse, folder):
    """A study without one of its frozen files is refused with the file's name."""
    path = sorted(getattr(small, folder).iterdir())[0]
    path.unlink()
    assert f"{path} does not exist" in refuse()


def test_missing_weights_name_rung_and_way_out(small, refuse, tmp_path, monkeypatch):
    """Weights that are neither here nor to be had are refused by the rung's name."""
    def unreachable(*_, **__):
        raise ConnectionError
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    sentence = refuse(f"--weights={tmp_path / 'nowhere'}")
    assert f"{SLUG}: invented/tiny cannot be fetched from the hub (ConnectionError)" in sentence


@pytest.mark.parametrize("content, expected", [
    (b"x" * 99, "has 99 bytes, expected 100"), (b"x" * 100, "has sha256 ")])
def test_wrong_weights_are_refused_by_size_and_digest(small, refuse, tmp_path, content, expected):
    """A truncated file and one of another content are refused before anything reads them."""
    gguf = f'format = "gguf"\nfile = "tiny.gguf"\nsha256 = "{"0" * 64}"\nbytes = 100\n[[ladder]]'
    edit(small.config / "ladder.toml", r'^format = "hub"\n(.*\n){2}\[\[ladder\]\]', gguf)
    (tmp_path / "tiny.gguf").write_bytes(content)
    assert expected in refuse(f"--weights={tmp_path}")


@pytest.mark.parametrize("command", [("score", SLUG), ("pairs",)])
def test_missing_data_names_the_file_it_wants(refuse, tmp_path, command):
    """A data folder without the judgments is refused; the hub is not asked instead."""
    sentence = refuse(f"--data={tmp_path / 'no'}", command=command)
    assert "there is no human*.parquet below" in sentence


@pytest.mark.parametrize("command", [("score", SLUG), ("pairs",)])
def test_wrong_winner_is_refused(small, refuse, command):
    """A winner that is none is refused with its question."""
    rows = human_rows()
    rows[3]["winner"] = "model_z"
    write_splits(small.data, rows, gpt4_rows())
    assert "has the unknown winner 'model_z' at question 1" in refuse(command=command)


def test_wrong_labels_are_refused(small, refuse):
    """Judgments with other labels than the registered ones are refused with both digests."""
    write_splits(small.data, human_rows(), gpt4_rows()[1:] + gpt4_rows()[2:3])
    assert "the labels of the gpt4_pair split have sha256" in refuse()


def test_corrupt_data_is_refused(small, refuse):
    """A damaged parquet file is refused by its name."""
    (small.data / "human.parquet").write_bytes(b"PAR1 and then nothing")
    assert "human.parquet cannot be read as parquet" in refuse()


def test_missing_unit_table_names_the_command_that_makes_it(small, refuse):
    """Scoring needs the unit table, and says what writes it."""
    (small.artifacts / "pairs.parquet").unlink()
    assert "does not exist; 'lengthmirror pairs' writes it" in refuse()


def test_unit_table_of_other_data_is_refused(request, small, refuse):
    """A unit table with units that the judgments do not have is refused by a unit's name."""
    shutil.copy(request.config.rootpath / "artifacts/pairs.parquet", small.artifacts)
    assert "the prompt is not the one of the unit table" in refuse()


@pytest.mark.parametrize("turn", [1, 2])
def test_unit_table_of_another_template_is_refused(small, refuse, turn):
    """After a change of template the unit table no longer fits and is refused by a unit's name."""
    path = small.registration / "prompt_templates.json"
    templates = json.loads(path.read_text())
    templates[f"turn_{turn}"] += " Please."
    path.write_text(json.dumps(templates))
    assert f"question 1, turn {turn}, heron in slot A" in refuse()


def test_other_text_with_right_labels_is_refused_with_its_unit(small, refuse):
    """Text that is not the unit table's is told loudly and then refused by a unit's name."""
    rows = human_rows() + gpt4_rows()
    for row in rows:
        for side in ("a", "b"):
            if row["question_id"] == 4:
                row[f"conversation_{side}"] = [{**message, "content": message["content"] + "!"}
                                               for message in row[f"conversation_{side}"]]
    write_splits(small.data, rows[:len(human_rows())], rows[len(human_rows()):])
    with pytest.warns(UserWarning, match="differ from the registered ones"):
        assert "question 4, turn 1, heron in slot A" in refuse()


@pytest.mark.parametrize("command", [("score", SLUG), ("pairs",)])
def test_broken_manifest_is_refused_before_the_work(small, refuse, command):
    """A manifest that cannot be read is told at once, is left alone, and no table is written."""
    (small.artifacts / "MANIFEST.json").write_text("{")
    assert "MANIFEST.json is not valid JSON" in refuse(command=command)


@pytest.mark.parametrize("option", ["output", "work"])
def test_folder_that_cannot_be_made_is_refused_before_the_work(small, refuse, option):
    """A file where a folder should be is one sentence with its path, before a judge is loaded."""
    path = small.root / "file"
    path.write_text("kept")
    assert f"{path}: File exists." in refuse(f"--{option}={path}")
    assert path.read_text() == "kept"


@pytest.mark.parametrize("trial", ["--limit-units=3", "--no-prefix-sharing"])
@pytest.mark.parametrize("where", ["none", "artifacts"])
def test_trial_never_goes_into_the_artifacts(small, refuse, where, trial):
    """A limited run, or one by another path, needs an output folder that is not the artifacts."""
    output = [f"--output={small.artifacts}/../artifacts"] if where == "artifacts" else []
    assert "folder of its own with --output" in refuse(trial, *output)


@pytest.mark.parametrize("name", ["registration", "config", "artifacts"])
@pytest.mark.parametrize("command", [("score", SLUG), ("pairs",), ("freeze",), ("verify",)])
def test_another_study_is_named_whole(small, capsys, command, name):
    """One folder of another study is refused, so that it never mixes with the project's own."""
    option = f"--{name}={getattr(small, name)}"
    sentence = fails(small, capsys, [*command, option])
    assert f"--{name} names another study; give --" in sentence


def test_logits_of_another_registration_are_not_replaced(small, refuse):
    """A table whose entry names another registration stays, whatever is scored."""
    update_manifest(small.artifacts / "MANIFEST.json", "rungs", SLUG,
                    {"registration_digest": "5" * 64})
    assert "holds logits made under another registration (555555555555)" in refuse()


def test_metric_min_with_an_empty_answer_names_the_unit(small, refuse, tiny_weights):
    """An empty answer under the metric min is refused with question, turn and models."""
    rows = human_rows() + gpt4_rows()
    for row in rows:
        for side in ("a", "b"):
            if (row["question_id"], row[f"model_{side}"]) == (2, "wren"):
                messages = [dict(message) for message in row[f"conversation_{side}"]]
                messages[1]["content"] = ""
                row[f"conversation_{side}"] = messages
    human, gpt4_pair = rows[:len(human_rows())], rows[len(human_rows()):]
    write_splits(small.data, human, gpt4_pair)
    (small.config / "dataset.toml").write_text(dataset_toml(human, gpt4_pair))
    edit(small.registration / "decision_rule.toml", '^metric = "max"', 'metric = "min"')
    assert main(["pairs", *small.job_options(tiny_weights)]) == 0
    sentence = refuse()
    assert "question 2, turn 1, heron against wren: an answer is empty" in sentence


@pytest.mark.parametrize("arguments", [
    ["score", SLUG, "--workers=0"], ["score", SLUG, "--workers=two"], ["score"],
    ["score", SLUG, "--limit-units=-1"], ["nonsense"], []])
def test_misused_command_is_explained(arguments, capsys):
    """Arguments that no command takes end with status 2 and the usage."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2 and "usage: lengthmirror" in capsys.readouterr().err


def test_a_reader_that_stops_early_gets_no_traceback(small):
    """Output into a pipe that nobody reads any more ends with status 1 and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-u", "-m", "lengthmirror", "verify",
                           *small.study_options()], stdout=writer, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    os.close(writer)
    assert done.returncode == 1 and done.stderr == ""
