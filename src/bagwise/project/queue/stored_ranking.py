"""The ranking that a server used last, in a file: the next one shows a question before its trainer is ready.

It saves time and nothing else, as a snapshot does: it is used only if it is complete and was made by this version from
the same contents, settings and events; of the events, it may lack the newest. Every event has a key of its own, and
none is removed: where the last one that it knows is there with its key, so are all before.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier, persistence
from bagwise.project.answers.annotator_noise import AnnotatorRates
from bagwise.project.answers.events import Event
from bagwise.project.answers.snapshots import LAYOUT
from bagwise.project.queue.ranking import RankedQuestions, Ranking
from bagwise.project.settings import Settings
from bagwise.project.storage.queries import Contents

FILE = "ranking.npz"
FIELDS = RankedQuestions.FIELDS
STORED = 4000
"""Questions that are stored: as many as are ranked for some twenty people."""


class StoredRanking:
    """The file of a project's ranking, valid for these settings."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._path, self._settings = folder / FILE, settings
        named = [asdict(settings.learning), asdict(settings.asking), version("bagwise"), LAYOUT]
        self._made_by = hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()

    def write(self, ranking: Ranking, events: Sequence[Event]) -> None:
        """Replace the stored ranking; nothing happens where the disk is full or read-only."""
        unfinished = self._path.with_name(f".{FILE}.{os.getpid()}.part")
        try:
            self._path.parent.mkdir(exist_ok=True)
            persistence.write(unfinished, self._tree(ranking, events))
            unfinished.replace(self._path)
        except (OSError, BagwiseError):
            # A full disk must not stop an answer, nor must a transformer that cannot be written.
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def _tree(self, ranking: Ranking, events: Sequence[Event]) -> dict[str, Any]:
        questions = ranking.questions[:STORED]
        return {
            "name": self._name(ranking.contents, ranking.version, ranking.applied, events),
            "questions": [[getattr(question, name) for name in FIELDS] for question in questions],
            "complete": ranking.complete and len(questions) == len(ranking.questions),
            "applied": ranking.applied,
            "model": ranking.model.as_tree(),
            "people": ranking.people.snapshot(),
        }

    def read(self, contents: Contents, events: Sequence[Event]) -> Ranking | None:
        """Return the stored ranking; None where there is none that these contents and events led to."""
        digest, of_contents = contents.digest(), contents.version
        try:
            tree = persistence.read(self._path)
            applied = tree["applied"]
            if applied > len(events) or tree["name"] != self._name(digest, of_contents, applied, events):
                return None
            people = AnnotatorRates.restored(self._settings.learning.noise, tree["people"])
            model = MIMLClassifier.from_tree(tree["model"])
            questions = [Question(**dict(zip(FIELDS, one, strict=True))) for one in tree["questions"]]
            ranked = RankedQuestions.of(questions)
        except Exception:
            # Damaged bytes provoke almost anything in a reader; whatever it is, the trainer makes a ranking.
            return None
        return Ranking(ranked, tree["complete"], applied, digest, of_contents, model, people)

    def _name(self, contents: str, of_contents: int, applied: int, events: Sequence[Event]) -> str:
        last = events[applied - 1].key if applied else ""
        return f"{self._made_by} {contents} {of_contents} {applied} {last}"
