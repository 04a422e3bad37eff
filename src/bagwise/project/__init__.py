"""A labelling project on disk: instances, answers as events, leases, and a learner that is a replay of the answers."""

from bagwise.project.changing import Replaced
from bagwise.project.checking import check
from bagwise.project.database import DatabaseError
from bagwise.project.deciding import decide
from bagwise.project.events import ANSWERS, Event
from bagwise.project.handing import Asked, Asker, NoQuestion
from bagwise.project.importing_tables import Tables
from bagwise.project.invitations import Invitation, Invitations, NotSignedIn
from bagwise.project.media import Kept, Media
from bagwise.project.participation import Participation, participants
from bagwise.project.project import Project, predict
from bagwise.project.quality import Report, quality_of
from bagwise.project.rankings import TrainerStopped
from bagwise.project.roles import NotAllowed
from bagwise.project.saying import AlreadyAnswered, Said
from bagwise.project.settings import Asking, Display, Learning, Settings
from bagwise.project.status import Status, status_of
from bagwise.project.tuning import Tuned, tune
from bagwise.project.whole import WholeBag, answer_whole, seconds_of, undo_whole, whole_bags
from bagwise.project.working import Each, in_processes

__all__ = [
    "ANSWERS",
    "AlreadyAnswered",
    "Asked",
    "Asker",
    "Asking",
    "DatabaseError",
    "Display",
    "Each",
    "Event",
    "Invitation",
    "Invitations",
    "Kept",
    "Learning",
    "Media",
    "NoQuestion",
    "NotAllowed",
    "NotSignedIn",
    "Participation",
    "Project",
    "Replaced",
    "Report",
    "Said",
    "Settings",
    "Status",
    "Tables",
    "TrainerStopped",
    "Tuned",
    "WholeBag",
    "answer_whole",
    "check",
    "decide",
    "in_processes",
    "participants",
    "predict",
    "quality_of",
    "seconds_of",
    "status_of",
    "tune",
    "undo_whole",
    "whole_bags",
]
