"""Work shared out among processes of this machine: one for each piece of it, as many at once as there are cores.

A process has its one piece and ends: whoever began it may be killed, and nothing goes on for ever.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeVar

from bagwise.core.errors import BagwiseError
from bagwise.core.processes import worker_context
from bagwise.kernels.arithmetic.blocks import thread_count

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Each(Protocol):
    """Does every piece of some work somewhere, and says (number of the piece, result) as soon as one is done."""

    def __call__(self, work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[tuple[int, Result]]:
        """In whatever order."""


def in_processes(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[tuple[int, Result]]:
    """On the cores of this machine."""
    count = min(len(pieces), thread_count())
    if count == 1:
        yield from ((number, work(piece)) for number, piece in enumerate(pieces))
        return
    context = worker_context([work.__module__])
    waiting, running = list(enumerate(pieces))[::-1], list[_Running]()
    try:
        while waiting or running:
            while waiting and len(running) < count:
                running.append(_Running.begin(context, work, *waiting.pop()))
            ready = wait([one.pipe for one in running])
            for one in [one for one in running if one.pipe in ready]:
                result = one.result()
                running.remove(one)
                yield one.number, result
    finally:
        for one in running:
            one.process.kill()
            one.process.join()


def in_order(results: Iterator[tuple[int, Result]]) -> list[Result]:
    """All results, by the number of their piece."""
    return [result for _, result in sorted(results, key=lambda one: one[0])]


def _do(pipe: Connection, work: Callable[[Piece], Result], piece: Piece) -> None:
    # The one who asks is interrupted, not those who are asked.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done: Result | Exception = work(piece)
    except Exception as error:
        done = error
    # Whoever asked may be gone.
    with contextlib.suppress(OSError):
        pipe.send(done)


@dataclass(frozen=True)
class _Running:
    """A process that is at a piece."""

    number: int
    pipe: Connection
    process: BaseProcess

    @classmethod
    def begin(cls, context: BaseContext, work: Callable[[Any], Any], number: int, piece: object) -> "_Running":
        pipe, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_do, args=(theirs, work, piece), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        return cls(number, pipe, process)

    def result(self) -> Any:
        try:
            done = self.pipe.recv()
        except EOFError as error:
            self.process.join()
            what = f"A process that did a part of the work ended unexpectedly (status {self.process.exitcode})"
            raise BagwiseError(f"{what}: there may be too little memory. Try again.") from error
        self.process.join()
        if isinstance(done, Exception):
            raise done
        return done
