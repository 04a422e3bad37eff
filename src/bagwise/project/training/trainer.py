"""Trainer: keeps the learner of an open project up to its events, in order, and ranks what to ask next.

Learning one answer takes milliseconds, but now and then everything is fitted again, which takes seconds. So training
runs in a separate thread until every event is learned, and publishes a ranking every `PUBLISH_EVERY` seconds; for a
crowd it stops after each ranking, and goes on with the next request. What is learned does not depend on which requests
waited for it.
"""

import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bagwise.data.bags import Bags
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning.base import NothingToAsk
from bagwise.learning.learner import ActiveLearner, Snapshot
from bagwise.learning.pool import Pool
from bagwise.model import MIMLClassifier
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import AnnotatorRates
from bagwise.project.answers.events import Event
from bagwise.project.answers.snapshots import SNAPSHOT_EVERY, Snapshots
from bagwise.project.imports.importing import Progress, quiet
from bagwise.project.queue.answering_time import answering_seconds
from bagwise.project.queue.ranking import RankedQuestions, Ranking, RankingPublisher
from bagwise.project.queue.spreading import about_other_groups, groups_of
from bagwise.project.queue.stored_ranking import StoredRanking
from bagwise.project.storage.queries import Contents
from bagwise.project.training.cluster_pool import pool_on

PUBLISH_EVERY = 0.5


class Trainer:
    """Keeps a learner up to `events`, a list that only grows."""

    def __init__(
        self,
        counted: replay.Replay,
        bags: Bags,
        events: list[Event],
        snapshots: Snapshots,
        cluster: str = "",
    ) -> None:
        self._start = (counted.contents, bags, counted.settings)
        self._groups = groups_of(counted.contents.bag_files, counted.settings.asking.spread)
        self._events, self._snapshots = events, snapshots
        self._cluster = cluster
        self._pool: Pool | None = None
        self.replay: replay.Replay | None = None
        self._saved = -1
        self._stored = StoredRanking(snapshots.folder, counted.settings)
        self._ranking: Ranking | None = None
        self._ranking_stored, self._at_start = -SNAPSHOT_EVERY, len(events)
        self._training = threading.RLock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bagwise-trainer")
        self.rankings = RankingPublisher(self._begin)

    def show(self, contents: Contents) -> None:
        """Go on with contents that differ from those before only in what nothing is learned from."""
        self._start = (contents, *self._start[1:])
        asking = self._start[2].asking
        self._groups = groups_of(contents.bag_files, asking.spread)
        if asking.filter or asking.spread:
            self.rankings.least_version = contents.version

    # The model

    def learner(self, progress: Progress = quiet) -> ActiveLearner:
        """The learner after every event; created on first use."""
        with self._training:
            self._catch_up_with_events(progress)
            assert self.replay is not None
            assert self.replay.learner is not None
            return self.replay.learner

    def snapshot(self) -> Snapshot:
        """The state of the learner after every event, as arrays."""
        with self._training:
            self.learner()
            assert self.replay is not None
            return self.replay.snapshot()

    def people(self) -> AnnotatorRates:
        """The error rates of the annotators that the learner assumes."""
        with self._training:
            self.learner()
            assert self.replay is not None
            return self.replay.people

    def model(self) -> MIMLClassifier:
        """The model after every event."""
        return self.learner().model

    def newest(self) -> MIMLClassifier:
        """The model as it is, perhaps behind the newest events."""
        current = self.replay
        return (current.learner if current is not None and current.learner is not None else self.learner()).model

    # Ranking

    def _begin(self) -> None:
        """Start training in the thread."""
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
        """Learn events for up to `PUBLISH_EVERY` seconds, then return the `count` best questions."""
        with self._training, single_threaded_blas():
            if not self._is_too_short_for_a_refit(count):
                self._catch_up_with_events(quiet, time.monotonic() + PUBLISH_EVERY)
            assert self.replay is not None
            assert self.replay.learner is not None
            if self.replay.contents is not self._start[0]:
                self.replay.show(self._start[0])
            learner = self.replay.learner
            if learner.granularity == "best_value":
                learner.seconds = answering_seconds(self._events, self._start[2].asking)
            try:
                questions = learner.rank(count)
            except NothingToAsk:
                questions = []
            complete = len(questions) < count
            if self._groups is not None and not complete:
                questions += about_other_groups(learner, questions, self._groups, count)
            self._ranking = Ranking(
                RankedQuestions.of(questions),
                complete,
                self.replay.applied,
                self.replay.contents.digest(),
                self.replay.contents.version,
                copy.copy(self.replay.learner.model),
                self.replay.people,
            )
            # The stored one may know all that there was at the start.
            if self.replay.applied >= max(self._ranking_stored + SNAPSHOT_EVERY, self._at_start):
                self._store_ranking(self._ranking)
            return self._ranking

    def _is_too_short_for_a_refit(self, count: int) -> bool:
        """Whether the ranking has fewer than `count` questions, and a refit, of seconds, comes before a longer one.

        Many people who have just come would have asked all of them by then.
        """
        if self.replay is None or self._ranking is None or self._ranking.has(count):
            return False
        return replay.turning_point(self.replay.contents, len(self._events)) > self.replay.applied

    def close(self) -> None:
        """Save a snapshot for a fast start, and stop."""
        self.rankings.close()
        self._thread.shutdown(cancel_futures=True)
        with self._training:
            try:
                if self.replay is not None:
                    self._catch_up_with_events(quiet)
                    if self.replay.applied != self._saved:
                        self._save_snapshot(self.replay)
                if self._ranking is not None and self._ranking.applied >= max(self._ranking_stored + 1, self._at_start):
                    self._store_ranking(self._ranking)
            finally:
                if self._pool is not None:
                    self._pool.close()

    # Training

    def _catch_up_with_events(self, progress: Progress, until: float = float("inf")) -> None:
        current = self.replay
        if current is None:
            if self._cluster and self._pool is None:
                self._pool = pool_on(self._cluster, self._start[1])
            current = replay.begun(*self._start, list(self._events), self._snapshots, self._pool)
            progress(current.applied)
        try:
            self._train(current, progress, until)
        except BaseException:
            # Interrupted while learning: the half-learned state is dropped and learned again.
            self.replay = None
            raise
        if self.replay is None or current.applied >= self._saved + SNAPSHOT_EVERY:
            self._save_snapshot(current)
        self.replay = current

    def _train(self, current: replay.Replay, progress: Progress, until: float) -> None:
        events = self._events
        point = replay.turning_point(current.contents, len(events))
        if point > current.applied:
            progress(point - current.applied)
            current.skip_to(events[current.applied : point])
        for event in events[current.applied :]:
            if time.monotonic() > until:
                break
            current.apply(event)
            progress(1)

    def _save_snapshot(self, current: replay.Replay) -> None:
        self._snapshots.save(current.applied, current.votes.digest(), current.snapshot())
        self._saved = current.applied

    def _store_ranking(self, ranking: Ranking) -> None:
        self._stored.write(ranking, self._events)
        self._ranking_stored = ranking.applied
