"""Worker processes: every task once, errors passed on, a dead worker reported with its task."""

import os
import signal
import threading
import time
import warnings

import pytest

from lengthmirror.errors import InvalidJudge, LengthMirrorError, ScoringFailed
from lengthmirror.workers import run_tasks


class Unsendable:
    """A task that must reach the worker by the fork, such as a loaded model."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        raise TypeError("a task may not be copied to the worker")


def run(tasks, work, n_workers, on_done=lambda task, result: None):
    """Runs tasks that are named by their own text."""
    run_tasks(tasks, work, n_workers, on_done, lambda task: f"task {task}")


@pytest.mark.parametrize("n_workers", [1, 2, 3, 50])
def test_every_task_is_done_once_whatever_the_number_of_workers(n_workers):
    """Each task's result comes back once, with its own task, for fewer or more workers."""
    done = []
    run(range(20), lambda task: task * task, n_workers, lambda *pair: done.append(pair))
    assert sorted(done) == [(number, number * number) for number in range(20)]


def test_no_tasks_start_no_process():
    """Nothing to do ends at once; a fully resumed run is this case."""
    run([], lambda task: os.abort(), 2)


def test_work_runs_in_another_process():
    """A task never runs in the process that waits for it."""
    processes = []
    run(range(4), lambda task: os.getpid(), 2, lambda task, pid: processes.append(pid))
    assert os.getpid() not in processes and len(set(processes)) <= 2


def test_tasks_reach_workers_without_being_copied():
    """A task (which holds the whole model) is inherited by the fork and never serialised."""
    done = []
    run_tasks([Unsendable(1), Unsendable(2)], lambda task: task.number, 2,
              lambda task, number: done.append(number), lambda task: str(task.number))
    assert sorted(done) == [1, 2]


def test_error_of_a_task_is_passed_on_as_it_is():
    """A LengthMirrorError of a worker arrives with its type and its one sentence."""
    def work(task):
        raise InvalidJudge("tiny: not a judge.")
    with pytest.raises(InvalidJudge, match=r"^tiny: not a judge\.$"):
        run(range(3), work, 2)


@pytest.mark.parametrize("n_workers", [0, 1, 2])
def test_error_of_the_system_names_its_task(n_workers):
    """A full disk, say, is one sentence with the task, and not a worker that died."""
    def work(task):
        raise OSError(28, "No space left on device", "q001-t1.json")
    with pytest.raises(ScoringFailed, match=r"^scoring task 0 failed \(OSError: .*No space left on "
                                            r"device: 'q001-t1.json'\); finished groups are kept"):
        run(range(1), work, n_workers)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_killed_worker_is_reported_with_its_task(n_workers):
    """A worker that is killed ends the run with the task it held and the signal."""
    def work(task):
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(ScoringFailed, match=r"scoring task 3 died \(killed by SIGKILL\)"):
        run(range(6), work, n_workers)


def test_worker_killed_while_it_waits_is_reported_too():
    """A worker that dies between two tasks is reported with the task it is given next."""
    def killed(task, pid):
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
    with pytest.raises(ScoringFailed, match=r"scoring task \d died \(killed by SIGKILL\)"):
        run(range(3), lambda task: os.getpid(), 1, killed)


def test_crashing_worker_is_reported_with_its_exit_status(capfd):
    """An error that no one foresaw ends the run too; the worker's own message is on stderr."""
    def work(task):
        raise ZeroDivisionError("unforeseen")
    with pytest.raises(ScoringFailed, match=r"scoring task 0 died \(exit status 1\)"):
        run(range(2), work, 1)
    assert "unforeseen" in capfd.readouterr().err


def test_other_workers_are_stopped_when_one_fails():
    """No process is left computing after an error."""
    processes = []

    def work(task):
        if task == "fails":
            raise LengthMirrorError("enough.")
        if task == "waits":
            time.sleep(60)
        return os.getpid()
    started = time.monotonic()
    with pytest.raises(LengthMirrorError, match="enough"):
        run(["quick", "waits", "fails"], work, 2, lambda task, pid: processes.append(pid))
    assert time.monotonic() - started < 30
    for pid in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_interrupt_stops_the_workers():
    """A keyboard interrupt of the waiting process reaches the caller and leaves no worker."""
    processes = []

    def interrupt(task, pid):
        processes.append(pid)
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run(range(5), lambda task: os.getpid(), 2, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)


def test_fork_beside_another_thread_gives_no_warning():
    """Python's warning about forking beside threads (a progress bar has one) is not the user's."""
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(range(2), lambda task: task, 1)
    finally:
        release.set()
        thread.join()
    assert not caught
