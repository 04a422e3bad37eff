"""Work in other processes: a pool of workers that run tasks, and a child process that exchanges messages.

Both work on Windows, macOS and Linux. Workers are forked from a server process that has imported the modules and has no
threads, where that is possible; elsewhere they are spawned.
"""

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Self, TypeVar, cast

from bagwise.core import loading
from bagwise.core.errors import BagwiseError

POLL_SECONDS = 1.0
AHEAD = 16
"""Tasks of each worker that may be done before the one whose result is next in order: what waits is bounded."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Sent = TypeVar("Sent")
Received = TypeVar("Received")


class WorkerCrashed(BagwiseError):
    """A worker process ended while it ran a task; `how` it did."""

    def __init__(self, task: object, how: str) -> None:
        self.how = how
        super().__init__(f"A worker process {how} while it ran {task}: there may be too little memory. Retry.")


class TaskTimeout(BagwiseError):
    """A task took longer than it may; its worker was killed."""

    def __init__(self, task: object, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{task} takes more than {seconds:.0f} seconds.")


class RemoteTraceback(Exception):
    """The cause of an error in a worker process: its traceback in that process, as text."""

    def __str__(self) -> str:
        return f"in a worker process:\n{self.args[0]}"


class WorkerPool(Generic[Task, Result]):
    """Worker processes that run tasks; use it in a `with` statement.

    A worker whose process ends in a task is replaced. When the pool is left, by an interrupt too, workers that run a
    task are killed; when the process of the pool is killed, its workers end by themselves.

    Parameters
    ----------
    work
        Called with a task in a worker, and returns its result; a function of a module, or another object that can be
        pickled. With `on_progress`, it is called with a task and with a function that reports progress.
    processes
        Number of workers.
    setup
        Called once in every worker, before its first task.
    timeout
        Seconds that a task may take; None for any time.
    on_failure
        Called with a task and with `WorkerCrashed` or `TaskTimeout`, and returns the result of the task. By default the
        error is raised. Errors that `work` raises are always raised.
    on_progress
        Called with every number that `work` reports.

    Examples
    --------
    >>> with WorkerPool(len, processes=2) as pool:
    ...     list(pool.in_order(["a", "bcd", ""]))
    [1, 3, 0]
    """

    def __init__(
        self,
        work: Callable[..., Result],
        processes: int,
        setup: Callable[[], None] | None = None,
        timeout: float | None = None,
        on_failure: Callable[[Task, WorkerCrashed | TaskTimeout], Result] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        self._timeout, self._on_failure, self._on_progress = timeout, on_failure, on_progress
        self._arguments = work, setup, on_progress is not None
        self._workers: list[_Worker] = [_Worker(self._arguments) for _ in range(processes)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()

    def as_completed(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield (position of the task, result) as tasks complete."""
        return self._completed(tasks, len(tasks))

    def in_order(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks; only some tasks ahead of the next result are started."""
        waiting: dict[int, Result] = {}
        following = 0
        for number, result in self._completed(tasks, AHEAD * len(self._workers)):
            waiting[number] = result
            while following in waiting:
                yield waiting.pop(following)
                following += 1

    def _completed(self, tasks: Sequence[Task], ahead: int) -> Iterator[tuple[int, Result]]:
        """Run the tasks; none is started that is `ahead` or more of the first that is not done."""
        started = first = 0
        done = set[int]()
        while first < len(tasks):
            for worker in self._workers:
                if worker.task is None and started < min(len(tasks), first + ahead):
                    worker.start(started, tasks[started], self._timeout)
                    started += 1
            for worker in self._ready():
                finished = self._receive(worker, tasks)
                if finished is not None:
                    done.add(finished[0])
                    yield finished
            while first in done:
                done.remove(first)
                first += 1

    def _ready(self) -> list["_Worker"]:
        """Workers that sent something or ended; those that run for too long are killed."""
        busy = [worker for worker in self._workers if worker.task is not None]
        found = wait([worker.pipe for worker in busy], None if self._timeout is None else POLL_SECONDS)
        for worker in busy:
            if worker.pipe not in found and worker.is_late:
                worker.kill()
        return [worker for worker in busy if worker.pipe in found]

    def _receive(self, worker: "_Worker", tasks: Sequence[Task]) -> tuple[int, Result] | None:
        """The result of a worker, if it sent that; None where it sent progress."""
        number = cast("int", worker.task)
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError) as error:
            failure = self._failure(worker, tasks[number])
            if self._on_failure is None:
                raise failure from error
            worker.stop()
            self._workers[self._workers.index(worker)] = _Worker(self._arguments)
            return number, self._on_failure(tasks[number], failure)
        if kind == _PROGRESS:
            if self._on_progress is not None:
                self._on_progress(content)
            return None
        worker.task = None
        if kind == _ERROR:
            raised, where = content
            raise raised from RemoteTraceback(where)
        return number, content

    def _failure(self, worker: "_Worker", task: Task) -> WorkerCrashed | TaskTimeout:
        if self._timeout is not None and worker.is_late:
            return TaskTimeout(task, self._timeout)
        return WorkerCrashed(task, worker.how_it_ended())


_PROGRESS, _RESULT, _ERROR = "progress", "result", "error"


class _Worker:
    """A worker process, and the position of the task that it runs."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        context: Any = multiprocessing.get_context(_start_method())
        if _start_method() == "forkserver":
            context.set_forkserver_preload(["__main__", arguments[0].__module__])
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run_tasks, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()
        self.task: int | None = None
        self._until = float("inf")

    def start(self, number: int, task: object, timeout: float | None) -> None:
        """Start a task."""
        self.task = number
        self._until = float("inf") if timeout is None else time.monotonic() + timeout
        # That it has ended is noticed when its result is received.
        with contextlib.suppress(OSError):
            self.pipe.send(task)

    @property
    def is_late(self) -> bool:
        """Whether its task takes longer than it may."""
        return time.monotonic() > self._until

    def how_it_ended(self) -> str:
        """In words, after it has ended."""
        self._process.join()
        code = self._process.exitcode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def stop(self) -> None:
        """End it: at once where it runs a task, else by closing its pipe."""
        self.pipe.close()
        if self.task is not None:
            self._process.kill()
        self._process.join()


def _start_method() -> str:
    if "forkserver" in multiprocessing.get_all_start_methods():
        # From Python 3.14 on it is listed on every POSIX system, also where it is not available.
        with contextlib.suppress(ValueError):
            multiprocessing.get_context("forkserver")
            return "forkserver"
    return "spawn"


def _run_tasks(pipe: Connection, work: Callable[..., Any], setup: Callable[[], None] | None, reports: bool) -> None:
    """What a worker does, until its pipe is closed."""
    # An interrupt ends the process of the pool, which then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if setup is not None:
        setup()

    def report(progress: int) -> None:
        pipe.send((_PROGRESS, progress))

    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            reply = _RESULT, work(task, report) if reports else work(task)
        except Exception as error:
            reply = _ERROR, (error, traceback.format_exc())
        # The process of the pool may be gone.
        with contextlib.suppress(OSError):
            pipe.send(reply)


class ChildProcess(Generic[Sent, Received]):
    """A Python module whose `main` runs in a process of its own and exchanges messages with this one.

    It calls `connect_to_parent`. It ends when it is stopped or killed, and at once when this process ends.

    Parameters
    ----------
    module
        Name of the module.
    *arguments
        What its `main` is called with.
    silent
        Whether to discard what it prints.
    """

    def __init__(self, module: str, *arguments: str, silent: bool = False) -> None:
        command = [sys.executable, "-m", loading.__name__, module, *arguments]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if silent else None,
            # The priority on Windows, which has no `nice`.
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )
        self._mutex = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def send(self, message: Sent) -> None:
        """Send a message; nothing happens where it has ended, which `messages` notices."""
        self._send(message)

    def _send(self, message: Sent | None) -> None:
        assert self._process.stdin is not None
        with self._mutex, contextlib.suppress(OSError, ValueError):
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def messages(self) -> Iterator[Received]:
        """Yield the messages that it sends, until it ends."""
        assert self._process.stdout is not None
        with contextlib.suppress(EOFError, pickle.UnpicklingError, ValueError, OSError):
            while True:
                yield pickle.load(self._process.stdout)  # noqa: S301 -- from a process that this one started
        self._close()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()
        self._close()

    def _close(self) -> None:
        """Close the pipes, which ends the process if it has not ended, and wait for that."""
        with contextlib.suppress(OSError), self._process:
            pass

    def stop(self, timeout: float) -> None:
        """Let it finish what it does and end; kill it where that takes longer than `timeout` seconds."""
        self._send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self.wait()


class ParentConnection(Generic[Sent, Received]):
    """The other end of a `ChildProcess`: messages to and from the process that started this one."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._received: queue.SimpleQueue[Received | None] = queue.SimpleQueue()
        threading.Thread(target=self._receive, daemon=True).start()

    def send(self, message: Sent) -> None:
        """Send a message."""
        pickle.dump(message, self._out)
        self._out.flush()

    def receive(self) -> Received | None:
        """Wait for the next message; None where this process has to end."""
        return self._received.get()

    @property
    def is_idle(self) -> bool:
        """Whether no message waits to be received."""
        return self._received.empty()

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = pickle.load(sys.stdin.buffer)  # noqa: S301 -- from the process that started this one
                self._received.put(message)
                if message is None:
                    return
        # The parent has ended: its results are not needed any more.
        os._exit(1)


def connect_to_parent(nice: int = 0) -> ParentConnection[Any, Any]:
    """Connect a process that was started as a `ChildProcess`, and return the connection.

    What it prints goes to stderr from now on. Interrupts (Ctrl-C) are ignored, since they end the parent, which then
    stops this process.

    Parameters
    ----------
    nice
        By how much to lower the priority of this process, 0 to 19, on systems that have `nice`. One of low priority
        also takes no core from another process before its turn, on Linux.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        if hasattr(os, "nice"):
            os.nice(nice)
        if nice > 0 and hasattr(os, "SCHED_BATCH"):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return ParentConnection()
