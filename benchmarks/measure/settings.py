"""What every benchmark is told, and where the study lies."""

from dataclasses import dataclass
from pathlib import Path

from lengthmirror.study import Study, load_study

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Settings:
    """``quick``: a few prompts and one repetition, to try the commands; its numbers mean nothing.

    ``rung`` is the slug of the judge that the scoring benchmarks load.
    """
    data: Path
    weights: Path
    rung: str
    quick: bool


def study() -> Study:
    """The registered study of this repository."""
    return load_study(ROOT / "preregistration", ROOT / "config")
