"""Estimating the quality beside the work, in a process of its own at low priority: nobody who answers waits for it.

What the process finds is kept in a file of the project's folder (`quality.json`), where this one looks it up.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from bagwise.project.project import Project
from bagwise.project.reports.quality import FILE, Report, is_estimated, kept_quality, quality_of

PAUSE = 3.0
SHARE = 2.0
"""Between two estimates it rests for so many seconds, or so many times as long as the last one took."""
NICE = 10


class QualityProcess:
    """The newest estimate of one open project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._mutex = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._give_up = weakref.finalize(self, _end, self._running)
        self._began, self._rests_until, self._about = 0.0, 0.0, 0
        self._seen: object = None
        self._report: Report | None = None

    def newest(self) -> tuple[Report | None, bool]:
        """The newest estimate there is, and whether one that knows more is on its way; one is begun when it is time."""
        with self._mutex:
            self._finish()
            behind = len(self.project.events) > self._about
            if behind and not self._running and time.monotonic() >= self._rests_until:
                self._begin()
            return self._look_up(), behind or bool(self._running)

    def now(self) -> Report:
        """An estimate that knows everything said so far; whoever wants it waits, unless it was made before."""
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
        """Give up what is being estimated."""
        self._give_up()

    def _begin(self) -> None:
        self._began, self._about = time.monotonic(), len(self.project.events)
        command = [sys.executable, "-m", __name__, str(self.project.folder)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        self._running.append(process)

    def _finish(self) -> None:
        if self._running and self._running[0].poll() is not None:
            self._running.clear()
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


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.kill()
        process.wait()


def main(folder: str) -> None:
    """Estimate and keep it."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    with Project.open(Path(folder)) as project:
        quality_of(project)


if __name__ == "__main__":
    main(sys.argv[1])
