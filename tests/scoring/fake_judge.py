"""A judge without a model: integer logits from a hash of the prompt's tokens.

Run as a program, ``fake_judge.py WORK_FOLDER TABLE WORKERS``, it scores all but the groups of
question 1, which come last and never end, so that it can be killed at any moment.
"""

import datetime
import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lengthmirror.ladder import Rung, Weights
from lengthmirror.logit_table import write_logits
from lengthmirror.prompts import prompt_sha256
from lengthmirror.scoring import judge_key, score_groups
from lengthmirror.scoring_plan import Group, Prompt, PromptScore

GROUPS = 8
ENVIRONMENT = {"versions": {"torch": "1"}, "cpu": {"model": "x"}}
TEMPLATES = "0" * 64
KINDS = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)]


class FakeEncoder:
    """One token per byte of the prompt."""

    def __init__(self, options: tuple[int, int] = (65, 66)):
        self.options = options

    def encode(self, text: str, unit: str) -> list[int]:
        return list(text.encode("utf-8"))

    def option_ids(self, text: str) -> tuple[int, int]:
        return self.options


class FakeJudge:
    """Scores by hashing; ``before`` is called with every prompt's name."""

    def __init__(self, rung: Rung, before: Callable[[str], None] = lambda unit: None,
                 encoder: FakeEncoder | None = None, tokenizer_sha256: str = "f" * 64):
        self.rung, self.encoder, self._before = rung, encoder or FakeEncoder(), before
        self.tokenizer_sha256 = tokenizer_sha256
        self.calls = 0

    def score(self, ids: list[int], option_ids: tuple[int, int], unit: str) -> PromptScore:
        self.calls += 1
        self._before(unit)
        digest = hashlib.sha256(repr((ids, option_ids, self.rung.dtype)).encode()).digest()
        logits = [float(byte) for byte in digest[:2]]
        log_probabilities = [logit - max(logits) - 1 for logit in logits]
        return PromptScore(len(ids), *logits, *log_probabilities, digest[4])


def fake_rung(**changes) -> Rung:
    weights = Weights("hub", None, None, None, "invented/fake", "c" * 40, None)
    rung = Rung("fake", "fake", "fake", 1, 1, "chat", "template", "float32", "sdpa", "cpu", 1,
                "from_scratch", "Apache-2.0", None, weights, datetime.date(2020, 2, 3))
    return replace(rung, **changes)


def fake_groups(n_groups: int = GROUPS, changed: str = "") -> list[Group]:
    """Groups of four prompts; ``changed`` is appended to the prompts of the first one."""
    groups = []
    for number, (question_id, turn) in enumerate(KINDS[:n_groups]):
        prompts = []
        for slots in (("m", "n"), ("m", "o"), ("n", "m"), ("o", "m")):
            text = f"{question_id} {turn} {slots}" + (changed if number == 0 else "")
            prompts.append(Prompt(*slots, text * (1 + number), prompt_sha256(text)))
        groups.append(Group(question_id, turn, tuple(prompts)))
    return groups


def no_progress(n_prompts: int, n_tokens: int, all_tokens: int, resumed: bool) -> None:
    """Takes the place of a progress bar."""


def key_of(judge: FakeJudge, templates: str = TEMPLATES, environment=None) -> str:
    return judge_key(judge, templates, environment or ENVIRONMENT)


def table_bytes(judge: FakeJudge, groups: list[Group], work: Path, table: Path,
                n_workers: int = 1, progress=no_progress) -> bytes:
    """Scores the groups and returns the bytes of the logits table."""
    run = score_groups(judge, groups, key_of(judge), work, n_workers, progress)
    write_logits(table, run.columns)
    return table.read_bytes()


def kill_at(unit_start: str) -> Callable[[str], None]:
    """A ``before`` that kills its own process at the first prompt of a group."""
    def before(unit: str) -> None:
        if unit.startswith(unit_start):
            os.kill(os.getpid(), signal.SIGKILL)
    return before


def stall(unit: str) -> None:
    """A ``before`` that takes a moment, and for ever at question 1."""
    time.sleep(600 if unit.startswith("question 1,") else 0.02)


if __name__ == "__main__":
    work_dir, table_path, workers = sys.argv[1:]
    table_bytes(FakeJudge(fake_rung(), before=stall), fake_groups(), Path(work_dir),
                Path(table_path), int(workers))
