"""The command: which benchmarks there are, which share a process, what README.md says of them."""

import json
import re
from pathlib import Path

import pytest

from measure import command, table
from measure.results import Outcome, Skipped
from measure.targets import COMPARED, MEASURES

FOLDER = Path(__file__).parents[2] / "benchmarks"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_scoring_benchmarks_share_a_process_and_the_others_do_not():
    """What is compared with the scorer is timed beside it; the rest runs alone."""
    assert command.parts(["workers", "flops", "bootstrap", "lm_eval"]) == [
        ["lm_eval", "flops"], ["workers"], ["bootstrap"]]
    assert sorted(sum(command.parts(list(MEASURES)), [])) == sorted(MEASURES)


def test_every_benchmark_can_be_run():
    """Each benchmark with targets has a runner, in the shared process or alone."""
    assert {*COMPARED, *command.ALONE} == set(MEASURES)


def test_an_unknown_benchmark_is_refused(capsys):
    """A name that is none is an error that lists the names."""
    with pytest.raises(SystemExit):
        command.parse(["--data", "somewhere", "--only", "speed"])
    assert "plain_loop" in capsys.readouterr().err


def test_the_folder_of_the_judgments_is_needed(capsys, monkeypatch):
    """Without data the command says which option names them."""
    monkeypatch.delenv("LENGTHMIRROR_DATA", raising=False)
    with pytest.raises(SystemExit):
        command.parse([])
    assert "--data names the folder of the judgments." in capsys.readouterr().err


@pytest.fixture(name="stubbed")
def stubbed_benchmarks(monkeypatch, tmp_path):
    """The command with two benchmarks that measure nothing, and a folder for its results."""
    facts = {"processor": "p", "instruction_set": "i", "cores": 2, "memory_gb": 8.0, "load": 0.0,
             "versions": {}}
    monkeypatch.setattr(command.machine, "facts", lambda: facts)
    monkeypatch.setattr(command, "outcomes", lambda settings, names: {
        "bootstrap": {"bootstrap": Outcome({"drawn": 0.01})},
        "ladder_run": {"ladder_run": Skipped("no pytest.")}}[names[0]])

    def run(*arguments):
        return command.main(["--data", str(tmp_path), "--only", "bootstrap", "ladder_run",
                             *arguments])
    return run


def test_a_run_writes_results_and_prints_the_table(stubbed, tmp_path, capsys):
    """The JSON has an entry for each benchmark, skipped ones too, and the table is printed."""
    path = tmp_path / "results.json"
    assert stubbed("--json", str(path)) == 0
    entries = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    assert [entries["bootstrap"]["status"], entries["ladder_run"]["status"]] == [
        "measured", "skipped"]
    assert capsys.readouterr().out.strip() == path.with_suffix(".md").read_text("utf-8").strip()


def test_a_trial_leaves_the_results_alone(stubbed, monkeypatch, tmp_path):
    """Without --json a trial writes nothing."""
    monkeypatch.setattr(command, "write", lambda *_: pytest.fail("a trial wrote results"))
    assert stubbed("--quick") == 0


def test_readme_names_every_benchmark_and_shows_the_results():
    """Each name of --only is explained, and the table is the one of the committed results."""
    explained = set(re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE))
    assert explained == set(MEASURES)
    shown = README.split(table.BEGIN)[1].split(table.END)[0]
    path = FOLDER / "results.json"
    expected = table.render(command.results.read(path)) if path.exists() else ""
    assert shown.strip() == expected.strip()
