"""A labelling project on disk: instances, answers as events, leases, and a learner that is a replay of the answers."""

from bagwise.project.access.invitations import Invitation, Invitations, NotSignedIn
from bagwise.project.access.roles import NotAllowed
from bagwise.project.answers.annotations import Annotation
from bagwise.project.answers.answers import AlreadyAnswered, Submission, whole_bag_answers
from bagwise.project.answers.corrections import Replaced
from bagwise.project.answers.events import ANSWERS, Event
from bagwise.project.imports.details import Details
from bagwise.project.imports.media import Kept, Media
from bagwise.project.imports.table_import import Tables
from bagwise.project.instances.worker_pool import Each, in_processes
from bagwise.project.project import Project, predict
from bagwise.project.queue.answering_time import answering_seconds
from bagwise.project.queue.leases import NoQuestion
from bagwise.project.queue.ranking import TrainerStopped
from bagwise.project.queue.requests import LeaseRequest
from bagwise.project.reports.changed_data import ChangedData, changed_data
from bagwise.project.reports.participation import Participation, participants
from bagwise.project.reports.quality import Report, quality_of
from bagwise.project.reports.status import SiteStatus, Status, status_of
from bagwise.project.settings import Asking, Display, Learning, Settings
from bagwise.project.storage.bag_filter import BagFilter
from bagwise.project.storage.database import DatabaseError
from bagwise.project.storage.integrity_check import check
from bagwise.project.storage.stored_leases import Lease
from bagwise.project.training.model_file import ModelInfo, ProjectModel
from bagwise.project.training.tuning import Tuned, tune

__all__ = [
    "ANSWERS",
    "AlreadyAnswered",
    "Annotation",
    "Asking",
    "BagFilter",
    "ChangedData",
    "DatabaseError",
    "Details",
    "Display",
    "Each",
    "Event",
    "Invitation",
    "Invitations",
    "Kept",
    "Learning",
    "Lease",
    "LeaseRequest",
    "Media",
    "ModelInfo",
    "NoQuestion",
    "NotAllowed",
    "NotSignedIn",
    "Participation",
    "Project",
    "ProjectModel",
    "Replaced",
    "Report",
    "Settings",
    "SiteStatus",
    "Status",
    "Submission",
    "Tables",
    "TrainerStopped",
    "Tuned",
    "answering_seconds",
    "changed_data",
    "check",
    "in_processes",
    "participants",
    "predict",
    "quality_of",
    "status_of",
    "tune",
    "whole_bag_answers",
]
