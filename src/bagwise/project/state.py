"""The record of an open project: what it is made of, everything said, and who learns it, kept up with the database.

Several processes may have one project open: each counts the same events in the same order.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.learning.questions import Pair
from bagwise.project.answers import replay
from bagwise.project.answers.events import Event, Votes
from bagwise.project.answers.snapshots import Snapshots
from bagwise.project.instances import storage
from bagwise.project.settings import FILE as SETTINGS
from bagwise.project.settings import Settings
from bagwise.project.storage import queries
from bagwise.project.storage.database import Database, DatabaseError
from bagwise.project.training.trainer import Trainer

logger = logging.getLogger(__name__)

MakeTrainer = Callable[[replay.Replay, Bags, list[Event], Snapshots], Trainer]


class ProjectState:
    """Whoever reads several things of it that must fit together holds the `lock`."""

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
        bags = storage.open_bags(self.folder, self.settings.data, contents)
        counted = replay.Replay(contents, self.settings)
        counted.count(events)
        self.contents, self.events, self.counted = contents, events, counted
        self.bags = bags
        snapshots = Snapshots(self.folder, contents, self.settings)
        self.trainer = self._make_trainer(counted, self.bags, events, snapshots)

    @property
    def votes(self) -> Votes:
        """What was said."""
        return self.counted.votes

    def wants(self, pair: Pair, annotator: str) -> int:
        """How many more people a pair is to be asked of, this one among them."""
        return 0 if self.contents.is_given(pair) else self.votes.wants(pair, annotator)

    def validate_pair(self, pair: Pair) -> None:
        """A pair is a bag and a class that are there."""
        bags, classes = self.contents.given.shape
        if not (0 <= pair[0] < bags and 0 <= pair[1] < classes):
            raise BagwiseError(f"There is no pair {pair}: the project has {bags} bags and {classes} classes.")

    def told(self) -> replay.Replay:
        """All of it counted once more, for whoever looks at it for a long time while others go on."""
        with self.lock:
            self.catch_up()
            contents, events = self.contents, list(self.events)
        counted = replay.Replay(contents, self.settings, self.bags)
        counted.count(events)
        return counted

    def count(self, new: list[Event]) -> None:
        """Take in what was saved."""
        with self.lock:
            self.counted.count(new)
            self.events += new

    def catch_up(self) -> None:
        """Count what was said since, also in other processes. It is learned when a question or the model is wanted."""
        with self.lock:
            with self.database.reading() as connection:
                current = self.catch_up_in(connection)
            if not current:
                self.reload()

    def catch_up_in(self, connection: Connection) -> bool:
        """The same in a transaction; False where the contents changed and all has to be loaded anew after it."""
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
        """After an import, or whatever else changed the contents."""
        before = self.trainer
        self._load()
        before.close()

    def catch_up_later(self) -> None:
        """Count what was saved if the database can be reached, else at the next occasion."""
        try:
            self.catch_up()
        except DatabaseError as error:
            logger.warning("new answers are read at the next request: %s", error)
