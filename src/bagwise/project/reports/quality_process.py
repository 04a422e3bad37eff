"""Estimates the quality in a separate process at low priority, so that no answer waits for it.

The process stores its estimates in a file of the project's folder (`quality.json`), from which this one reads them.
"""

import threading
import time
import weakref
from pathlib import Path

from bagwise.core.processes import ChildProcess, connect_to_parent
from bagwise.project.project import Project
from bagwise.project.reports.quality import FILE, Report, is_estimated, quality_of, stored_quality

PAUSE = 3.0
SHARE = 2.0
"""Pause between two estimates: `PAUSE` seconds, or `SHARE` times as long as the last one took."""
NICE = 10


class QualityProcess:
    """The newest estimate of one open project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._mutex = threading.Lock()
        self._running: list[ChildProcess[None, None]] = []
        self._stop = weakref.finalize(self, _end, self._running)
        self._started, self._paused_until, self._n_events = 0.0, 0.0, 0
        self._seen: object = None
        self._report: Report | None = None

    def newest(self) -> tuple[Report | None, bool]:
        """Return the newest estimate and whether a newer one is pending; start one where it is due."""
        with self._mutex:
            self._finish()
            behind = len(self.project.events) > self._n_events
            if behind and not self._running and time.monotonic() >= self._paused_until:
                self._start()
            return self._stored(), behind or bool(self._running)

    def now(self) -> Report:
        """Return an estimate from all events so far; wait for it where it is not stored yet."""
        if is_estimated(self.project) and (report := stored_quality(self.project)) is not None:
            return report
        needed, n_events = len(self.project.events), -1
        while n_events < needed:
            with self._mutex:
                self._finish()
                if not self._running:
                    self._start()
                process, n_events = self._running[0], self._n_events
            process.wait()
        with self._mutex:
            return self._stored() or quality_of(self.project)

    def close(self) -> None:
        """Stop the process."""
        self._stop()

    def _start(self) -> None:
        self._started, self._n_events = time.monotonic(), len(self.project.events)
        self._running.append(ChildProcess(__name__, str(self.project.folder), silent=True))

    def _finish(self) -> None:
        if self._running and not self._running[0].is_running:
            self._running.pop().wait()
            now = time.monotonic()
            self._paused_until = now + max(PAUSE, SHARE * (now - self._started))

    def _stored(self) -> Report | None:
        contents = self.project.contents
        try:
            seen = ((self.project.folder / FILE).stat().st_mtime_ns, contents.version)
        except OSError:
            return None
        if seen != self._seen:
            self._seen, self._report = seen, stored_quality(self.project)
        return self._report


def _end(running: list[ChildProcess[None, None]]) -> None:
    for process in running:
        process.kill()


def main(folder: str) -> None:
    """Estimate the quality of the project in a folder and store it."""
    connect_to_parent(NICE)
    with Project.open(Path(folder)) as project:
        quality_of(project)
