"""Two worker processes against one, on the same groups: wall time and memory."""

import os
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lengthmirror.scoring import ScoringRun, score_groups
from lengthmirror.scoring_plan import Group

from .judging import cache_bytes, encode, load_judge, registered_groups, weight_bytes
from .machine import children, in_fresh_process, proportional_bytes
from .progress import say
from .results import Outcome
from .settings import Settings

EVERY = 10    # each tenth (question_id, turn) is scored
PROMPTS = 8   # of each at most
INTERVAL = 0.5  # seconds between two readings of the memory


@dataclass(frozen=True)
class WorkerRun:
    """One run: its table, its wall time and the largest memory of all its processes together."""
    run: ScoringRun
    seconds: float
    peak: int


def run(settings: Settings) -> Outcome:
    """In a fresh process, which its workers are forked from."""
    return in_fresh_process(_measured, settings)


def _measured(settings: Settings) -> Outcome:
    """Scores the same groups with one worker and with two, each in a fresh work folder."""
    judge, _ = load_judge(settings, settings.rung)
    groups = _groups(settings)
    one, two = (_scored(judge, groups, n_workers) for n_workers in (1, 2))
    if one.run.columns != two.run.columns:
        raise RuntimeError("one and two workers gave different tables.")
    weights = weight_bytes(judge)
    longest = max(len(ids) for group in groups for ids in encode(judge, group))
    cache, extra = cache_bytes(judge, longest), two.peak - one.peak
    return Outcome(
        {"wall": two.seconds / one.seconds, "memory": extra / weights,
         "memory_without_cache": (extra - cache) / weights},
        {"seconds": {"one worker": one.seconds, "two workers": two.seconds},
         "groups": len(groups), "prompts": sum(len(group.prompts) for group in groups),
         "tokens_computed": one.run.tokens_computed, "same_table": True, "weight_bytes": weights,
         "longest_prompt": longest, "cache_bytes": cache, "peak_bytes_one_worker": one.peak,
         "peak_bytes_two_workers": two.peak})


def _groups(settings: Settings) -> list[Group]:
    groups = registered_groups(settings, lambda key: True)[::EVERY]
    if settings.quick:
        return [replace(group, prompts=group.prompts[:1]) for group in groups[:4]]
    return [replace(group, prompts=group.prompts[:PROMPTS]) for group in groups]


def _scored(judge: Any, groups: list[Group], n_workers: int) -> WorkerRun:
    with tempfile.TemporaryDirectory() as work, _Memory() as memory:
        started = time.perf_counter()
        done = score_groups(judge, groups, "benchmark", Path(work), n_workers,
                            lambda prompts, *_: say(f"{n_workers} at work: {prompts} prompts more"))
        seconds = time.perf_counter() - started
    return WorkerRun(done, seconds, memory.peak)


class _Memory:
    """Reads the proportional memory of this process and its children until it is left."""

    def __init__(self):
        self.peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        own = os.getpid()
        while not self._ended.wait(INTERVAL):
            self.peak = max(self.peak, sum(map(_memory_of, [own, *children(own)])))


def _memory_of(pid: int) -> int:
    try:
        return proportional_bytes(pid)
    except (OSError, TypeError):
        return 0  # it has just ended
