"""README.md says what the project does, and nothing that a command would not."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from lengthmirror.analysis import not_run_row
from lengthmirror.cli import parse
from lengthmirror.inputs import BESIDE_RUNGS
from lengthmirror.ladder_report import table_lines
from lengthmirror.ladder_session import LadderOptions, LadderSession

from ..report.documents import known_numbers, texts_of
from ..report.page_reader import numbers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANSWER = README.partition("\n## The answer\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^(<!-- ci -->\n)? *```(\w*)\n(.*?)^ *```$", README,
                    flags=re.MULTILINE | re.DOTALL)
STUDY = re.search(r'STUDY="(.*)"', README)[1]
SHELL = [line.strip().replace("$STUDY", STUDY) for _, language, text in BLOCKS
         if language == "sh" for line in text.splitlines()]
SPANS = [span.replace("$STUDY", STUDY)
         for span in re.findall(r"`(lengthmirror [a-z][^`]*)`", README)]


@pytest.fixture(scope="module")
def session():
    """The project's own study."""
    return LadderSession(LadderOptions(ROOT / "preregistration", ROOT / "config",
                                       ROOT / "artifacts", own=True))


@pytest.fixture(scope="module")
def rows(session):
    """The rows of ladder.json."""
    found = [session.row(slug) if session.inputs.has_logits(slug)
             else not_run_row(session.inputs, slug) for slug in session.study.rungs]
    return found + [session.row(name) for name in BESIDE_RUNGS]


@pytest.fixture(scope="module")
def ladders(session):
    """The rows of ladder.json across sizes."""
    return [session.scale_row(name) for name in session.study.ladders]


def test_the_result_table_is_what_the_committed_artifacts_give(rows):
    """The table in README.md is the one that the ladder prints, to the character."""
    assert "```text\n" + "\n".join(table_lines(rows)) + "\n```" in README


def test_the_answer_speaks_of_every_scored_judge_and_ladder(rows, ladders):
    """Each judge stands with its class, G and interval, primary and order-debiased."""
    for row in rows:
        if row["status"] != "scored":
            continue
        line = next(line for line in ANSWER.splitlines() if line.startswith(f"| {row['rung']} "))
        for section in (row, row["order_debiased"]):
            low, high = section["gap"]["ci95"]
            assert section["class"] in line
            assert f"{section['gap']['estimate']:.3f} [{low:.3f}, {high:.3f}]" in line
        shares = (row["position_consistency"]["estimate"], row["slot_a_share"],
                  row["option_mass"]["mean"])
        assert f" | {' | '.join(f'{share:.3f}' for share in shares)} | " in line
    for row in ladders:
        assert f"`{row['ladder']}`" in ANSWER and (
            row["status"] != "scored" or row["outcome"] in ANSWER)


def test_every_number_of_the_answer_is_one_of_the_ladder(rows, ladders):
    """What the answer says in words has no number that ladder.json lacks."""
    known = known_numbers([*rows, *ladders])
    text = re.sub(r"`[^`]*`", "", ANSWER)
    for row in rows:
        text = text.replace(row["rung"], "")
    decimals = [found for found in numbers(text) if "." in found]
    assert len(decimals) > 20
    for found in decimals:
        assert found in texts_of(known, len(found.partition(".")[2])), found


def test_continuous_integration_runs_both_commands_as_written():
    """The script of .ci/ takes its commands from README.md, the two main ones first."""
    marked = [text.strip() for mark, language, text in BLOCKS if mark]
    assert "pytest -n auto tests/ladder --junitxml=reports/ladder.xml" in marked[0]
    assert marked[1].endswith("python -m pytest -n auto")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    extract = re.search(r"commands=\$\((awk .*?)\)\n", script, flags=re.DOTALL)[1]
    found = subprocess.run(["bash", "-c", extract], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout
    assert found.strip().splitlines() == [line for text in marked for line in text.splitlines()]


@pytest.mark.parametrize("command", dict.fromkeys(
    [line for line in SHELL if line.startswith("lengthmirror ")]
    + [span for span in SPANS if "<" not in span]))
def test_every_command_in_the_readme_is_understood(command):
    """A command shown in README.md is one that the command line accepts."""
    words = shlex.split(command.replace("...", ""))[1:]
    assert parse(words).command


def test_every_command_of_the_command_line_is_in_the_readme():
    """README.md shows each command at least once."""
    shown = {words.split()[1] for words in SHELL + SPANS if words.startswith("lengthmirror ")}
    assert shown >= {"pairs", "fetch", "score", "freeze", "verify", "sensitivity",
                     "report"}
