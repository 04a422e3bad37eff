"""The training process: it receives how many questions are needed, trains on all events, and sends rankings.

It hears numbers and says rankings, each with whether it is the last for now. It ends when it hears None, and at once
when nobody is there to hear it.
"""

import contextlib
import logging
import os
import pickle
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from bagwise.core.logs import LogLevel, configure_logging
from bagwise.project.project import Project
from bagwise.project.training.warm_up import warm

NICE = 5

logger = logging.getLogger(__name__)


def rank(project: Project, heard: "queue.SimpleQueue[int | None]", out: BinaryIO) -> None:
    """Until None is heard."""
    while (wanted := heard.get()) is not None:
        done = False
        while not done and heard.empty():
            try:
                ranking = project.rank(wanted)
                done = ranking.applied >= len(project.events)
                _say(out, (ranking, done))
            except Exception as error:
                logger.warning("training failed", exc_info=error)
                _say(out, (error, True))
                break


def _say(out: BinaryIO, what: object) -> None:
    pickle.dump(what, out)
    out.flush()


def _listen(source: BinaryIO, heard: "queue.SimpleQueue[int | None]") -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            said = pickle.load(source)  # noqa: S301 -- from the process that began this one
            heard.put(said)
            if said is None:
                return
    os._exit(1)


def main(folder: str, cluster: str = "", log_level: str = LogLevel.WARNING) -> None:
    """Talk over stdin and stdout; whatever else is printed goes where errors go."""
    configure_logging(LogLevel(log_level))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Ctrl-C is for the server, which then says that it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    heard: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, heard), daemon=True).start()
    with Project.open(Path(folder), cluster=cluster) as project:
        warm(project)
        rank(project, heard, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
