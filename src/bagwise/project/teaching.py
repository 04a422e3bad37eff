"""Teaching: the learner of an open project, taught every event in order, and what it would ask next.

Learning one answer takes milliseconds, but now and then everything is fitted anew, which takes seconds. So it happens
in a thread of its own, which goes on until it knows all that was said and publishes what it would ask every now and
then. Whoever asks gives it a moment since it fell behind (`PATIENCE`); after that, what was published last is good
enough. What is learned does not depend on who waited for what.
"""

import copy
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from bagwise.asking import NothingToAsk
from bagwise.bags import Bags
from bagwise.kernels.blocks import single_threaded_blas
from bagwise.learner import ActiveLearner, Memory
from bagwise.model import MIMLClassifier
from bagwise.project import replay
from bagwise.project.events import Event, Pair
from bagwise.project.importing import Progress, quiet
from bagwise.project.noise import People

PATIENCE = 0.2
PUBLISH_EVERY = 0.5
RECENT = 3
"""Where each of so many rankings took longer than anybody waits, nobody waits for the next in vain."""


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
    """Questions, best first, by a model that knew `applied` events; `complete` if these are all that are open."""

    turns: Sequence[Turn]
    complete: bool
    applied: int
    version: int
    model: MIMLClassifier
    people: People

    def has(self, count: int) -> bool:
        """Whether there are so many, or no more at all."""
        return self.complete or len(self.turns) >= count


class Teaching:
    """Keeps a learner up to `events`, a list that only grows."""

    def __init__(self, counted: replay.Replay, bags: Bags, events: list[Event], snapshots: replay.Snapshots) -> None:
        self._start = (counted.contents, bags, counted.settings)
        self._events, self._snapshots = events, snapshots
        self.replay: replay.Replay | None = None
        self._saved = -1
        self._learning = threading.RLock()
        self._mutex = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bagwise-teaching")
        self._busy, self._closed, self._wanted = False, False, 0
        self._began, self._behind_since = 0.0, 0.0
        self._took: deque[float] = deque(maxlen=RECENT)
        self._published: Future[None] = Future()
        self._error: BaseException | None = None
        self._ranking: Ranking | None = None

    # What was learned

    def learner(self, progress: Progress = quiet) -> ActiveLearner:
        """Taught everything; made at the first time."""
        with self._learning:
            self._learn(progress)
            assert self.replay is not None
            assert self.replay.learner is not None
            return self.replay.learner

    def memory(self) -> Memory:
        """All that the learner has become, taught everything."""
        with self._learning:
            self.learner()
            assert self.replay is not None
            return self.replay.memory()

    def people(self) -> People:
        """How often everybody is wrong, as the learner assumes it now."""
        with self._learning:
            self.learner()
            assert self.replay is not None
            return self.replay.people

    def model(self) -> MIMLClassifier:
        """Taught everything."""
        return self.learner().model

    def newest(self) -> MIMLClassifier:
        """As it is, perhaps in the middle of something new."""
        taught = self.replay
        return (taught.learner if taught is not None and taught.learner is not None else self.learner()).model

    # What to ask

    @property
    def ranking(self) -> Ranking | None:
        """What was published last."""
        return self._ranking

    def waits(self, after: int, count: int, patiently: bool = False) -> Iterator[tuple[Future[None], float | None]]:
        """What to wait for, one after the other, and how long, for `count` questions that know `after` events.

        There may be nothing to wait for. Where nothing was published yet there is no limit, and with patience neither,
        but then anything newer than what there is will do.
        """
        until = time.monotonic() + PATIENCE
        while (found := self._expected(after, count)) is not None:
            published, worth_until = found
            left = min(until, worth_until) - time.monotonic()
            if patiently or self._ranking is None:
                yield published, None
            elif left > 0:
                yield published, left
            if patiently or left <= 0:
                return

    def _expected(self, after: int, count: int) -> tuple[Future[None], float] | None:
        with self._mutex:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            found = self._ranking
            if self._closed or (found is not None and found.applied >= after and found.has(count)):
                return None
            self._wanted = max(self._wanted, count) if self._busy else count
            if not self._busy:
                self._busy, self._began = True, time.monotonic()
                self._behind_since = self._began
                self._begin()
            hopeful = min(self._took, default=0.0) <= PATIENCE
            return self._published, self._behind_since + PATIENCE if hopeful else 0.0

    def _begin(self) -> None:
        """Set the learning going; the mutex is held."""
        self._thread.submit(self._catch_up)

    def _catch_up(self) -> None:
        try:
            while True:
                ranking = self.study(self._wanted)
                if self._publish(ranking, done=ranking.applied >= len(self._events)):
                    return
        except BaseException as error:
            self._fail(error)

    def study(self, count: int) -> Ranking:
        """Learn for a while, and rank."""
        with self._learning, single_threaded_blas():
            self._learn(quiet, time.monotonic() + PUBLISH_EVERY)
            assert self.replay is not None
            assert self.replay.learner is not None
            try:
                chosen = self.replay.learner.turns(count)
            except NothingToAsk:
                chosen = []
            return Ranking(
                [Turn(choice.bag, (choice.classes[0],), choice.score, audit) for choice, audit in chosen],
                len(chosen) < count,
                self.replay.applied,
                self.replay.contents.version,
                copy.copy(self.replay.learner.model),
                self.replay.people,
            )

    def _publish(self, ranking: Ranking, done: bool) -> bool:
        """Let everybody have it; whether the learning comes to rest now."""
        with self._mutex:
            self._ranking, published, self._published = ranking, self._published, Future()
            # What this ranking does not know was said after its making began.
            self._behind_since, self._began = self._began, time.monotonic()
            self._took.append(self._began - self._behind_since)
            rests = self._closed or (done and ranking.has(self._wanted))
            self._busy = not rests
        published.set_result(None)
        return rests

    def _fail(self, error: BaseException) -> None:
        with self._mutex:
            self._error, self._busy = error, False
            published, self._published = self._published, Future()
        published.set_result(None)

    def close(self) -> None:
        """Keep what was learned for a fast start."""
        self._rest()
        self._thread.shutdown(cancel_futures=True)
        with self._learning:
            if self.replay is None:
                return
            self._learn(quiet)
            if self.replay.applied != self._saved:
                self._keep(self.replay)

    def _rest(self) -> None:
        """Let go of all who wait."""
        with self._mutex:
            self._closed = True
            published, self._published = self._published, Future()
        published.set_result(None)

    # Learning

    def _learn(self, progress: Progress, until: float = float("inf")) -> None:
        if self.replay is None:
            taught = replay.full(*self._start, list(self._events), self._snapshots, progress)
            self._keep(taught)
        else:
            taught = self.replay
            try:
                self._teach(taught, until)
            except BaseException:
                # Interrupted in the middle of learning: what is half learned is thrown away and learned again.
                self.replay = None
                raise
            if taught.applied >= self._saved + replay.SNAPSHOT_EVERY:
                self._keep(taught)
        self.replay = taught

    def _teach(self, taught: replay.Replay, until: float) -> None:
        events = self._events
        point = replay.turning_point(taught.contents, len(events))
        if point > taught.applied:
            taught.skip_to(events[taught.applied : point])
        for event in events[taught.applied :]:
            if time.monotonic() > until:
                break
            taught.apply(event)

    def _keep(self, taught: replay.Replay) -> None:
        self._snapshots.save(taught)
        self._saved = taught.applied
