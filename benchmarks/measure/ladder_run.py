"""The ladder run against pytest -n auto on one empty test: what the study adds to starting."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from .progress import say
from .results import Outcome
from .settings import ROOT, Settings

EMPTY = "def test_nothing():\n    pass\n"
REPEATS = 3


def run(settings: Settings) -> Outcome:
    """Median wall time of both commands, in turn."""
    repeats = 1 if settings.quick else REPEATS
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_empty.py").write_text(EMPTY, encoding="utf-8")
        runs = [(_seconds("tests/ladder", ROOT), _seconds("test_empty.py", Path(folder)))
                for _ in range(repeats)]
    ladder, empty = (median(column) for column in zip(*runs))
    return Outcome({"ratio": ladder / empty},
                   {"seconds": {"ladder run": ladder, "one empty test": empty}, "runs": runs})


def _seconds(tests: str, folder: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p",
                           "no:cacheprovider", tests], cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"pytest {tests} failed: {done.stdout[-300:]}")
    say(f"pytest -n auto {tests}: {seconds:.1f} s")
    return seconds
