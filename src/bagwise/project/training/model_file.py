"""The trained model of a project: `model.npz` in its folder, and which model predictions come from.

A project has at most one trained model on disk, fitted from scratch by `bagwise train`. It carries its thresholds and
its provenance: the project, a fingerprint of everything that it was fitted to, and how many answers that was. It is
*current* while the fingerprint of the project is the same, and every prediction comes from it then. Every new event
(answer, correction, undo), import, removal, adjudicator or change of `[learning]` makes it *outdated*: then predictions
come from the online model, the replay of the answers, until the project is trained again.
"""

import contextlib
import copy
import hashlib
import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.core.wording import counted
from bagwise.data.metrics import THRESHOLD
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier
from bagwise.project.answers.replay import Replay
from bagwise.project.storage.queries import Contents

FILE = "model.npz"
NEVER = 2.0
"""A threshold that no probability reaches."""

Kind = Literal["trained", "online"]
Stored = Literal["current", "outdated", "unusable", "none"]
ADVICE: dict[Stored, str] = {
    "current": "",
    "outdated": "The trained model is outdated: run `bagwise train` to update it.",
    "unusable": f"`{FILE}` is not a model of this project: run `bagwise train` to replace it.",
    "none": "No model was trained yet: run `bagwise train` to fit one from scratch.",
}


@dataclass(frozen=True)
class ModelInfo:
    """Which model predictions come from.

    Parameters
    ----------
    kind : {"trained", "online"}
        `trained`: fitted from scratch and stored by `bagwise train`. `online`: the replay of the answers, which also
        chooses the questions.
    answers : int
        Answers in effect that it learned from.
    thresholds : dict of str to float
        The probability above which each class is predicted.
    metric : str or None
        The metric that the thresholds were learned for; None where all are a half.
    stored : {"current", "outdated", "unusable", "none"}
        The state of the trained model on disk. Only a current one is used.

    Examples
    --------
    >>> print(ModelInfo("online", 12, {"wren": 0.5}, None, "outdated").sentence)
    Model: online, 12 answers, threshold 0.5. The trained model is outdated: run `bagwise train` to update it.
    """

    kind: Kind
    answers: int
    thresholds: dict[str, float]
    metric: str | None
    stored: Stored

    @property
    def sentence(self) -> str:
        """Say in one line which model is used and, where it is not a trained one, why."""
        thresholds = f"threshold {THRESHOLD}" if self.metric is None else f"thresholds for {self.metric}"
        return f"Model: {_name(self.kind, self.answers)}, {thresholds}. {ADVICE[self.stored]}".rstrip()

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the sentence."""
        return {**asdict(self), "sentence": self.sentence}


@dataclass(frozen=True)
class ProjectModel:
    """The model that a project's predictions come from, and which one that is.

    Parameters
    ----------
    classifier : MIMLClassifier
        Fitted, with its thresholds and the names of its classes and features.
    info : ModelInfo
        Which model it is.

    Examples
    --------
    >>> classifier = MIMLClassifier.from_weights([[1.0], [0.0]])
    >>> model = ProjectModel(classifier, ModelInfo("trained", 12, {"wren": 0.5, "owl": 0.5}, None, "current"))
    >>> print(model.info.sentence)
    Model: trained, 12 answers, threshold 0.5.
    """

    classifier: MIMLClassifier
    info: ModelInfo

    def save(self, path: str | Path) -> None:
        """Write the model with its thresholds to a file; `bagwise predict` and `MIMLClassifier.load` read it.

        Parameters
        ----------
        path : str or Path
            The file, .npz.
        """
        self.classifier.save(path)


@dataclass(frozen=True)
class Provenance:
    """What a model learned from: the project, its events (all of them, and the answers in effect), and for what."""

    kind: Kind
    project: str
    fingerprint: str
    events: int
    answers: int
    metric: str | None = None

    def __post_init__(self) -> None:
        texts, numbers = (self.project, self.fingerprint), (self.events, self.answers)
        if not all(isinstance(one, str) for one in texts) or not all(isinstance(one, int) for one in numbers):
            raise TypeError("not a provenance")

    @property
    def name(self) -> str:
        """Return a short name of the model, which stands in files of predictions."""
        return _name(self.kind, self.answers)


def fingerprint(counted: Replay) -> str:
    """Return a digest of everything that a fit depends on: contents, events and settings."""
    asking = counted.settings.asking
    named = [counted.contents.digest(), counted.votes.digest(), counted.settings.learning.fingerprint]
    return hashlib.sha256(json.dumps([*named, asking.people, asking.share], sort_keys=True).encode()).hexdigest()


def with_provenance(model: MIMLClassifier, counted: Replay, kind: Kind, metric: str | None = None) -> MIMLClassifier:
    """Return a copy of the model that says which events of which project it learned from."""
    project, events, answers = counted.contents.project, counted.applied, len(counted.votes.all_effective())
    found = copy.copy(model)
    found.thresholds_ = _with_inactive(np.asarray(model.thresholds_), counted.contents)
    found.provenance_ = asdict(Provenance(kind, project, fingerprint(counted), events, answers, metric))
    return found


def _with_inactive(thresholds: Array, contents: Contents) -> Array:
    """The thresholds, such that classes that are retired or part of another are never predicted."""
    found = np.full(thresholds.shape, NEVER)
    found[contents.class_list.active] = thresholds[contents.class_list.active]
    return found


def provenance_of(model: MIMLClassifier) -> Provenance | None:
    """Return what a model learned from; None where an older Bagwise, or no project, made it."""
    return None if model.provenance_ is None else Provenance(**model.provenance_)


def info_of(model: MIMLClassifier, stored: Stored = "current") -> ModelInfo:
    """Describe a model that a project made."""
    made = provenance_of(model)
    assert made is not None
    of_classes = zip(model.class_names_, map(float, model.thresholds_), strict=True)
    thresholds = {name: threshold for name, threshold in of_classes if threshold != NEVER}
    return ModelInfo(made.kind, made.answers, thresholds, made.metric, stored)


def online_info(counted: Replay, stored: Stored) -> ModelInfo:
    """Describe the online model, without making it."""
    thresholds = dict.fromkeys(counted.contents.class_list.active_names, THRESHOLD)
    return ModelInfo("online", len(counted.votes.all_effective()), thresholds, None, stored)


class ModelFile:
    """The trained model in a project's folder. It is read again only after the file changed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._read: tuple[MIMLClassifier, Provenance | None] | None = None

    def write(self, model: MIMLClassifier) -> None:
        """Replace the file in one step: a reader finds the old model or the new one."""
        unfinished = self.path.with_name(f".{FILE}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            model.save(unfinished)
            unfinished.replace(self.path)
        except OSError as error:
            raise BagwiseError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        finally:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def current(self, counted: Replay) -> tuple[MIMLClassifier | None, Stored]:
        """Return the trained model if it is current, and the state of the file."""
        try:
            found = self._load()
        except FileError:
            return None, "unusable"
        if found is None:
            return None, "none"
        model, made = found
        if made is None:
            return None, "outdated"
        if not _belongs(made, counted.contents):
            return None, "unusable"
        is_current = made.events == counted.applied and made.fingerprint == fingerprint(counted)
        return (model, "current") if is_current else (None, "outdated")

    def wrong(self, contents: Contents) -> str:
        """Say what is wrong with the file; empty where it is a trained model of this project, or does not exist."""
        try:
            found = self._load()
        except FileError as error:
            return str(error)
        if found is None or found[1] is None or _belongs(found[1], contents):
            return ""
        return f"{self.path} is not a trained model of this project: delete it, or run `bagwise train`"

    def _load(self) -> tuple[MIMLClassifier, Provenance | None] | None:
        with self._lock:
            try:
                stat = self.path.stat()
            except FileNotFoundError:
                return None
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._read is None or seen != self._seen:
                try:
                    model = MIMLClassifier.load(self.path)
                    self._read = model, provenance_of(model)
                except Exception as error:
                    # Damaged bytes provoke almost anything in a reader.
                    raise FileError(self.path, "is not a Bagwise model: delete it, or run `bagwise train`.") from error
                self._seen = seen
            return self._read


def _belongs(made: Provenance, contents: Contents) -> bool:
    return made.kind == "trained" and made.project == contents.project


def _name(kind: Kind, answers: int) -> str:
    return f"{kind}, {counted(answers, 'answer')}"
