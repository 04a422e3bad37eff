"""The learner of a project is a replay of its events; snapshots only save time.

    learner = ActiveLearner(bags, classes, given labels), then every event in its order

A snapshot is taken up only if it was made from the same bags, labels, settings and the very same events; else the
replay starts earlier. So whatever happened to a snapshot, the learner is the same, bit for bit.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bagwise.asking import Answer
from bagwise.bags import Bags
from bagwise.kernels import Array
from bagwise.learner import ActiveLearner, Memory
from bagwise.model import MIMLClassifier
from bagwise.project.events import Decision, Event, Pair, Votes
from bagwise.project.settings import Learning, Settings
from bagwise.project.store import Contents

FOLDER = "snapshots"
EVERY = 200
KEPT = 3


@dataclass
class Replay:
    """Votes and, where it is wanted, the learner that was taught them; `applied` events are in."""

    votes: Votes
    given: Array
    learner: ActiveLearner | None = None
    applied: int = 0

    def apply(self, event: Event) -> None:
        """Take the next event in; the learner learns what it changes."""
        before = self.votes.decisions.get(event.pair)
        self.votes.apply(event)
        self.applied = event.number
        # What was imported as known is known, whatever people said of it before.
        if self.learner is not None and np.isnan(self.given[event.pair]):
            teach(self.learner, event.pair, before, self.votes.decisions.get(event.pair))


def teach(learner: ActiveLearner, pair: Pair, before: Decision | None, after: Decision | None) -> None:
    """Tell the learner what became of a pair.

    Taking back the very last thing told undoes it completely; anything older is revised, and the model goes on from
    where it is.
    """
    if before == after or (before and after and before.present is after.present):
        return
    bag, label_class = pair
    if before is None:
        assert after is not None
        learner.replay([Answer(bag, (label_class,), (after.present,), after.audit)])
    elif after is not None:
        learner.revise(bag, label_class, after.present)
    elif (last := learner.last_told) is not None and (last.bag, last.classes) == (bag, (label_class,)):
        learner.undo()
    else:
        learner.retract(bag, label_class)


def start(contents: Contents, bags: Bags, settings: Settings, memory: Memory | None = None) -> ActiveLearner:
    """The learner before the first event, or as the memory has it."""
    learning = settings.learning
    return ActiveLearner(
        bags,
        contents.classes,
        contents.given,
        model_of(learning),
        criterion=learning.criterion,
        update=learning.update,
        audit=learning.audit,
        random_state=learning.seed,
        memory=memory,
    )


def model_of(learning: Learning) -> MIMLClassifier:
    """A model that knows nothing yet."""
    return MIMLClassifier(
        prior=learning.prior,
        background=learning.background,
        step_size=learning.step_size,
        random_state=learning.seed,
    )


def fresh_votes(contents: Contents, settings: Settings) -> Votes:
    """Nothing said yet."""
    asking = settings.asking
    return Votes(asking.people, asking.share, settings.learning.seed, contents.adjudicators)


def votes_only(contents: Contents, settings: Settings, events: Sequence[Event]) -> Replay:
    """What was said, without a learner."""
    replay = Replay(fresh_votes(contents, settings), contents.given)
    for event in events:
        replay.apply(event)
    return replay


def full(
    contents: Contents,
    bags: Bags,
    settings: Settings,
    events: Sequence[Event],
    snapshots: "Snapshots | None" = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Replay:
    """Everything, from the newest snapshot that fits, or from the beginning."""
    found = snapshots.newest(events) if snapshots is not None else None
    done, memory = found if found is not None else (0, None)
    replay = votes_only(contents, settings, events[:done])
    replay.learner = start(contents, bags, settings, memory)
    progress(done)
    for event in events[done:]:
        replay.apply(event)
        progress(1)
    return replay


class Snapshots:
    """Files that hold the learner's memory after some number of events, for one state of everything else."""

    def __init__(self, folder: Path, contents: Contents, settings: Settings) -> None:
        self.folder = folder / FOLDER
        self.contents, self.settings = contents, settings
        named = {
            "project": contents.project,
            "contents": contents.version,
            "adjudicators": sorted(contents.adjudicators),
            "learning": asdict(settings.learning),
            "people": settings.asking.people,
            "share": settings.asking.share,
            "version": version("bagwise"),
        }
        self._content = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def newest(self, events: Sequence[Event]) -> tuple[int, Memory] | None:
        """(number of events, memory) of the newest snapshot that these events led to."""
        places = sorted((int(path.stem) for path in self.folder.glob("*.npz") if path.stem.isdigit()), reverse=True)
        possible = [place for place in places if place <= len(events)]
        if not possible:
            return None
        digests = self._digests(events, set(possible))
        for place in possible:
            memory = self._read(place, digests[place])
            if memory is not None:
                return place, memory
        return None

    def save(self, replay: Replay) -> None:
        """Write what the learner has become; only the newest few are kept."""
        assert replay.learner is not None
        named = self._name(replay.votes.digest())
        path = self.folder / f"{replay.applied}.npz"
        unfinished = self.folder / f"{replay.applied}.{os.getpid()}.part"
        try:
            self.folder.mkdir(exist_ok=True)
            with unfinished.open("wb") as file:
                np.savez(file, name=np.array(named), **replay.learner.memory())  # type: ignore[arg-type]
            unfinished.replace(path)
            old = sorted((p for p in self.folder.glob("*.npz") if p.stem.isdigit()), key=lambda p: int(p.stem))[:-KEPT]
            for one in old:
                one.unlink(missing_ok=True)
        except OSError:
            # A snapshot saves time and nothing else: a full disk must not stop an answer that is saved already.
            unfinished.unlink(missing_ok=True)

    def _digests(self, events: Sequence[Event], places: set[int]) -> dict[int, str]:
        votes = fresh_votes(self.contents, self.settings)
        found = {0: votes.digest()}
        for event in events:
            votes.apply(event)
            if event.number in places:
                found[event.number] = votes.digest()
        return found

    def _name(self, digest: str) -> str:
        return f"{self._content} {digest}"

    def _read(self, place: int, digest: str) -> Memory | None:
        try:
            with np.load(self.folder / f"{place}.npz", allow_pickle=False) as file:
                memory = {name: file[name] for name in file.files}
            fits = str(memory.pop("name")) == self._name(digest)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return memory if fits else None
