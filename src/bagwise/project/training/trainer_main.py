"""The training process: it receives how many questions are needed, trains on all events, and sends rankings.

Messages to it are numbers of questions. Its messages are pairs of a ranking, or of the error that occurred instead, and
whether it is the last for now.
"""

import logging
from pathlib import Path

from bagwise.core.logs import LogLevel, configure_logging
from bagwise.core.processes import ParentConnection, connect_to_parent
from bagwise.project.project import Project
from bagwise.project.queue.ranking import Ranking
from bagwise.project.training.warm_up import warm

NICE = 10

logger = logging.getLogger(__name__)

Message = tuple[Ranking | Exception, bool]


def rank(project: Project, parent: ParentConnection[Message, int]) -> None:
    """Send rankings until the process has to stop."""
    warmed = False
    while (count := parent.receive()) is not None:
        done = False
        while not done and parent.is_idle:
            try:
                ranking = project.rank(count)
                done = ranking.applied >= len(project.events)
                parent.send((ranking, done))
            except Exception as error:
                logger.warning("training failed", exc_info=error)
                parent.send((error, True))
                break
        if not warmed and parent.is_idle:
            # After the first question, which somebody waits for.
            warm(project)
            warmed = True


def main(folder: str, cluster: str = "", log_level: str = LogLevel.WARNING, device: str = "") -> None:
    """Open the project in a folder, perhaps with a pool on a cluster or a card, and send rankings to the parent."""
    configure_logging(LogLevel(log_level))
    parent = connect_to_parent(NICE)
    with Project.open(Path(folder), cluster=cluster, device=device) as project:
        rank(project, parent)
