"""A labelling project on disk: instances, answers as events, leases, and a learner that is a replay of the answers."""

from bagwise.project.checking import check
from bagwise.project.events import ANSWERS, Event
from bagwise.project.media import Kept, Media
from bagwise.project.project import AlreadyAnswered, Asked, Project, predict
from bagwise.project.settings import Asking, Display, Learning, Settings
from bagwise.project.status import Status, status_of

__all__ = [
    "ANSWERS",
    "AlreadyAnswered",
    "Asked",
    "Asking",
    "Display",
    "Event",
    "Kept",
    "Learning",
    "Media",
    "Project",
    "Settings",
    "Status",
    "check",
    "predict",
    "status_of",
]
