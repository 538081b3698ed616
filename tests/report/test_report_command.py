"""``lengthmirror report`` on the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

from lengthmirror.cli import main

from .documents import MANY, written

LIBRARIES = ("matplotlib", "jinja2", "jsonschema")


def needs_the_extra():
    for library in LIBRARIES:
        pytest.importorskip(library, reason="the report needs the extra 'report'")


def test_the_command_writes_the_page_and_says_where(tmp_path, capsys):
    """Each file that was written is printed, the page first."""
    needs_the_extra()
    ladder = written(tmp_path / "in", MANY)
    assert main(["report", "--ladder", str(ladder), "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == str(tmp_path / "out" / "index.html")
    assert {Path(line).name for line in printed} >= {"figure-gap.svg", "figure-subsets.svg"}
    assert all(Path(line).exists() for line in printed)


def test_a_missing_ladder_is_one_sentence(tmp_path, capsys):
    """Exit status 1, nothing written, and the command that makes the file."""
    needs_the_extra()
    arguments = ["report", "--ladder", str(tmp_path / "no.json"), "--output", str(tmp_path / "out")]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("lengthmirror: ") and error.count("\n") == 1
    assert "--ladder-json" in error and not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_one_sentence(tmp_path, capsys):
    """A folder that cannot be made is named."""
    needs_the_extra()
    ladder, output = written(tmp_path / "in", MANY), written(tmp_path, "a file", "out")
    assert main(["report", "--ladder", str(ladder), "--output", str(output)]) == 1
    error = capsys.readouterr().err
    assert f"cannot be written to {output}" in error and error.count("\n") == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_the_extra_the_command_says_how_to_get_it(library, tmp_path, monkeypatch, capsys):
    """One sentence with the missing package and the command that installs it."""
    for name in [name for name in sys.modules if name.startswith(("lengthmirror.report_",
                                                                  "lengthmirror.figure_",
                                                                  "lengthmirror.label_"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["report", "--ladder", str(written(tmp_path, MANY))]) == 1
    error = capsys.readouterr().err
    assert f"needs the extra 'report' ({library} is missing)" in error
    assert "pip install 'lengthmirror[report]'" in error


def test_nothing_else_loads_the_drawing_libraries():
    """The command line, the plugin and the statistics import neither matplotlib nor jinja2."""
    code = ("import sys, lengthmirror.cli, lengthmirror.pytest_plugin, lengthmirror.scale; "
            f"print([name for name in {LIBRARIES} if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
