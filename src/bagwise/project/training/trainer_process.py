"""TrainerProcess: training in a process of its own, at a lower priority, which sends rankings.

It has the same project open and reads the same events from the same database, so it learns what any process would
learn. Only what it publishes arrives in this process: no request that asks or answers shares a lock or an interpreter
with it.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bagwise.core.logs import current_level
from bagwise.core.processes import ChildProcess
from bagwise.data.bags import Bags
from bagwise.model import MIMLClassifier
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import AnnotatorRates
from bagwise.project.answers.events import Event
from bagwise.project.answers.snapshots import Snapshots
from bagwise.project.queue.ranking import Ranking, TrainerStopped, wait_for
from bagwise.project.training.trainer import Trainer

MODULE = "bagwise.project.training.trainer_main"
CLOSING_SECONDS = 10.0
RESTART_SECONDS = 2.0

Process = ChildProcess[int, Ranking | Exception]

logger = logging.getLogger(__name__)


class TrainerProcess(Trainer):
    """A `Trainer` in a process of its own; a learner is made in this process only if all of its state is needed."""

    def __init__(
        self,
        folder: Path,
        cluster: str,
        device: str,
        counted: replay.Replay,
        bags: Bags,
        events: list[Event],
        snapshots: Snapshots,
    ) -> None:
        super().__init__(counted, bags, events, snapshots, cluster)
        self._folder, self._device = folder, device
        self._process: Process | None = None
        stored = self._stored.read(counted.contents, events)
        if stored is not None:
            self.rankings.resume(stored)

    @classmethod
    def of(
        cls, folder: Path, cluster: str = "", device: str = ""
    ) -> Callable[[replay.Replay, Bags, list[Event], Snapshots], "TrainerProcess"]:
        """Return what makes a trainer for the project in this folder."""
        return partial(cls, folder, cluster, device)

    def model(self) -> MIMLClassifier:
        """Wait for a model that was trained on all events, and return it."""
        found = self._published(len(self._events))
        return super().model() if found is None else found.model

    def newest(self) -> MIMLClassifier:
        """Return the model that was published last."""
        found = self._published(0)
        return super().newest() if found is None else found.model

    def people(self) -> AnnotatorRates:
        """Return the error rates that the model published last assumes."""
        found = self._published(0)
        return super().people() if found is None else found.people

    def _published(self, after: int) -> Ranking | None:
        """A ranking that knows so many events; None where nothing will be published any more."""
        while (found := self.rankings.newest) is None or found.applied < after:
            if self.rankings.closed:
                return None
            for published, _ in self.rankings.waits(after, 1, require_newer=True):
                wait_for(published, None)
        return found

    def _begin(self) -> None:
        process = self._process
        if process is None:
            process = self._process = Process(MODULE, str(self._folder), self._cluster, current_level(), self._device)
            logger.info("training process started")
            threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        process.send(self.rankings.wanted)

    def _listen(self, process: Process) -> None:
        for result in process.messages():
            if isinstance(result, BaseException):
                self.rankings.fail(result)
            elif not self._publish(result):
                process.send(self.rankings.wanted)
        self._restart_later(process)

    def _publish(self, ranking: Ranking) -> bool:
        """Publish it; return whether it is the last for now."""
        if ranking.contents != self._start[0].digest():
            # The contents changed: the next request notices it, and gets another trainer.
            self.rankings.close()
            return True
        return self.rankings.publish(ranking, done=ranking.applied >= len(self._events))

    def _restart_later(self, process: Process) -> None:
        time.sleep(RESTART_SECONDS)
        if self._process is process:
            self._process = None
            logger.warning("training process crashed, restarting")
            # Requests go on with what was published, and the next one starts another process.
            self.rankings.fail(TrainerStopped())

    def close(self) -> None:
        """Stop the process, which first saves a snapshot for a fast start."""
        self.rankings.close()
        process, self._process = self._process, None
        if process is not None:
            threading.Thread(target=process.stop, args=(CLOSING_SECONDS,)).start()
        super().close()
