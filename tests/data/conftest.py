"""Fixtures of the data tests: the registered study and a small invented set of judgments."""

import pytest

from lengthmirror.pairs import read_pairs
from lengthmirror.study import load_study

from .small_judgments import gpt4_rows, human_rows


@pytest.fixture(scope="session")
def study(request):
    """The registered study."""
    root = request.config.rootpath
    return load_study(root / "preregistration", root / "config")


@pytest.fixture(scope="session")
def pairs(request):
    """The committed unit table."""
    return read_pairs(request.config.rootpath / "artifacts/pairs.parquet")


@pytest.fixture
def human():
    """The votes of the small judgments, free to be changed."""
    return human_rows()


@pytest.fixture
def gpt4_pair():
    """The published verdicts of the small judgments, free to be changed."""
    return gpt4_rows()
