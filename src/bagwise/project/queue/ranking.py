"""Rankings: what the learner would ask next, published by the trainer, and how long a request waits for a newer one.

A request waits at most `TIMEOUT` seconds for the trainer to catch up; then the ranking that was published last is used.
A crowd, more than `FEW_PEOPLE` at a time, does not wait at all, since others answer meanwhile whatever is learned. It
is enough to rank for it every `CROWD_SECONDS`; requests have the processor in between.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self, overload

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier
from bagwise.project.answers.annotator_noise import AnnotatorRates

TIMEOUT = 0.1
"""Seconds; a longer wait no longer feels immediate."""
FIRST_LOOK, LONGEST_PAUSE = 0.0005, 0.008
FEW_PEOPLE = 4
CROWD_SECONDS = 0.25
RECENT = 3
"""If each of so many rankings took longer than `TIMEOUT`, requests do not wait for the next."""

Wait = tuple[Future[None], float | None]
"""What to wait for, and for how many seconds; None: without a limit."""


def wait_for(published: Future[None], seconds: float | None) -> None:
    """Wait until it is published, but no longer than so many seconds, by polling.

    A thread that waits on a lock and is interrupted (Ctrl-C) at the moment of waking may keep that lock for ever, and
    then publishing and closing would block for ever.
    """
    until = time.monotonic() + (float("inf") if seconds is None else seconds)
    pause = FIRST_LOOK
    while not published.done() and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class TrainerStopped(BagwiseError):
    """The training process crashed, and a newer ranking was needed. The next request starts another process.

    Examples
    --------
    >>> try:
    ...     raise TrainerStopped
    ... except TrainerStopped as error:
    ...     print(error)
    The training process crashed and is restarting: retry.
    """

    def __init__(self) -> None:
        super().__init__("The training process crashed and is restarting: retry.")


class RankedQuestions(Sequence[Question]):
    """Questions that were not asked yet, best first, stored by columns; a question is made when it is read.

    A ranking has thousands of them, of which few are asked before a newer one comes, and another process reads columns
    ten times as fast as questions.

    Parameters
    ----------
    columns : mapping of str to list
        The values of each of `FIELDS`.

    Examples
    --------
    >>> ranked = RankedQuestions.of([Question(3, (0,)), Question(5, (1,), audit=True)])
    >>> len(ranked), ranked[1].bag, [question.audit for question in ranked]
    (2, 5, [False, True])
    >>> ranked.audits(1, 2)
    [True, False]
    """

    FIELDS = ("bag", "classes", "score", "audit", "partial", "instance", "probability")

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Self:
        """Return these questions."""
        return cls({name: [getattr(question, name) for question in questions] for name in cls.FIELDS})

    def __len__(self) -> int:
        return len(self._columns["bag"])

    @overload
    def __getitem__(self, place: int) -> Question: ...

    @overload
    def __getitem__(self, place: slice) -> Self: ...

    def __getitem__(self, place: int | slice) -> Question | Self:
        if isinstance(place, slice):
            return type(self)({name: values[place] for name, values in self._columns.items()})
        return Question(**{name: values[place] for name, values in self._columns.items()})

    def audits(self, first: int, count: int) -> list[bool]:
        """Whether each of so many questions is an audit, from the first of them on; past the end none is."""
        found: list[bool] = self._columns["audit"][first : first + count]
        return found + [False] * (count - len(found))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankedQuestions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Ranking:
    """Questions, best first, by a model that knew `applied` events; `complete` if these are all that are open.

    `contents` is the digest of what it learned from, `version` that of all contents, and `people` the rates at which
    the model takes answers to be wrong.
    """

    questions: RankedQuestions
    complete: bool
    applied: int
    contents: str
    version: int
    model: MIMLClassifier
    people: AnnotatorRates

    def has(self, count: int) -> bool:
        """Whether it has `count` questions, or all that are open."""
        return self.complete or len(self.questions) >= count


class RankingPublisher:
    """The newest ranking of a trainer; `begin`, called with a lock held, starts the trainer when it is idle."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._mutex = threading.Lock()
        self._busy = False
        # Not 0: the clock may have begun a moment ago, with the machine.
        self._began = self._behind_since = float("-inf")
        self._took: deque[float] = deque(maxlen=RECENT)
        self._published: Future[None] = Future()
        self._error: BaseException | None = None
        self.newest: Ranking | None = None
        self._resumed = False
        self.wanted, self.closed = 0, False
        self.is_crowded = False
        """Whether more than a few people are answering: then the trainer is idle after a ranking, until a request."""
        self.least_version = 0
        """Rankings with older contents are about other bags than may be asked about now."""

    def is_current(self, ranking: Ranking, after: int) -> bool:
        """Whether it knows so many events, and which bags may be asked about."""
        return ranking.applied >= after and ranking.version >= self.least_version

    def resume(self, ranking: Ranking) -> None:
        """Use the ranking of an earlier process; the first request starts the trainer all the same."""
        self.newest, self._resumed = ranking, True

    def waits(self, after: int, count: int, people: int = 1, require_newer: bool = False) -> Iterator[Wait]:
        """What to wait for, one after the other, for `count` questions that know `after` events.

        So many `people` are answering now.

        There may be nothing to wait for. There is no time limit where nothing was published yet, nor with
        `require_newer`, which waits for any newer ranking.
        """
        until = time.monotonic() + TIMEOUT
        while (found := self._expected(after, count, people, require_newer)) is not None:
            published, worth_until = found
            left = min(until, worth_until) - time.monotonic()
            if require_newer or self.newest is None:
                yield published, None
            elif left > 0:
                yield published, left
            if require_newer or left <= 0:
                return

    def _expected(self, after: int, count: int, people: int, require_newer: bool) -> tuple[Future[None], float] | None:
        """The next ranking, and until when to wait for it; None where the newest is sufficient."""
        with self._mutex:
            found = self.newest
            error, self._error = self._error, None
            usable = isinstance(error, TrainerStopped) and found is not None and not require_newer
            if error is not None and not usable:
                raise error
            enough = found is not None and self.is_current(found, after) and found.has(count)
            if self.closed or (enough and not self._resumed):
                return None
            self.is_crowded = people > FEW_PEOPLE
            if self.is_crowded and not require_newer and self._is_recent(count):
                return None
            self._resumed = False
            self.wanted = max(self.wanted, count) if self._busy else count
            if not self._busy:
                self._busy, self._began = True, time.monotonic()
                self._behind_since = self._began
                self._begin()
            if enough:
                return None
            hopeful = not self.is_crowded and min(self._took, default=0.0) <= TIMEOUT
            return self._published, self._behind_since + TIMEOUT if hopeful else 0.0

    def _is_recent(self, count: int) -> bool:
        """Whether the newest ranking has `count` questions and was published less than `CROWD_SECONDS` ago."""
        found = self.newest
        usable = found is not None and found.version >= self.least_version and found.has(count)
        return usable and not self._busy and time.monotonic() < self._began + CROWD_SECONDS

    def publish(self, ranking: Ranking, done: bool) -> bool:
        """Publish a ranking; return whether the trainer becomes idle, as it does when it is `done`, or for a crowd."""
        with self._mutex:
            if not self._is_older(ranking):
                self.newest = ranking
            # Events that this ranking does not know were saved after its computation began.
            self._behind_since, self._began = self._began, time.monotonic()
            self._took.append(self._began - self._behind_since)
            enough = (done or self.is_crowded) and self.is_current(ranking, 0) and ranking.has(self.wanted)
            self._busy = not (self.closed or enough)
            idle, published = not self._busy, self._next()
        published.set_result(None)
        return idle

    def _is_older(self, ranking: Ranking) -> bool:
        """Whether it knows less than what was published by an earlier process, and is not needed for its length.

        A process begins where its last snapshot was, and publishes while it learns what came after.
        """
        found = self.newest
        if found is None or (found.contents, found.version) != (ranking.contents, ranking.version):
            return False
        return ranking.applied < found.applied and (found.has(self.wanted) or not ranking.has(self.wanted))

    def fail(self, error: BaseException) -> None:
        """The trainer became idle before it was done; the next request raises the error."""
        with self._mutex:
            self._error, self._busy, published = error if self._busy else None, False, self._next()
        published.set_result(None)

    def close(self) -> None:
        """End all waits: nothing is published any more."""
        with self._mutex:
            self.closed, published = True, self._next()
        published.set_result(None)

    def _next(self) -> Future[None]:
        published, self._published = self._published, Future()
        return published
