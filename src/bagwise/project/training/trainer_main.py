"""The training process: it receives how many questions are needed, trains on all events, and sends rankings.

Messages to it are numbers of questions, and each is answered with a ranking, or with the error that occurred instead.
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


def rank(project: Project, parent: ParentConnection[Ranking | Exception, int]) -> None:
    """Send a ranking for every message, until the process has to stop."""
    warmed = False
    while (count := parent.receive()) is not None:
        try:
            ranking = project.rank(count)
            parent.send(ranking)
        except Exception as error:
            logger.warning("training failed", exc_info=error)
            parent.send(error)
            continue
        if not warmed and parent.is_idle and ranking.applied >= len(project.events):
            # After the first question, which somebody waits for.
            warm(project)
            warmed = True


def main(folder: str, cluster: str = "", log_level: str = LogLevel.WARNING, device: str = "") -> None:
    """Open the project in a folder, perhaps with a pool on a cluster or a card, and send rankings to the parent."""
    configure_logging(LogLevel(log_level))
    parent = connect_to_parent(NICE)
    with Project.open(Path(folder), cluster=cluster, device=device) as project:
        rank(project, parent)
