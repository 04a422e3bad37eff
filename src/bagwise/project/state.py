"""The state of an open project: its contents, events and trainer, kept up to date with the database.

Several processes may have one project open: each counts the same events in the same order.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.learning.questions import Instances, Pair
from bagwise.project.answers import replay
from bagwise.project.answers.current_labels import inferred_of
from bagwise.project.answers.events import NOWHERE, Event, Pointing
from bagwise.project.answers.snapshots import Snapshots
from bagwise.project.answers.votes import Votes
from bagwise.project.imports import media, scores
from bagwise.project.instances import storage
from bagwise.project.queue.spreading import GroupCounts, groups_of
from bagwise.project.settings import FILE as SETTINGS
from bagwise.project.settings import Settings
from bagwise.project.storage import queries
from bagwise.project.storage.database import Database, DatabaseError
from bagwise.project.training.trainer import Trainer

MakeTrainer = Callable[[replay.Replay, Bags, list[Event], Snapshots], Trainer]


class ProjectState:
    """Contents, events, votes and trainer of a project; hold `lock` to read several of them consistently."""

    def __init__(
        self, folder: Path, settings: Settings, database: Database, make_trainer: MakeTrainer = Trainer
    ) -> None:
        self.folder, self.settings, self.database = folder, settings, database
        self.lock = threading.RLock()
        self._make_trainer = make_trainer
        self._load()

    def _load(self) -> None:
        with self.database.reading() as connection:
            contents = queries.contents(connection)
            events = queries.events_after(connection, 0)
        self.settings = storage.settled(self.folder, self.settings)
        if contents.shape != self.settings.shape:
            width, dtype = contents.shape
            what = f"[data] was changed: it must say features = {width} and dtype = {dtype!r}, as the instances are."
            raise FileError(self.folder / SETTINGS, what)
        self.scores = scores.stored(self.folder, contents)
        bags = scores.attached(self.scores, storage.open_bags(self.folder, self.settings.data, contents))
        counted = replay.Replay(contents, self.settings)
        counted.count(events)
        self.events, self.counted = events, counted
        self._show(contents)
        self.bags = bags
        snapshots = Snapshots(self.folder, contents, self.settings)
        self.trainer = self._make_trainer(counted, self.bags, events, snapshots)

    def _show(self, contents: queries.Contents) -> None:
        self.contents = contents
        self._candidates = replay.candidates_of(contents, self.settings)
        groups = groups_of(contents.bag_files, self.settings.asking.spread)
        self.group_counts = None if groups is None else GroupCounts(groups)

    def may_ask(self, bag: int) -> bool:
        """Whether the settings allow questions about the bag."""
        return self._candidates is None or bool(self._candidates[bag])

    @property
    def votes(self) -> Votes:
        """The events about every pair, and what counts."""
        return self.counted.votes

    def is_open(self, pair: Pair) -> bool:
        """Whether a pair is still asked about, of some people at least."""
        contents, votes = self.contents, self.votes
        if pair in votes.decisions or contents.is_given(pair) or not contents.class_list[pair[1]].is_active:
            return False
        return inferred_of(contents, votes, pair) is None

    def wants(self, pair: Pair, annotator: str, instance: int | None = None) -> int:
        """Return how many more people, this one among them, a pair or an instance of it is to be asked of."""
        return self.votes.wants(pair, annotator, instance) if self.is_open(pair) else 0

    def shows_instances(self, bag: int) -> bool:
        """Whether a person sees several instances of the bag, by their places or in a table."""
        first, last = self.contents.offsets[bag : bag + 2].tolist()
        if last - first < 2:
            return False
        medium = media.kept_of(self.folder, self.contents, bag)
        return medium is None or any(place is not None for place in medium.places)

    def validate_pair(self, pair: Pair) -> None:
        """Raise an error unless the bag and the class of a pair exist."""
        bags, classes = self.contents.given.shape
        if not (0 <= pair[0] < bags and 0 <= pair[1] < classes):
            raise BagwiseError(f"There is no pair {pair}: the project has {bags} bags and {classes} classes.")

    def validate_pointing(self, bag: int, answer: str, pointing: Pointing) -> None:
        """Raise an error unless these instances of the bag may be pointed at together with the answer."""
        if pointing == NOWHERE:
            return
        if answer != "present":
            raise BagwiseError(f"The answer is {answer}: only where the class is present can instances be pointed at.")
        self.validate_instances(bag, (*pointing.where, *pointing.elsewhere))
        both = set(pointing.where) & set(pointing.elsewhere)
        if both:
            raise BagwiseError(
                f"Instance {min(both)} is said to be of the class and not to be of it: send one of both."
            )

    def validate_instances(self, bag: int, instances: Instances) -> None:
        """Raise an error unless the bag has these instances."""
        first, last = self.contents.offsets[bag : bag + 2].tolist()
        outside = [one for one in instances if not 0 <= one < last - first]
        if outside:
            bag_id = self.contents.ids[bag]
            raise BagwiseError(
                f"Bag {bag_id} has {last - first} instances, counted from 0: there is no instance {outside[0]}."
            )

    def counted_copy(self) -> replay.Replay:
        """Return a copy of the counted events, to be read for a long time without the lock."""
        with self.lock:
            self.catch_up()
            contents, events = self.contents, list(self.events)
        counted = replay.Replay(contents, self.settings, self.bags)
        counted.count(events)
        return counted

    def count(self, new: list[Event]) -> None:
        """Count events that were saved."""
        with self.lock:
            self.counted.count(new)
            self.events += new

    def catch_up(self) -> None:
        """Count new events, also of other processes; the trainer learns them when a question or the model is needed."""
        with self.lock:
            with self.database.reading() as connection:
                current = self.catch_up_in(connection)
            if not current:
                self.reload()

    def catch_up_in(self, connection: Connection) -> bool:
        """The same in a transaction; False where the contents changed and `reload` is needed after it."""
        last, version = queries.changes(connection)
        if version != self.contents.version:
            return False
        if last < len(self.events):
            what = f"has {last} answers where there were {len(self.events)} before: it was replaced by an older one"
            raise DatabaseError(f"The database {self.database.where} {what}. Stop this process and start it again.")
        if last > len(self.events):
            self.count(queries.events_after(connection, len(self.events)))
        return True

    def reload(self) -> None:
        """Load everything again after the contents changed, as by an import.

        Where only something changed that nothing is learned from, as where recordings were made, the trainer goes on.
        """
        with self.database.reading() as connection:
            contents = queries.contents(connection)
        moved = storage.settled(self.folder, self.settings).data != self.settings.data
        if contents.digest() == self.contents.digest() and not moved:
            self.counted.contents = contents
            self._show(contents)
            self.trainer.show(contents)
            return
        before = self.trainer
        self._load()
        before.close()
