"""Worker processes that share the parent's memory by fork; a dead one is reported with its task."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import LengthMirrorError, ScoringFailed


class _Worker:
    """One child process, the pipe to it, and the task it holds."""

    def __init__(self, context: Any, work: Callable[[Any], Any]):
        self.pipe, child_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(child_end, work), daemon=True)
        self.process.start()
        child_end.close()
        self.task: Any = None

    def give(self, task: Any) -> None:
        self.task = task
        self.pipe.send(task)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def run_tasks(tasks: Iterable[Any], work: Callable[[Any], Any], n_workers: int,
              on_done: Callable[[Any, Any], None], name: Callable[[Any], str]) -> None:
    """Runs ``work(task)`` for every task, each in one of ``n_workers`` forked processes.

    Args:
        tasks: given out in this order.
        work: called in a child; what it returns must be picklable.
        n_workers: at least 1.
        on_done: called here with (task, result) as results arrive, in any order.
        name: how an error names a task.

    Raises:
        ScoringFailed: a worker died; the others are stopped first.
        LengthMirrorError: raised by ``work``, passed on.
    """
    waiting = list(reversed(list(tasks)))
    context = multiprocessing.get_context("fork")
    workers = [_Worker(context, work) for _ in range(min(n_workers, len(waiting)))]
    try:
        busy = [worker for worker in workers if _give_next(worker, waiting)]
        while busy:
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                task, result = worker.task, _receive(worker, name)
                on_done(task, result)
                if not _give_next(worker, waiting):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.stop()


def _give_next(worker: _Worker, waiting: list) -> bool:
    if waiting:
        worker.give(waiting.pop())
        return True
    return False


def _receive(worker: _Worker, name: Callable[[Any], str]) -> Any:
    try:
        failed, result = worker.pipe.recv()
    except EOFError:
        worker.process.join()
        raise ScoringFailed(
            f"the worker scoring {name(worker.task)} died ({_exit(worker.process.exitcode)}); "
            "finished groups are kept, run the same command again to go on.") from None
    if failed:
        raise result
    return result


def _exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((False, work(task)))
        except LengthMirrorError as error:
            pipe.send((True, error))
