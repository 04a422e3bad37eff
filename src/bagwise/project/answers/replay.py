"""The learner of a project is a replay of its events; snapshots only save time.

    learner = fit(everything known at the last turning point), then every later event in its order

Turning points are every `REFIT_EVERY`th event and every change of the contents (an import, a new adjudicator): there
the model is fitted again to all that is known, so that a replay never has to learn more than a few hundred answers one
by one. There, too, the rates at which people are wrong are estimated anew where the settings say so, from everything
said so far and nothing else. A snapshot is taken up only if it is whole and was made from the same contents, settings
and the very same events. So whatever happened to a snapshot, the learner is the same, bit for bit.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from bagwise.data.bags import Bags
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.learning.learner import ActiveLearner, Memory
from bagwise.learning.pool import Pool
from bagwise.learning.questions import Answer, Pair
from bagwise.model import MIMLClassifier
from bagwise.model.features import CURVED, STANDARDISE
from bagwise.project.answers.annotator_noise import People, examine, labels_of
from bagwise.project.answers.current_labels import known_of, known_values
from bagwise.project.answers.events import Decision, Event, Votes
from bagwise.project.settings import CURVED_SCALING, ESTIMATE, Learning, Settings
from bagwise.project.storage.queries import UNKNOWN, Contents

FOLDER = "snapshots"
SNAPSHOT_EVERY = 100
REFIT_EVERY = 500
KEPT = 3
LAYOUT = 3
"""Of a snapshot's arrays, and of the arithmetic that made them; one of another layout is not taken up.

Whoever changes what a replay computes, be it a last digit, raises it (`tests/project/test_processors.py` notices).
"""
SCALERS: dict[str, Callable[[], Any]] = {
    "standardise": lambda: STANDARDISE,
    "centre": lambda: StandardScaler(with_std=False),
    "none": lambda: None,
    CURVED_SCALING: lambda: CURVED,
}


class Replay:
    """Votes and, where bags are given, the learner that was taught them; `applied` events are in."""

    def __init__(
        self, contents: Contents, settings: Settings, bags: Bags | None = None, pool: Pool | None = None
    ) -> None:
        self.contents, self.settings, self.bags, self.pool = contents, settings, bags, pool
        self.votes = fresh_votes(contents, settings)
        self.people = People.before(settings.learning.noise)
        self.learner: ActiveLearner | None = None
        self.applied = 0

    def count(self, events: Sequence[Event]) -> None:
        """Take events in without learning them."""
        for event in events:
            self.votes.apply(event)
            self.applied = event.number

    def begin(self, memory: Memory | None = None) -> None:
        """Make the learner here: from what is known now, or as the memory has it."""
        assert self.bags is not None
        learning = self.settings.learning
        if memory is None:
            self.people = people_of(self.contents, self.votes, self.bags, learning)
        else:
            self.people = People.remembered(learning.noise, memory)
        labels = labels_of(self.contents, self.votes, self.people)
        from_nothing = not (self.contents.given != UNKNOWN).all(axis=1).any()
        bags = self.bags if self.pool is None else None
        self.learner = learner_of(bags, self.contents.classes, labels, self.settings, memory, from_nothing, self.pool)
        if memory is None:
            withdrawn = self.known()[1]
            withdrawn[sorted(self.contents.removed)] = True
            self.learner.take_up(withdrawn, len(self.votes.decisions))

    def apply(self, event: Event) -> None:
        """Take the next event in and learn what it changes."""
        pair = event.pair
        before = known_of(self.contents, self.votes, pair)
        self.count([event])
        if self.learner is None:
            return
        if event.number % REFIT_EVERY == 0:
            self.begin()
        else:
            # What was imported, and what it was corrected to, is taken for right.
            flip = 0.0 if self.contents.is_given(pair) else self.people.flip(self.votes, pair)
            teach(self.learner, pair, before, known_of(self.contents, self.votes, pair), flip)

    def skip_to(self, events: Sequence[Event]) -> None:
        """Take events in of which the last is a turning point: what they teach one by one would be forgotten there."""
        self.count(events)
        self.begin()

    def known(self) -> tuple[Array, Array]:
        """1, 0 or UNKNOWN for every pair, imported or decided; and where nobody could say."""
        return known_values(self.contents, self.votes)

    def memory(self) -> Memory:
        """What the learner has become, and the rates it goes by."""
        assert self.learner is not None
        return {**self.learner.memory(), **self.people.memory()}


def people_of(contents: Contents, votes: Votes, bags: Bags, learning: Learning) -> People:
    """How often everybody is wrong, as the settings want it: as they say, or worked out from all that was said."""
    if learning.noise != ESTIMATE:
        return People.before(learning.noise)
    return examine(contents, votes, bags, model_of(learning)).people


def teach(
    learner: ActiveLearner, pair: Pair, before: Decision | None, after: Decision | None, flip: float = 0.0
) -> None:
    """Tell the learner what became of a pair.

    Taking back the very last thing told undoes it completely; anything older is revised, and the model goes on from
    where it is.
    """
    if before == after or (before and after and before.present is after.present):
        return
    bag, label_class = pair
    if before is None:
        assert after is not None
        learner.replay([Answer(bag, (label_class,), (after.present,), after.audit, flip=flip)])
    elif after is not None:
        learner.revise(bag, label_class, after.present, flip)
    elif (last := learner.last_told) is not None and (last.bag, last.classes) == (bag, (label_class,)):
        learner.undo()
    else:
        learner.retract(bag, label_class)


def learner_of(
    bags: Bags | None,
    classes: Sequence[str],
    labels: Labels,
    settings: Settings,
    memory: Memory | None,
    from_nothing: bool,
    pool: Pool | None = None,
) -> ActiveLearner:
    """A learner with the project's settings."""
    learning, asking = settings.learning, settings.asking
    return ActiveLearner(
        bags,
        list(classes),
        labels,
        model_of(learning),
        cold_start=from_nothing,
        criterion=learning.criterion,
        granularity=asking.granularity,
        update=learning.update,
        audit=learning.audit,
        random_state=learning.seed,
        device=asking.device if pool is None else "cpu",
        memory=memory,
        pool=pool,
    )


def model_of(learning: Learning) -> MIMLClassifier:
    """A model that knows nothing yet."""
    return MIMLClassifier(
        prior=learning.prior,
        background=learning.background,
        step_size=learning.step_size,
        transformer=SCALERS[learning.scaling](),
        random_state=learning.seed,
    )


def fresh_votes(contents: Contents, settings: Settings) -> Votes:
    """Nothing said yet."""
    asking = settings.asking
    return Votes(asking.people, asking.share, settings.learning.seed, contents.adjudicators, contents.removed)


def turning_point(contents: Contents, events: int) -> int:
    """The number of the event after which the learner was last fitted anew."""
    return max(contents.after, events // REFIT_EVERY * REFIT_EVERY)


def full(
    contents: Contents,
    bags: Bags,
    settings: Settings,
    events: Sequence[Event],
    snapshots: "Snapshots | None" = None,
    progress: Callable[[int], None] = lambda _: None,
    pool: Pool | None = None,
) -> Replay:
    """Everything, from the newest snapshot that fits, or from the last turning point."""
    start = turning_point(contents, len(events))
    found = snapshots.newest(events, start) if snapshots is not None else None
    done, memory = found if found is not None else (start, None)
    replay = Replay(contents, settings, bags, pool)
    replay.count(events[:done])
    replay.begin(memory)
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
        asking = settings.asking
        named = [contents.digest(), asdict(settings.learning), asking.people, asking.share, version("bagwise"), LAYOUT]
        self._content = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def newest(self, events: Sequence[Event], start: int) -> tuple[int, Memory] | None:
        """(number of events, memory) of the newest snapshot at or after `start` that these events led to."""
        possible = [place for place in reversed(self._places()) if start <= place <= len(events)]
        digests = self._digests(events, set(possible)) if possible else {}
        for place in possible:
            memory = self._read(place, digests[place])
            if memory is not None:
                return place, memory
        return None

    def save(self, replay: Replay) -> None:
        """Write what the learner has become; only the newest few are kept."""
        memory = replay.memory()
        name = self._name(replay.votes.digest(), memory)
        unfinished = self.folder / f"{replay.applied}.{os.getpid()}.part"
        try:
            self.folder.mkdir(exist_ok=True)
            with unfinished.open("wb") as file:
                np.savez(file, name=np.array(name), **memory)  # type: ignore[arg-type]
            unfinished.replace(self.folder / f"{replay.applied}.npz")
            # One with a higher number belongs to a past that was given up when a backup was restored.
            kept = [place for place in self._places() if place <= replay.applied][-KEPT:]
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

    def _name(self, digest: str, memory: Memory) -> str:
        whole = hashlib.sha256()
        for key in sorted(memory):
            whole.update(f"{key} {memory[key].dtype} {memory[key].shape}".encode())
            whole.update(np.ascontiguousarray(memory[key]).tobytes())
        return f"{self._content} {digest} {whole.hexdigest()}"

    def _read(self, place: int, digest: str) -> Memory | None:
        try:
            with (self.folder / f"{place}.npz").open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                memory = {name: file[name] for name in file.files}
            fits = str(memory.pop("name")) == self._name(digest, memory)
        except Exception:
            # Bytes in the wrong place provoke almost anything in a reader; whatever it is, there is no snapshot here.
            return None
        return memory if fits else None
