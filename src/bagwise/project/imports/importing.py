"""Import bags, labels and classes into a project: all of them or none, one import at a time."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from filelock import FileLock

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, Source
from bagwise.ingest import SegmentedFolder
from bagwise.kernels import Array
from bagwise.learning.questions import Pair
from bagwise.project.answers import replay
from bagwise.project.answers.events import Event
from bagwise.project.imports import media as kept
from bagwise.project.imports import regions
from bagwise.project.imports.bag_names import labels_of_clips, named_as_bags
from bagwise.project.imports.regions import Placement
from bagwise.project.instances import storage
from bagwise.project.settings import Settings
from bagwise.project.storage import queries
from bagwise.project.storage.class_list import ClassList
from bagwise.project.storage.database import Database

LOCK = ".lock"
REMOVED = "was removed from the project: leave it out, or bring it back with `bagwise remove --undo`."

Progress = Callable[[int], None]
Keep = Callable[[queries.Contents, Source], tuple[Array, int]]


def quiet(_: int) -> None:
    """Report no progress."""


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the lock of the project: no other process imports into it or upgrades it meanwhile."""
    try:
        lock = FileLock(folder / LOCK).acquire()
    except OSError as error:
        raise BagwiseError(f"{folder} cannot be written: {error.strerror}. The project is unchanged.") from error
    with lock:
        yield


def import_into(
    folder: Path,
    settings: Settings,
    database: Database,
    source: Source | None,
    labels: LabelTable | None,
    classes: Sequence[str],
    progress: Progress,
    media: kept.Media | None = None,
    keep: Keep | None = None,
) -> Placement:
    """Add instances, labels, classes and media; nothing is part of the project before the database has it.

    With `keep`, that function writes the instances. What a failed import leaves on disk is removed, by this call or,
    where the process was killed, by the next one.

    Returns
    -------
    Placement
        How many labels said where in their bag, and which instances that is.

    Raises
    ------
    BagwiseError
        Where the import contradicts the project, or cannot be written; the project is unchanged then.
    """
    with exclusive(folder):
        settings = storage.settled(folder, settings)
        _discard_unfinished(folder, settings, database)
        try:
            return _import(folder, settings, database, source, labels, classes, progress, media, keep)
        except BaseException:
            # Where this fails as well, the next import removes it.
            with contextlib.suppress(BagwiseError, OSError):
                _discard_unfinished(folder, settings, database)
            raise


def _discard_unfinished(folder: Path, settings: Settings, database: Database) -> None:
    """Remove the files that are not part of the project according to its database."""
    with database.settled() as connection:
        there = queries.contents(connection)
    storage.discard(folder, settings.data, there)
    kept.discard(folder, len(there.ids), int(there.offsets[-1]))


def _import(
    folder: Path,
    settings: Settings,
    database: Database,
    source: Source | None,
    labels: LabelTable | None,
    classes: Sequence[str],
    progress: Progress,
    media: kept.Media | None,
    keep: Keep | None,
) -> Placement:
    with database.reading() as connection:
        before = queries.contents(connection)
        source = source.with_features(before.features) if source is not None else None
        events = queries.events_after(connection, 0)
    new = _Names(before, settings, source, labels, classes, media.cut if media is not None else None)
    new.labels_to_add(events)
    sizes: Array = np.empty(0, np.int64)
    checksum = 0
    rows = int(before.offsets[-1])
    if source is not None:
        sizes = np.bincount(source.codes, minlength=len(source.ids))
    offsets = np.concatenate([before.offsets, rows + np.cumsum(sizes)])
    new.place_labels(offsets, lambda _: None)
    if media is not None:
        kept.keep(folder, media, [*before.ids.tolist(), *new.bags], offsets, new.files.holders, progress)
        if source is None and labels is None and not classes:
            return Placement()
    located = kept.located(folder, offsets, new.files.holders)
    of_instances, placement = new.place_labels(offsets, _locate(located, source, len(before.ids)))
    if source is not None:
        keep = keep or partial(storage.append, folder, settings.data, progress=progress)
        sizes, checksum = keep(before, source)
    with database.writing() as connection:
        # Answers were saved meanwhile: labels that contradict them are refused.
        given = new.labels_to_add(queries.events_after(connection, 0))
        file = source.path.name if source is not None else "labels"
        queries.add_import(connection, file, new.bags, sizes, new.classes, given, checksum, of_instances, new.files)
    return placement


def _locate(stored: regions.Locate, source: Source | None, first_new: int) -> regions.Locate:
    """Places of instances as the project has them; of new bags without any, the spans that came with them."""

    def of_bag(bag: int) -> regions.Located | None:
        found = stored(bag)
        if found is not None or source is None or source.spans is None or bag < first_new:
            return found
        spans = source.spans[source.codes == bag - first_new]
        return "sound", np.column_stack([spans, np.full(spans.shape, np.nan)])

    return of_bag


class _Names:
    """The bags, classes and labels of an import by name and position; raises an error for those that do not fit."""

    def __init__(
        self,
        before: queries.Contents,
        settings: Settings,
        source: Source | None,
        labels: LabelTable | None,
        classes: Sequence[str],
        segmented: SegmentedFolder | None,
    ) -> None:
        self.before, self.settings = before, settings
        self.bags: Sequence[str] = [] if source is None else source.ids
        new_files = (segmented.source_files, segmented.entries) if segmented is not None else ((), ())
        self.files = before.bag_files.extended(len(self.bags), *new_files)
        self.tables = [table for table in (source.labels if source is not None else None, labels) if table is not None]
        self._ids = {name: position for position, name in enumerate(before.ids.tolist())}
        if source is not None:
            self._add_bags(source)
        self.tables = [labels_of_clips(named_as_bags(table, self._ids), self._ids, self.files) for table in self.tables]
        self.tables = [_with_names_of(table, before.class_list) for table in self.tables]
        self._classes = {name: position for position, name in enumerate(self._all_classes(classes))}
        self.classes = list(self._classes)[len(before.classes) :]
        for table in self.tables:
            for name in table.ids:
                if name not in self._ids:
                    raise table.fault(f"bag {name} does not exist in the project.", name)
                if self._ids[name] in before.removed:
                    raise table.fault(f"bag {name} {REMOVED}", name)

    def _add_bags(self, source: Source) -> None:
        if source.n_features != self.settings.data.features:
            what = f"its instances have {source.n_features} features, the project {self.settings.data.features}."
            raise FileError(source.path, what)
        for name in source.ids:
            if self._ids.get(name) in self.before.removed:
                raise FileError(source.path, f"bag {name} {REMOVED}")
            if name in self._ids:
                raise FileError(source.path, f"bag {name} is in the project already.")
            self._ids[name] = len(self._ids)

    def _all_classes(self, more: Sequence[str]) -> list[str]:
        new = [name for name in more if self.before.class_list.position(name) is None]
        allowed = dict.fromkeys([*self.before.classes, *new])
        for table in self.tables:
            unknown = [name for name in table.classes if allowed and name not in allowed]
            if unknown:
                what = f"class {unknown[0]} does not exist in the project: add it with --classes if it is meant."
                raise table.fault(what)
        names = list(dict.fromkeys([*allowed, *(name for table in self.tables for name in table.classes)]))
        if not names:
            raise BagwiseError("The project has no class: give --classes FILE with one name per line, or labels.")
        return names

    def place_labels(
        self, offsets: Array, locate: regions.Locate
    ) -> tuple[list[tuple[int, int, int, bool]], Placement]:
        """Return (bag, instance, class, present) by position of all labels of instances that are new."""
        found, placement = regions.place_labels(self.tables, self._ids, self._classes, offsets, locate)
        added = []
        for (bag, instance, label_class), present in sorted(found.items()):
            about = self.before.instance_labels.about(bag, label_class)
            already = next((label.present for label in about if label.instance == instance), None)
            if already is not None and already is not present:
                name = next(name for name, place in self._ids.items() if place == bag)
                what = f"bag {name}, instance {instance}, class {list(self._classes)[label_class]}"
                raise BagwiseError(f"The labels: {what} contradicts a label that was imported before: correct one.")
            if already is None:
                added.append((bag, instance, label_class, present))
        return added, placement

    def labels_to_add(self, events: Sequence[Event]) -> list[tuple[int, int, bool]]:
        """Return (bag, class, present) by position of all labels that are new."""
        counted = replay.Replay(self.before, self.settings)
        counted.count(events)
        known, _ = counted.known()
        found: dict[Pair, bool] = {}
        for table in self.tables:
            for bag, label_class, present in queries.label_positions(table, self._ids, self._classes):
                pair = (bag, label_class)
                inside = bag < known.shape[0] and label_class < known.shape[1]
                # An imported label that was corrected to unsure still exists: it counts again if that is undone.
                before = [table[pair] for table in (known, self.before.given) if inside]
                already = next((value for value in before if value != queries.UNKNOWN), found.get(pair))
                if already is not None and bool(already) != present:
                    name = next(name for name, place in self._ids.items() if place == bag)
                    other = list(self._classes)[label_class]
                    raise table.fault(f"bag {name}, class {other} contradicts a known label: correct one.", name)
                if already is None:
                    found[pair] = present
        return [(*pair, present) for pair, present in found.items()]


def _with_names_of(table: LabelTable, class_list: ClassList) -> LabelTable:
    """The table with the names that its classes have now: it may have scientific, common or earlier ones."""
    places = {name: class_list.position(name) for name in table.classes}
    renamed = {name: class_list.names[place] for name, place in places.items() if place is not None}
    if all(name == now for name, now in renamed.items()):
        return table
    names = [renamed.get(name, name) for name in table.classes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise table.fault(f"two of its classes are {twice} in the project: leave one out.")
    placed = [replace(one, label_class=renamed.get(one.label_class, one.label_class)) for one in table.placed]
    return replace(table, classes=names, placed=placed)
