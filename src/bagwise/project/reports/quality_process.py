"""QualityProcess: the quality of a project is estimated in a process of its own at low priority; no answer waits.

The process writes its estimate to a file of the project's folder (`quality.json`), from where this one reads it.
"""

import sys
import threading
import time
import weakref
from pathlib import Path

from bagwise.core.processes import ChildProcess, connect_to_parent
from bagwise.project.project import Project
from bagwise.project.reports.quality import FILE, Report, is_estimated, kept_quality, quality_of

PAUSE = 3.0
SHARE = 2.0
"""Between two estimates it pauses for so many seconds, or so many times as long as the last one took."""
NICE = 10


class QualityProcess:
    """The newest estimate of one open project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._mutex = threading.Lock()
        self._running: list[ChildProcess[None, None]] = []
        self._give_up = weakref.finalize(self, _end, self._running)
        self._began, self._rests_until, self._about = 0.0, 0.0, 0
        self._seen: object = None
        self._report: Report | None = None

    def newest(self) -> tuple[Report | None, bool]:
        """Return the newest estimate, and whether a newer one is expected; one is started when it is time."""
        with self._mutex:
            self._finish()
            behind = len(self.project.events) > self._about
            if behind and not self._running and time.monotonic() >= self._rests_until:
                self._begin()
            return self._look_up(), behind or bool(self._running)

    def now(self) -> Report:
        """Return an estimate that knows all events; wait for it unless it was made before."""
        if is_estimated(self.project) and (report := kept_quality(self.project)) is not None:
            return report
        wanted, about = len(self.project.events), -1
        while about < wanted:
            with self._mutex:
                self._finish()
                if not self._running:
                    self._begin()
                process, about = self._running[0], self._about
            process.wait()
        with self._mutex:
            return self._look_up() or quality_of(self.project)

    def close(self) -> None:
        """Stop estimating."""
        self._give_up()

    def _begin(self) -> None:
        self._began, self._about = time.monotonic(), len(self.project.events)
        self._running.append(ChildProcess(__name__, str(self.project.folder), silent=True))

    def _finish(self) -> None:
        if self._running and not self._running[0].is_running:
            self._running.pop().wait()
            now = time.monotonic()
            self._rests_until = now + max(PAUSE, SHARE * (now - self._began))

    def _look_up(self) -> Report | None:
        contents = self.project.contents
        try:
            seen = ((self.project.folder / FILE).stat().st_mtime_ns, contents.version)
        except OSError:
            return None
        if seen != self._seen:
            self._seen, self._report = seen, kept_quality(self.project)
        return self._report


def _end(running: list[ChildProcess[None, None]]) -> None:
    for process in running:
        process.kill()


def main(folder: str) -> None:
    """Estimate the quality of the project in a folder, and save it."""
    connect_to_parent(NICE)
    with Project.open(Path(folder)) as project:
        quality_of(project)


if __name__ == "__main__":
    main(sys.argv[1])
