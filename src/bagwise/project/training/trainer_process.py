"""Teaching apart: a process of its own learns, at a lower priority, and says what it would ask.

It has the same project open and reads the same events from the same database; so what it learns is what any process
would learn. Here only what it publishes arrives: nothing that answers or asks shares a lock or an interpreter with it.
"""

import contextlib
import logging
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bagwise.core.logs import current_level
from bagwise.data.bags import Bags
from bagwise.model import MIMLClassifier
from bagwise.project.answers import replay
from bagwise.project.answers.annotator_noise import People
from bagwise.project.answers.events import Event
from bagwise.project.queue.ranking import Ranking, TrainerStopped, wait_for
from bagwise.project.training.trainer import Trainer

CLOSING_SECONDS = 10.0
REST_AFTER_A_CRASH = 2.0

logger = logging.getLogger(__name__)


class TrainerProcess(Trainer):
    """As `Trainer`; the learner itself is made here only for whoever wants all of it."""

    def __init__(
        self,
        folder: Path,
        cluster: str,
        counted: replay.Replay,
        bags: Bags,
        events: list[Event],
        snapshots: replay.Snapshots,
    ) -> None:
        super().__init__(counted, bags, events, snapshots, cluster)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def of(
        cls, folder: Path, cluster: str = ""
    ) -> Callable[[replay.Replay, Bags, list[Event], replay.Snapshots], "TrainerProcess"]:
        """A teacher for the project in this folder."""
        return partial(cls, folder, cluster)

    def model(self) -> MIMLClassifier:
        """Taught everything; whoever wants it waits."""
        found = self._taught(len(self._events))
        return super().model() if found is None else found.model

    def newest(self) -> MIMLClassifier:
        """As it was published last."""
        found = self._taught(0)
        return super().newest() if found is None else found.model

    def people(self) -> People:
        """As the model assumes it that was published last."""
        found = self._taught(0)
        return super().people() if found is None else found.people

    def _taught(self, after: int) -> Ranking | None:
        """What was published that knows so many events; None where nothing will be published any more."""
        while (found := self.rankings.newest) is None or found.applied < after:
            if self.rankings.closed:
                return None
            for published, _ in self.rankings.waits(after, 1, patiently=True):
                wait_for(published, None)
        return found

    def _begin(self) -> None:
        process = self._process
        if process is None:
            program = [sys.executable, "-m", "bagwise.project.training.trainer_main"]
            command = [*program, str(self._folder), self._cluster, current_level()]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
            logger.info("training process %d started", process.pid)
            self._process = process
            threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        self._send(process, self.rankings.wanted)

    def _send(self, process: subprocess.Popen[bytes], message: int | None) -> None:
        assert process.stdin is not None
        # A process that ended is noticed where its words are missing.
        with contextlib.suppress(BrokenPipeError, ValueError):
            pickle.dump(message, process.stdin)
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            while True:
                said, done = pickle.load(process.stdout)  # noqa: S301 -- from a process of our own
                if isinstance(said, BaseException):
                    self.rankings.fail(said)
                elif not self._heard(said, done):
                    self._send(process, self.rankings.wanted)
        except (EOFError, pickle.UnpicklingError, ValueError, OSError):
            with contextlib.suppress(BrokenPipeError), process:
                pass
            self._lost(process)

    def _heard(self, ranking: Ranking, done: bool) -> bool:
        """Publish it; False where the process thinks it is done and there is more to do."""
        if ranking.version != self._start[0].version:
            # The contents changed: whoever asks next notices it, and has another teacher then.
            self.rankings.close()
            return True
        rests = self.rankings.publish(ranking, done and ranking.applied >= len(self._events))
        return rests or not done

    def _lost(self, process: subprocess.Popen[bytes]) -> None:
        time.sleep(REST_AFTER_A_CRASH)
        if self._process is process:
            self._process = None
            logger.warning("training process %d ended with status %s, restarting", process.pid, process.returncode)
            # Whoever asks goes on with what was published, and begins another.
            self.rankings.fail(TrainerStopped())

    def close(self) -> None:
        """Let the process keep what it learned for a fast start."""
        self.rankings.close()
        process, self._process = self._process, None
        if process is not None:
            self._send(process, None)
            threading.Thread(target=_end, args=(process,)).start()
        super().close()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(CLOSING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
