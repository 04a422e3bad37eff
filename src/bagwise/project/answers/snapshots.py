"""Snapshots: files with the state of a project's learner, which save the time of a replay.

A snapshot is used only if it is complete and was made from the same contents, settings and events.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bagwise.learning.learner import Snapshot
from bagwise.project.answers.current_labels import fresh_votes
from bagwise.project.answers.events import Event
from bagwise.project.settings import Settings
from bagwise.project.storage.queries import Contents

FOLDER = "snapshots"
SNAPSHOT_EVERY = 100
KEPT = 3
LAYOUT = 6
"""Of a snapshot's arrays, and of the arithmetic that made them; a snapshot of another layout is not used.

A change of what a replay computes, be it a last digit, must raise it (`tests/project/test_processors.py` notices).
"""


class Snapshots:
    """Files with a learner's snapshot after some number of events, valid for these contents and settings."""

    def __init__(self, folder: Path, contents: Contents, settings: Settings) -> None:
        self.folder = folder / FOLDER
        self.contents, self.settings = contents, settings
        asking = settings.asking
        learning = settings.learning.fingerprint
        named = [contents.digest(), learning, asking.people, asking.share, version("bagwise"), LAYOUT]
        self._content = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def newest(self, events: Sequence[Event], start: int) -> tuple[int, Snapshot] | None:
        """(number of events, snapshot) of the newest snapshot at or after `start` that these events led to."""
        possible = [place for place in reversed(self._places()) if start <= place <= len(events)]
        digests = self._digests(events, set(possible)) if possible else {}
        for place in possible:
            snapshot = self._read(place, digests[place])
            if snapshot is not None:
                return place, snapshot
        return None

    def save(self, applied: int, digest: str, snapshot: Snapshot) -> None:
        """Store the snapshot after `applied` events whose digest is given; only the newest few are kept."""
        name = self._name(digest, snapshot)
        unfinished = self.folder / f"{applied}.{os.getpid()}.part"
        try:
            self.folder.mkdir(exist_ok=True)
            with unfinished.open("wb") as file:
                np.savez(file, name=np.array(name), **snapshot)  # type: ignore[arg-type]
            unfinished.replace(self.folder / f"{applied}.npz")
            # A higher number is from before a backup was restored.
            kept = [place for place in self._places() if place <= applied][-KEPT:]
            for place in set(self._places()) - set(kept):
                (self.folder / f"{place}.npz").unlink(missing_ok=True)
        except OSError:
            # A snapshot saves time and nothing else: a full disk must not stop an answer that is saved already. On a
            # read-only disk a file that does not exist cannot be removed either.
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def _places(self) -> list[int]:
        return sorted(int(path.stem) for path in self.folder.glob("*.npz") if path.stem.isdigit())

    def _digests(self, events: Sequence[Event], places: set[int]) -> dict[int, str]:
        votes = fresh_votes(self.contents, self.settings)
        found = {0: votes.digest()}
        for event in events:
            votes.note(event)
            if event.number in places:
                found[event.number] = votes.digest()
        return found

    def _name(self, digest: str, snapshot: Snapshot) -> str:
        whole = hashlib.sha256()
        for key in sorted(snapshot):
            whole.update(f"{key} {snapshot[key].dtype} {snapshot[key].shape}".encode())
            whole.update(np.ascontiguousarray(snapshot[key]).tobytes())
        return f"{self._content} {digest} {whole.hexdigest()}"

    def _read(self, place: int, digest: str) -> Snapshot | None:
        try:
            with (self.folder / f"{place}.npz").open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                snapshot = {name: file[name] for name in file.files}
            fits = str(snapshot.pop("name")) == self._name(digest, snapshot)
        except Exception:
            # Bytes in the wrong place provoke almost anything in a reader; whatever it is, the snapshot is not used.
            return None
        return snapshot if fits else None
