"""A run that is killed loses at most the groups in progress, and ends with the same bytes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from . import fake_judge
from .fake_judge import GROUPS, FakeJudge, fake_groups, fake_rung, table_bytes

PATIENCE = 60


@pytest.fixture
def start(tmp_path):
    """Starts a scoring run that never ends by itself; whatever is left of it ends with the test."""
    runs = []

    def started(n_workers):
        command = [sys.executable, fake_judge.__file__, tmp_path / "work",
                   tmp_path / "fake/killed.parquet", n_workers]
        runs.append(subprocess.Popen(list(map(str, command)), start_new_session=True,
                                     env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
                                     stderr=subprocess.PIPE))
        return runs[-1]
    yield started
    for run in runs:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def wait_for(condition, what):
    """Waits until something is so, within ``PATIENCE`` seconds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def parts(tmp_path):
    """The files of finished groups."""
    return sorted((tmp_path / "work").rglob("q*.json"))


def state_and_parent(pid):
    """State letter and parent of a process, or None when there is no such process."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)


def children(pid):
    """Process ids of a process's workers."""
    everyone = {int(path.name): state_and_parent(path.name)
                for path in Path("/proc").glob("[0-9]*")}
    return [child for child, found in everyone.items() if found and found[1] == pid]


def gone(pid):
    """True when a process has ended."""
    found = state_and_parent(pid)
    return found is None or found[0] == "Z"


def resumed(tmp_path, n_workers):
    """The table of a run that goes on from what a killed one left, and of an untouched run."""
    judge = FakeJudge(fake_rung())
    n_before = len(parts(tmp_path))
    told = []
    found = table_bytes(judge, fake_groups(), tmp_path / "work", tmp_path / "fake/resumed.parquet",
                        n_workers, lambda *counts: told.append(counts[-1]))
    assert told.count(True) == n_before
    return found, table_bytes(judge, fake_groups(), tmp_path / "fresh",
                              tmp_path / "fake/whole.parquet")


@pytest.mark.parametrize("n_finished, n_workers", [(0, 2), (1, 1), (3, 2), (5, 4)])
def test_killed_run_resumes_to_the_same_bytes(tmp_path, start, n_finished, n_workers):
    """SIGKILL of everything after some groups; the resumed table equals an uninterrupted one."""
    run = start(n_workers)
    wait_for(lambda: len(parts(tmp_path)) >= n_finished, f"{n_finished} groups")
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    assert len(parts(tmp_path)) < GROUPS and not (tmp_path / "fake/killed.parquet").exists()
    found, whole = resumed(tmp_path, 3 - min(n_workers, 2))
    assert found == whole


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_workers_end_when_the_run_is_killed(tmp_path, start):
    """SIGKILL of the waiting process ends workers in the midst of a group that never ends."""
    run = start(2)
    wait_for(lambda: len(parts(tmp_path)) == GROUPS - 2, "all groups but the endless two")
    workers = children(run.pid)
    assert len(workers) == 2
    run.kill()
    _, complaints = run.communicate(timeout=PATIENCE)
    wait_for(lambda: all(map(gone, workers)), "the workers to end")
    assert complaints == b""
    found, whole = resumed(tmp_path, 2)
    assert found == whole


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_run_reports_a_worker_killed_from_outside(tmp_path, start):
    """A worker killed by the system (out of memory, say) ends the run with its group's name."""
    run = start(2)
    wait_for(lambda: parts(tmp_path), "a group")
    os.kill(children(run.pid)[0], signal.SIGKILL)
    _, complaints = run.communicate(timeout=PATIENCE)
    assert run.returncode == 1
    assert b"the worker scoring fake, question" in complaints.splitlines()[-1]
    found, whole = resumed(tmp_path, 2)
    assert found == whole
