"""Teaching: the learner of an open project, taught every event in order, and what it would ask next.

Learning one answer takes milliseconds, but now and then everything is fitted anew, which takes seconds. So it happens
in a thread of its own, which goes on until it knows all that was said and publishes a ranking every now and then. What
is learned does not depend on who waited for what.
"""

import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bagwise.data.bags import Bags
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning.base import NothingToAsk
from bagwise.learning.learner import ActiveLearner, Memory
from bagwise.learning.pool import Pool
from bagwise.model import MIMLClassifier
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import People
from bagwise.project.answers.events import Event
from bagwise.project.imports.importing import Progress, quiet
from bagwise.project.queue.answering_time import answering_seconds
from bagwise.project.queue.ranking import Ranking, RankingPublisher
from bagwise.project.training.cluster_pool import pool_on

PUBLISH_EVERY = 0.5


class Trainer:
    """Keeps a learner up to `events`, a list that only grows."""

    def __init__(
        self,
        counted: replay.Replay,
        bags: Bags,
        events: list[Event],
        snapshots: replay.Snapshots,
        cluster: str = "",
    ) -> None:
        self._start = (counted.contents, bags, counted.settings)
        self._events, self._snapshots = events, snapshots
        self._cluster = cluster
        self._pool: Pool | None = None
        self.replay: replay.Replay | None = None
        self._saved = -1
        self._learning = threading.RLock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bagwise-teaching")
        self.rankings = RankingPublisher(self._begin)

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

    def _begin(self) -> None:
        """Set the learning going."""
        self._thread.submit(self._catch_up)

    def _catch_up(self) -> None:
        try:
            while True:
                ranking = self.rank(self.rankings.wanted)
                if self.rankings.publish(ranking, done=ranking.applied >= len(self._events)):
                    return
        except BaseException as error:
            self.rankings.fail(error)

    def rank(self, count: int) -> Ranking:
        """Learn for a while, and rank."""
        with self._learning, single_threaded_blas():
            self._learn(quiet, time.monotonic() + PUBLISH_EVERY)
            assert self.replay is not None
            assert self.replay.learner is not None
            learner = self.replay.learner
            learner.seconds = answering_seconds(self._events, self._start[2].asking)
            try:
                questions = learner.rank(count)
            except NothingToAsk:
                questions = []
            return Ranking(
                questions,
                len(questions) < count,
                self.replay.applied,
                self.replay.contents.version,
                copy.copy(self.replay.learner.model),
                self.replay.people,
            )

    def close(self) -> None:
        """Keep what was learned for a fast start."""
        self.rankings.close()
        self._thread.shutdown(cancel_futures=True)
        with self._learning:
            try:
                if self.replay is not None:
                    self._learn(quiet)
                    if self.replay.applied != self._saved:
                        self._keep(self.replay)
            finally:
                if self._pool is not None:
                    self._pool.close()

    # Learning

    def _learn(self, progress: Progress, until: float = float("inf")) -> None:
        if self.replay is None:
            if self._cluster and self._pool is None:
                self._pool = pool_on(self._cluster, self._start[1])
            taught = replay.full(*self._start, list(self._events), self._snapshots, progress, self._pool)
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
