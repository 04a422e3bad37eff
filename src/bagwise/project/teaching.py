"""Teaching: the learner of an open project, taught every event in order, and what it would ask next.

Learning one answer takes milliseconds, but now and then everything is fitted anew, which takes seconds. So it happens
in a thread of its own. Whoever asks waits a moment for the newest model (`PATIENCE`), all who wait share one ranking,
and after that moment the ranking before it is good enough. What is learned does not depend on who waited for what.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from bagwise.asking import NothingToAsk, Question
from bagwise.bags import Bags
from bagwise.kernels.blocks import single_threaded_blas
from bagwise.learner import ActiveLearner, Memory
from bagwise.project import replay
from bagwise.project.events import Event
from bagwise.project.importing import Progress, quiet
from bagwise.project.noise import People

PATIENCE = 0.2


@dataclass(frozen=True)
class Ranking:
    """Questions, best first, by a model that knew `applied` events; `complete` if these are all that are open."""

    questions: Sequence[Question]
    complete: bool
    applied: int

    def has(self, count: int) -> bool:
        """Whether there are so many, or no more at all."""
        return self.complete or len(self.questions) >= count


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
        self._running: Future[None] | None = None
        self._ranking: Ranking | None = None

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

    def newest(self) -> ActiveLearner:
        """The learner as it is, perhaps in the middle of something new."""
        taught = self.replay
        return taught.learner if taught is not None and taught.learner is not None else self.learner()

    def ranking(self, after: int, count: int, patiently: bool = False) -> Ranking:
        """At least `count` questions by a model that knows the first `after` events, or the newest there is by now."""
        until = time.monotonic() + PATIENCE
        while True:
            with self._mutex:
                found = self._ranking
                if found is not None and found.applied >= after and found.has(count):
                    return found
                if self._running is None or self._running.done():
                    self._running = self._thread.submit(self._study, count)
                running = self._running
            impatient = found is not None and not patiently
            try:
                running.result(max(0.0, until - time.monotonic()) if impatient else None)
            except TimeoutError:
                assert found is not None
                return self._ranking or found

    def close(self) -> None:
        """Keep what was learned for a fast start."""
        self._thread.shutdown(cancel_futures=True)
        with self._learning:
            if self.replay is None:
                return
            self._learn(quiet)
            if self.replay.applied != self._saved:
                self._keep(self.replay)

    def _study(self, count: int) -> None:
        with self._learning, single_threaded_blas():
            learner = self.learner()
            assert self.replay is not None
            try:
                questions = learner.ranked(count)
            except NothingToAsk:
                questions = []
            self._ranking = Ranking(questions, len(questions) < count, self.replay.applied)

    def _learn(self, progress: Progress) -> None:
        if self.replay is None:
            taught = replay.full(*self._start, list(self._events), self._snapshots, progress)
            self._keep(taught)
        else:
            taught = self.replay
            try:
                for event in self._events[taught.applied :]:
                    taught.apply(event)
            except BaseException:
                # Interrupted in the middle of learning: what is half learned is thrown away and learned again.
                self.replay = None
                raise
            if taught.applied >= self._saved + replay.SNAPSHOT_EVERY:
                self._keep(taught)
        self.replay = taught

    def _keep(self, taught: replay.Replay) -> None:
        self._snapshots.save(taught)
        self._saved = taught.applied
