"""Data and weights that a machine may hold; where it does not, the test is skipped."""

import os
from functools import cache
from pathlib import Path

import pytest

from lengthmirror.dataset import load_judgments
from lengthmirror.ladder import Rung
from lengthmirror.study import load_study
from lengthmirror.weights import check_file


def judgments_folder(root: Path) -> Path:
    """A folder with the published judgments: $LENGTHMIRROR_DATA, or beside the project."""
    named = os.environ.get("LENGTHMIRROR_DATA")
    folder = Path(named) if named else root.parent / "shared/data/mt_bench_human_judgments"
    if not any(folder.rglob("human*.parquet")):
        pytest.skip("the MT-Bench judgments are not on this machine (set LENGTHMIRROR_DATA).")
    return folder


@cache
def conversations(root: Path) -> dict[tuple[int, str], list[str]]:
    """The published conversations, read once per process from ``judgments_folder``."""
    study = load_study(root / "preregistration", root / "config")
    return load_judgments(study.dataset, judgments_folder(root)).conversations()


def weights_folder(root: Path, rung: Rung) -> Path:
    """The folder that holds a rung's GGUF file: $LENGTHMIRROR_WEIGHTS, or the project's own."""
    folder = Path(os.environ.get("LENGTHMIRROR_WEIGHTS", root / ".lengthmirror/weights"))
    path = folder / rung.weights.file
    if not path.exists():
        pytest.skip(f"the weights of {rung.slug} are not on this machine (set "
                    "LENGTHMIRROR_WEIGHTS).")
    check_file(rung, path)
    return folder
