"""What the learner would ask, published now and then for those who ask; how long they wait for a newer ranking.

Whoever asks gives the learner a moment since it fell behind (`PATIENCE`); after that, what was published last is good
enough.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from bagwise.core.errors import BagwiseError
from bagwise.model import MIMLClassifier
from bagwise.project.answers.annotator_noise import People
from bagwise.project.answers.events import Pair

PATIENCE = 0.1
"""Seconds: what takes longer no longer feels immediate."""
FIRST_LOOK, LONGEST_PAUSE = 0.0005, 0.008
RECENT = 3
"""Where each of so many rankings took longer than anybody waits, nobody waits for the next in vain."""

Wait = tuple[Future[None], float | None]
"""What to wait for, and for how many seconds; None: until it is there."""


def wait_for(published: Future[None], seconds: float | None) -> None:
    """Until it is there, but no longer than so many seconds; it is looked at now and then.

    Whoever waits on a lock and is interrupted (Ctrl-C) in the moment of waking may keep that lock for ever, and then
    whoever publishes, or closes, waits for it for ever.
    """
    until = time.monotonic() + (float("inf") if seconds is None else seconds)
    pause = FIRST_LOOK
    while not published.done() and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class TrainerStopped(BagwiseError):
    """The training process ended: for those who need a newer ranking than there is. The next request starts another."""

    def __init__(self) -> None:
        super().__init__("The training process crashed and is restarting: retry.")


class Turn(NamedTuple):
    """A question that may be asked: a class of a bag, the score that put it here, whether it was drawn at random."""

    bag: int
    classes: tuple[int]
    score: float
    audit: bool

    @property
    def pair(self) -> Pair:
        """What it is about."""
        return self.bag, self.classes[0]


@dataclass(frozen=True)
class Ranking:
    """Questions, best first, by a model that knew `applied` events; `complete` if these are all that are open.

    `version` is that of the contents, and `people` the rates at which the model takes answers to be wrong.
    """

    turns: Sequence[Turn]
    complete: bool
    applied: int
    version: int
    model: MIMLClassifier
    people: People

    def has(self, count: int) -> bool:
        """Whether there are so many, or no more at all."""
        return self.complete or len(self.turns) >= count


class RankingPublisher:
    """The newest ranking of a learner; `begin`, called with a lock held, sets it going after it came to rest."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._mutex = threading.Lock()
        self._busy = False
        self._began, self._behind_since = 0.0, 0.0
        self._took: deque[float] = deque(maxlen=RECENT)
        self._published: Future[None] = Future()
        self._error: BaseException | None = None
        self.newest: Ranking | None = None
        self.wanted, self.closed = 0, False

    def waits(self, after: int, count: int, patiently: bool = False) -> Iterator[Wait]:
        """What to wait for, one after the other, for `count` questions that know `after` events.

        There may be nothing to wait for. Where nothing was published yet there is no limit, and with patience neither,
        but then anything newer than what there is will do.
        """
        until = time.monotonic() + PATIENCE
        while (found := self._expected(after, count, patiently)) is not None:
            published, worth_until = found
            left = min(until, worth_until) - time.monotonic()
            if patiently or self.newest is None:
                yield published, None
            elif left > 0:
                yield published, left
            if patiently or left <= 0:
                return

    def _expected(self, after: int, count: int, patiently: bool) -> tuple[Future[None], float] | None:
        """The next ranking, and until when it is worth waiting for; None where the newest will do."""
        with self._mutex:
            found = self.newest
            error, self._error = self._error, None
            if error is not None and not (isinstance(error, TrainerStopped) and found is not None and not patiently):
                raise error
            if self.closed or (found is not None and found.applied >= after and found.has(count)):
                return None
            self.wanted = max(self.wanted, count) if self._busy else count
            if not self._busy:
                self._busy, self._began = True, time.monotonic()
                self._behind_since = self._began
                self._begin()
            hopeful = min(self._took, default=0.0) <= PATIENCE
            return self._published, self._behind_since + PATIENCE if hopeful else 0.0

    def publish(self, ranking: Ranking, done: bool) -> bool:
        """Let everybody have it; whether the learner comes to rest, which it does when it is `done`."""
        with self._mutex:
            self.newest = ranking
            # What this ranking does not know was said after its making began.
            self._behind_since, self._began = self._began, time.monotonic()
            self._took.append(self._began - self._behind_since)
            self._busy = not (self.closed or (done and ranking.has(self.wanted)))
            rests, tell = not self._busy, self._next()
        tell.set_result(None)
        return rests

    def fail(self, error: BaseException) -> None:
        """The learner came to rest, if it was not there, before it was done; whoever asks next is told the error."""
        with self._mutex:
            self._error, self._busy, tell = error if self._busy else None, False, self._next()
        tell.set_result(None)

    def close(self) -> None:
        """Let go of all who wait: nothing is published any more."""
        with self._mutex:
            self.closed, tell = True, self._next()
        tell.set_result(None)

    def _next(self) -> Future[None]:
        published, self._published = self._published, Future()
        return published
