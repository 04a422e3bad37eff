"""A labelling project on disk: instances, answers as events, leases, and a learner that is a replay of the answers."""

from bagwise.project.checking import check
from bagwise.project.events import ANSWERS, Event
from bagwise.project.project import AlreadyAnswered, Asked, Project, predict
from bagwise.project.quality import Report, quality_of
from bagwise.project.settings import Asking, Display, Learning, Settings
from bagwise.project.status import Status, status_of

__all__ = [
    "ANSWERS",
    "AlreadyAnswered",
    "Asked",
    "Asking",
    "Display",
    "Event",
    "Learning",
    "Project",
    "Report",
    "Settings",
    "Status",
    "check",
    "predict",
    "quality_of",
    "status_of",
]
