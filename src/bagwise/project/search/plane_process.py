"""Computes the map of a project in a separate process at low priority, so that no answer waits for it."""

import threading
import weakref
from pathlib import Path

from bagwise.core.processes import ChildProcess, connect_to_parent
from bagwise.project.project import Project
from bagwise.project.search.plane import LAYOUTS, Plane

NICE = 10


class PlaneProcess:
    """The maps of one open project; a process that computes them is started when one is asked for and missing."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._mutex = threading.Lock()
        self._running: list[ChildProcess[None, None]] = []
        self._stop = weakref.finalize(self, _end, self._running)
        self._failed_for = ""

    def newest(self) -> tuple[dict[str, Plane], bool]:
        """Return the layouts that are computed by name, and whether others will follow."""
        with self._mutex:
            key = self.project.map_key()
            ended = bool(self._running) and not self._running[0].is_running
            if ended:
                self._running.pop().wait()
            found = {layout: plane for layout in LAYOUTS if (plane := self.project.stored_map(layout)) is not None}
            missing = len(found) < len(LAYOUTS)
            if ended and missing:
                # It is not started again and again: memory may be too small for it.
                self._failed_for = key
            if missing and not self._running and self._failed_for != key:
                self._running.append(ChildProcess(__name__, str(self.project.folder), silent=True))
            return found, bool(self._running)

    def close(self) -> None:
        """Stop the process."""
        self._stop()


def _end(running: list[ChildProcess[None, None]]) -> None:
    for process in running:
        process.kill()


def main(folder: str) -> None:
    """Compute the map of the project in a folder and store it."""
    connect_to_parent(NICE)
    with Project.open(Path(folder)) as project:
        for layout in LAYOUTS:
            project.map(layout)
