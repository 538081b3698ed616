"""Worker processes that share the parent's memory by fork; a dead one is reported with its task."""

import gc
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import LengthMirrorError, ScoringFailed


class _Worker:
    """One child process, the pipe to it, and the number of the task it holds."""

    def __init__(self, context: Any, work: Callable[[Any], Any], tasks: Sequence[Any],
                 name: Callable[[Any], str], others: Sequence["_Worker"]):
        self.pipe, child_end = context.Pipe()
        parent_ends = [self.pipe, *(worker.pipe for worker in others)]
        self.process = context.Process(target=_serve, daemon=True,
                                       args=(child_end, parent_ends, tasks, work, name))
        with warnings.catch_warnings():
            # Python 3.12 warns of any fork beside other threads. The child only runs ``work``,
            # which takes no lock that a thread of the parent (a progress bar, say) may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        child_end.close()
        self.number = -1

    def give(self, number: int) -> None:
        self.number = number
        try:
            self.pipe.send(number)
        except OSError:
            pass  # it is dead, which receiving its answer reports

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def run_tasks(tasks: Iterable[Any], work: Callable[[Any], Any], n_workers: int,
              on_done: Callable[[Any, Any], None], name: Callable[[Any], str]) -> None:
    """Runs ``work(task)`` for every task, each in one of ``n_workers`` forked processes.

    Tasks reach the children by the fork and are never copied or sent; only results are.

    Args:
        tasks: given out in this order.
        work: called in a child; what it returns must be picklable.
        n_workers: 0 works in this process, for a device whose state does not survive a fork.
        on_done: called here with (task, result) as results arrive, in any order.
        name: how an error names a task.

    Raises:
        ScoringFailed: a worker died, or ``work`` met an error of the system or of the model; the
            others are stopped first.
        LengthMirrorError: raised by ``work``, passed on.
    """
    tasks = list(tasks)
    if n_workers == 0:
        for task in tasks:
            on_done(task, _answer(_attempt(task, work, name)))
        return
    waiting = list(reversed(range(len(tasks))))
    context = multiprocessing.get_context("fork")
    workers: list[_Worker] = []
    gc.collect()
    gc.freeze()  # a collection in a child would write to, and so copy, every page of objects
    try:
        for _ in range(min(n_workers, len(tasks))):
            workers.append(_Worker(context, work, tasks, name, workers))
        busy = [worker for worker in workers if _give_next(worker, waiting)]
        while busy:
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                task = tasks[worker.number]
                on_done(task, _receive(worker, name(task)))
                if not _give_next(worker, waiting):
                    busy.remove(worker)
    finally:
        gc.unfreeze()
        for worker in workers:
            worker.stop()


def _give_next(worker: _Worker, waiting: list[int]) -> bool:
    if waiting:
        worker.give(waiting.pop())
        return True
    return False


def _receive(worker: _Worker, task_name: str) -> Any:
    try:
        answer = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        raise ScoringFailed(
            f"the worker scoring {task_name} died ({_exit(worker.process.exitcode)}); "
            "finished groups are kept, run the same command again to go on.") from None
    return _answer(answer)


def _answer(answer: tuple[bool, Any]) -> Any:
    failed, result = answer
    if failed:
        raise result
    return result


def _exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def _serve(pipe: Connection, parent_ends: Sequence[Connection], tasks: Sequence[Any],
           work: Callable[[Any], Any], name: Callable[[Any], str]) -> None:
    """Works until the parent stops asking, or is gone: then a task in progress is given up.

    The fork gave this child copies of the parent's ends of the pipes; with one of them open, the
    end of the parent would never be seen.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for parent_end in parent_ends:
        parent_end.close()
    while True:
        try:
            task = tasks[pipe.recv()]
        except (EOFError, OSError):
            return
        try:
            pipe.send(_attempt(task, work, name))
        except OSError:
            return


def _attempt(task: Any, work: Callable[[Any], Any],
             name: Callable[[Any], str]) -> tuple[bool, Any]:
    """Whether the work failed, and its result or the error to raise where it is waited for."""
    try:
        return False, work(task)
    except LengthMirrorError as error:
        return True, error
    except (OSError, MemoryError, RuntimeError) as error:  # a full disk, or the model's own
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return True, ScoringFailed(f"scoring {name(task)} failed ({reason}); finished groups are "
                                   "kept.")


def _end_with_parent() -> None:
    wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
