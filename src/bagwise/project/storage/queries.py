"""The SQL statements of a project: what is read, and what is added in the transaction of the caller."""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, func, insert, select, text, update

from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
from bagwise.formats import LabelTable
from bagwise.kernels import Array
from bagwise.learning.questions import Instances, Pair
from bagwise.project.answers.events import Event
from bagwise.project.storage import bag_files, schema
from bagwise.project.storage.bag_files import BagFiles
from bagwise.project.storage.class_list import ClassChange, ClassList
from bagwise.project.storage.statements import Row, Statement, one_of

UNKNOWN = -1
ROWS_AT_ONCE = 20_000
AUDIT, WHERE, ELSEWHERE = (
    schema.events.c.keys().index(name) for name in ("audit", "instances_where", "instances_elsewhere")
)
# The statements of every answer and question.
CHANGES = Statement(select(schema.changes.c.last_event, schema.changes.c.contents))
EVENTS_AFTER = Statement(
    select(schema.events).where(schema.events.c.number > bindparam("after")).order_by(schema.events.c.number)
)
EVENTS_WITH = Statement(select(schema.events).where(one_of(schema.events.c.key, "keys")))
ADD_EVENTS = Statement(insert(schema.events))
SET_LAST_EVENT = Statement(update(schema.changes).values(last_event=bindparam("newest")))
KNOWN_ANNOTATORS = Statement(select(schema.annotators.c.name).where(one_of(schema.annotators.c.name, "names")))

SCORES_PREFIX = "scores-"
"""An import without bags and labels whose file begins so is one of scores, in that file of the project."""


@dataclass(frozen=True)
class Contents:
    """What a project consists of, besides the events.

    Attributes
    ----------
    project : str
        Identity of the project.
    shape : tuple of int and str
        Number of features of an instance, and their type.
    features : list of str
        Names, by position; may be empty.
    class_list : ClassList
        The classes, by position.
    ids : array of str, shape (bags,)
        Names of the bags.
    offsets : array of int, shape (bags + 1,)
        First instance of each bag, and the number of instances.
    imported, given : array of int8, shape (bags, classes)
        Imported labels: 1 present, 0 absent, `UNKNOWN`. In `given` those of removed bags are unknown.
    version : int
        Grows with every change of the contents.
    after : int
        Number of the last event before the newest change.
    adjudicators : frozenset of str
        Names of the people with this role.
    checksums : tuple of int
        Of the instances of each import.
    removed : frozenset of int
        Positions of the removed bags.
    instance_labels : InstanceLabels
        Imported labels of single instances, of bags that are not removed.
    scores : str
        Name of the file with the scores of a classifier; empty without any.
    bag_files : BagFiles
        The raw files of the bags, and which seconds of them they are.
    bags_after, classes_after : array of int64, shapes (bags,) and (classes,)
        Number of the last event before each was added.
    later_labels : array of int64, shape (n, 3)
        Bag, class and number of the last event before, of labels that were imported after their bag.
    """

    project: str
    shape: tuple[int, str]
    features: list[str]
    ids: Array
    offsets: Array
    class_list: ClassList
    imported: Array
    given: Array
    version: int
    after: int
    adjudicators: frozenset[str]
    checksums: tuple[int, ...]
    removed: frozenset[int] = frozenset()
    instance_labels: InstanceLabels = field(default_factory=lambda: InstanceLabels(0))
    scores: str = ""
    bag_files: BagFiles = field(default_factory=BagFiles)
    bags_after: Array = field(default_factory=lambda: np.empty(0, np.int64))
    classes_after: Array = field(default_factory=lambda: np.empty(0, np.int64))
    later_labels: Array = field(default_factory=lambda: np.empty((0, 3), np.int64))

    @property
    def classes(self) -> list[str]:
        """The names of the classes, by position; also of those that are not asked any more."""
        return self.class_list.names

    @property
    def kept_bags(self) -> Array:
        """The positions of the bags that were not removed."""
        return np.setdiff1d(np.arange(len(self.ids)), np.array(sorted(self.removed), np.int64))

    def bag_position(self, name: str) -> int | None:
        """Return the position of a bag; None where there is none with this name."""
        if len(name) > self.ids.dtype.itemsize // np.dtype("U1").itemsize:
            # NumPy would make all names as long as this one.
            return None
        place = int(np.searchsorted(self.ids, name, sorter=self._by_name))
        if place == len(self.ids) or self.ids[self._by_name[place]] != name:
            return None
        return int(self._by_name[place])

    @cached_property
    def _by_name(self) -> Array:
        """The positions of the bags in the order of their names: every answer of a page names its bag."""
        return np.argsort(self.ids, kind="stable")

    def is_given(self, pair: Pair) -> bool:
        """Whether its label was imported: then only a correction of that label changes it, not an answer."""
        return bool(self.given[pair] != UNKNOWN)

    def digest(self) -> str:
        """Return a hash of everything that a model may depend on, instances included."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        found = hashlib.sha256(self.project.encode())
        named = [self.ids.tolist(), self.class_list.keys, sorted(self.adjudicators), self.checksums]
        found.update(json.dumps(named).encode())
        found.update(json.dumps(sorted(self.removed)).encode())
        found.update(self.offsets.tobytes())
        found.update(self.given.tobytes())
        if len(self.instance_labels):
            found.update(self.instance_labels.to_rows().tobytes())
        if self.scores:
            found.update(self.scores.encode())
        if self.class_list.fingerprint:
            found.update(json.dumps(self.class_list.fingerprint).encode())
        found.update(str(self.after).encode())
        return found.hexdigest()


def now() -> str:
    """Return the current time as it is stored, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def begin(connection: Connection, project: str, features: int, dtype: str, names: Sequence[str]) -> None:
    """Insert the first rows of a new project: its identity, and the shape of its instances."""
    connection.execute(insert(schema.identity).values(project=project, features=features, dtype=dtype))
    _insert(connection, schema.features, ({"position": i, "name": name} for i, name in enumerate(names)))
    connection.execute(insert(schema.changes).values(only=1, last_event=0, contents=0, contents_after=0))


def contents(connection: Connection) -> Contents:
    """Return everything but the events."""
    project = connection.execute(select(schema.identity)).one()
    features = connection.execute(select(schema.features.c.name).order_by(schema.features.c.position)).scalars().all()
    of_bags, of_imports = schema.bags.c, schema.imports.c
    bags = connection.execute(
        select(of_bags.id, of_bags.instances, of_bags["import"].label("made")).order_by(of_bags.position)
    ).all()
    imports = connection.execute(select(of_imports.checksum, of_imports.after).order_by(of_imports.number)).all()
    # Imports are numbered from 1.
    after = np.array([0, *(row.after for row in imports)], np.int64)
    bags_after = after[[row.made for row in bags]]
    classes = class_list(connection)
    imported = np.full((len(bags), len(classes)), UNKNOWN, np.int8)
    columns = schema.given_labels.c
    rows = connection.execute(select(columns.bag, columns["class"], columns.present, columns["import"])).all()
    bag, label_class, present, made = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    imported[bag, label_class] = present
    later = after[made] > bags_after[bag]
    gone, given = removed_bags(connection), imported.copy()
    given[sorted(gone)] = UNKNOWN
    people = schema.annotators.c
    adjudicators = connection.execute(select(people.name).where(people.role == "adjudicator")).scalars().all()
    return Contents(
        project.project,
        (project.features, project.dtype),
        list(features),
        np.array([row.id for row in bags], dtype=str),
        np.concatenate([[0], np.cumsum([row.instances for row in bags], dtype=np.int64)]).astype(np.int64),
        classes,
        imported,
        given,
        contents_version(connection),
        connection.execute(select(schema.changes.c.contents_after)).scalar_one(),
        frozenset(adjudicators),
        tuple(row.checksum for row in imports),
        gone,
        _instance_labels(connection, len(classes), gone),
        _scores(connection),
        bag_files.read(connection),
        bags_after,
        _classes_after(connection),
        np.column_stack([bag, label_class, after[made]])[later],
    )


def _classes_after(connection: Connection) -> Array:
    columns = schema.classes.c
    return np.array(connection.execute(select(columns.after).order_by(columns.position)).scalars().all(), np.int64)


def class_list(connection: Connection) -> ClassList:
    """Return the classes as they are now."""
    keys = connection.execute(select(schema.classes.c.name).order_by(schema.classes.c.position)).scalars().all()
    return ClassList.of(keys, class_changes(connection))


def class_changes(connection: Connection) -> list[ClassChange]:
    """Return everything that was done to classes, in order."""
    rows = connection.execute(select(schema.class_changes).order_by(schema.class_changes.c.number))
    return [
        ClassChange(number, at, annotator, label_class, kind, json.loads(value), after)
        for number, at, annotator, label_class, kind, value, after in rows
    ]


def add_class(connection: Connection, name: str) -> int:
    """Add a class and return its position; its key is the name, or one like it where a class had that name before."""
    taken = set(connection.execute(select(schema.classes.c.name)).scalars())
    key, number = name, 2
    while key in taken:
        key, number = f"{name} {number}", number + 1
    row = {"position": len(taken), "name": key, "after": last_event(connection)}
    connection.execute(insert(schema.classes).values(**row))
    return len(taken)


def add_class_changes(
    connection: Connection, annotator: str, changed: Sequence[tuple[int, str, dict[str, Any]]], learned: bool
) -> None:
    """Add what a person did: position of the class, kind and value; `learned`: whether the model depends on it."""
    table = schema.class_changes
    number = connection.execute(select(func.count()).select_from(table)).scalar_one()
    after, at = last_event(connection), now()
    rows = [
        {
            "number": number + i,
            "at": at,
            "annotator": annotator,
            "class": label_class,
            "kind": kind,
            "value": json.dumps(value),
            "after": after,
        }
        for i, (label_class, kind, value) in enumerate(changed, start=1)
    ]
    connection.execute(insert(table), rows)
    if learned:
        _contents_changed(connection)
    else:
        _contents_shown(connection)


def _scores(connection: Connection) -> str:
    columns = schema.imports.c
    of_scores = (columns.bags == 0) & (columns.labels == 0) & columns.file.startswith(SCORES_PREFIX)
    newest = select(columns.file).where(of_scores).order_by(columns.number.desc()).limit(1)
    return connection.execute(newest).scalar_one_or_none() or ""


def _instance_labels(connection: Connection, classes: int, without: frozenset[int]) -> InstanceLabels:
    columns = schema.instance_labels.c
    found = InstanceLabels(classes)
    for bag, instance, label_class, present in connection.execute(
        select(columns.bag, columns.instance, columns["class"], columns.present)
    ):
        if bag not in without:
            found.set(bag, InstanceLabel(instance, label_class, bool(present)))
    return found


def removed_bags(connection: Connection) -> frozenset[int]:
    """Return the positions of the bags that are removed."""
    table = schema.removals
    rows = connection.execute(select(table.c.bag, table.c.removed).order_by(table.c.number))
    last = {int(bag): bool(removed) for bag, removed in rows}
    return frozenset(bag for bag, removed in last.items() if removed)


def add_removals(connection: Connection, bags: Sequence[int], annotator: str, removed: bool) -> None:
    """Add that these bags were removed, or restored."""
    table = schema.removals
    first = connection.execute(select(func.count()).select_from(table)).scalar_one() + 1
    rows = [
        {"number": first + i, "at": now(), "annotator": annotator, "bag": bag, "removed": removed}
        for i, bag in enumerate(bags)
    ]
    connection.execute(insert(table), rows)
    _contents_changed(connection)


def add_import(
    connection: Connection,
    file: str,
    ids: Sequence[str],
    sizes: Array,
    classes: Sequence[str],
    labels: Sequence[tuple[int, int, bool]],
    checksum: int,
    of_instances: Sequence[tuple[int, int, int, bool]] = (),
    files: BagFiles | None = None,
) -> None:
    """Add new bags, classes and labels, which are (bag, class, present) or (bag, instance, class, present).

    `files` are those of all bags, old and new; those that are not in the database yet are added.
    """
    number = connection.execute(select(func.count()).select_from(schema.imports)).scalar_one() + 1
    row = {
        "number": number,
        "at": now(),
        "file": file,
        "bags": len(ids),
        "instances": int(sum(sizes)),
        "labels": len(labels),
        "checksum": checksum,
        "after": last_event(connection),
    }
    connection.execute(insert(schema.imports), [row])
    first = connection.execute(select(func.count()).select_from(schema.bags)).scalar_one()
    known = connection.execute(select(func.count()).select_from(schema.classes)).scalar_one()
    _insert(
        connection,
        schema.bags,
        (
            {"position": first + i, "id": name, "instances": int(size), "import": number}
            | (bag_files.bag_row(files, first + i) if files is not None else {})
            for i, (name, size) in enumerate(zip(ids, sizes, strict=True))
        ),
    )
    if files is not None:
        stored = connection.execute(select(func.count()).select_from(schema.files)).scalar_one()
        new_files = enumerate(files.files[stored:], start=stored)
        _insert(connection, schema.files, (bag_files.file_row(position, file) for position, file in new_files))
    _insert(
        connection,
        schema.classes,
        ({"position": known + i, "name": name, "after": row["after"]} for i, name in enumerate(classes)),
    )
    _insert(
        connection,
        schema.given_labels,
        ({"bag": b, "class": c, "present": present, "import": number} for b, c, present in labels),
    )
    _insert(
        connection,
        schema.instance_labels,
        (
            {"bag": b, "instance": i, "class": c, "present": present, "import": number}
            for b, i, c, present in of_instances
        ),
    )
    _contents_changed(connection)


def set_files(connection: Connection, files: BagFiles, changed: Sequence[int], attached: Mapping[int, int]) -> None:
    """Save files that were changed or are new, by position, and the files of bags that had none, by bag.

    Other processes are told to read the contents again; what they learn from, and hence their models, stays the same.
    """
    stored = connection.execute(select(func.count()).select_from(schema.files)).scalar_one()
    rows = [bag_files.file_row(position, files.files[position]) for position in changed]
    _insert(connection, schema.files, (row for row in rows if row["position"] >= stored))
    for row in rows:
        if row["position"] < stored:
            connection.execute(update(schema.files).where(schema.files.c.position == row["position"]).values(**row))
    for bag, file in attached.items():
        connection.execute(update(schema.bags).where(schema.bags.c.position == bag).values(file=file))
    _contents_shown(connection)


def _insert(connection: Connection, table: Any, rows: Iterable[dict[str, Any]]) -> None:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            connection.execute(insert(table), batch)
            batch = []
    if batch:
        connection.execute(insert(table), batch)


def last_event(connection: Connection) -> int:
    """Return the number of the newest event."""
    return changes(connection)[0]


def contents_version(connection: Connection) -> int:
    """Return a number that grows whenever anything but the events changes."""
    return changes(connection)[1]


def changes(connection: Connection) -> tuple[int, int]:
    """Return the number of the newest event, and the version of the contents."""
    ((last, version),) = CHANGES.rows(connection)
    return int(last), int(version)


def _contents_changed(connection: Connection) -> None:
    table = schema.changes
    connection.execute(update(table).values(contents=table.c.contents + 1, contents_after=table.c.last_event))


def _contents_shown(connection: Connection) -> None:
    """Let other processes read the contents again, although nothing changed that is learned from."""
    connection.execute(update(schema.changes).values(contents=schema.changes.c.contents + 1))


def events_after(connection: Connection, number: int) -> list[Event]:
    """Return all events after this number, in order."""
    return [_event(row) for row in EVENTS_AFTER.rows(connection, {"after": number})]


def events_with(connection: Connection, keys: Sequence[str]) -> dict[str, Event]:
    """Return the saved events with these keys, by key."""
    rows = EVENTS_WITH.rows(connection, {"keys": list(keys)})
    return {event.key: event for event in map(_event, rows)}


def add_events(connection: Connection, events: Sequence[Event]) -> None:
    """Add events, whose numbers follow the last one."""
    ADD_EVENTS.run_many(connection, [_event_row(event) for event in events])
    SET_LAST_EVENT.run(connection, {"newest": events[-1].number})


def _event(row: Row) -> Event:
    # The fields of an event have the order of the columns.
    values = list(row)
    values[AUDIT] = bool(values[AUDIT])
    values[WHERE], values[ELSEWHERE] = _instances(values[WHERE]), _instances(values[ELSEWHERE])
    return Event(*values)


def _instances(stored: str | None) -> Instances:
    return tuple(json.loads(stored)) if stored else ()


def _event_row(event: Event) -> dict[str, Any]:
    row = {**vars(event), "class": event.label_class}
    for name in ("where", "elsewhere"):
        instances = row.pop(name)
        row[f"instances_{name}"] = json.dumps(instances) if instances else None
    del row["label_class"]
    return row


def ensure_annotator(connection: Connection, name: str, role: str | None = None) -> None:
    """Add the person if new, and set the role if one is given."""
    table = schema.annotators
    current = connection.execute(select(table.c.role).where(table.c.name == name)).scalar()
    if current is None:
        connection.execute(insert(table).values(name=name, role=role or "annotator", since=now()))
    elif role is not None and role != current:
        connection.execute(update(table).where(table.c.name == name).values(role=role))
    if role is not None and role != (current or "annotator"):
        _contents_changed(connection)


def ensure_annotators(connection: Connection, names: set[str]) -> None:
    """Add those of these people who are new."""
    known = {name for (name,) in KNOWN_ANNOTATORS.rows(connection, {"names": sorted(names)})}
    for name in sorted(names - known):
        ensure_annotator(connection, name)


def annotators(connection: Connection) -> dict[str, str]:
    """Return the role of every person, by name."""
    table = schema.annotators
    return {row.name: row.role for row in connection.execute(select(table.c.name, table.c.role).order_by(table.c.name))}


def clock(connection: Connection) -> float:
    """Return seconds since 1970 by the clock that all processes share: that of the database server, if there is one."""
    if connection.dialect.name == "postgresql":
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    return time.time()


def label_positions(table: LabelTable, ids: dict[str, int], classes: dict[str, int]) -> list[tuple[int, int, bool]]:
    """Return (bag, class, present) by position of every known label of a table whose names all exist."""
    rows, columns = np.nonzero(~np.isnan(table.values))
    return [
        (ids[table.ids[b]], classes[table.classes[c]], bool(table.values[b, c]))
        for b, c in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
