"""Add, rename, describe, merge, split, retire and restore classes, while others answer.

Every change is recorded with person and time, and nothing is deleted: the classes are a replay of the changes
(`storage/class_list.py`), and the model one of the answers and the changes.
"""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError
from bagwise.project.access.names import validate_name
from bagwise.project.access.roles import NotAllowed, validate_may_change_classes
from bagwise.project.classes import examples
from bagwise.project.classes.class_file import ClassEntry
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries
from bagwise.project.storage.class_list import DETAILS, ClassChange, ClassList

LONGEST_NAME = 200
LONGEST_DESCRIPTION = 10_000

Changed = list[tuple[int, str, dict[str, Any]]]
Result = TypeVar("Result")


class ClassChanges:
    """Changes the classes of an open project; `Project.class_changes` is one.

    Parameters
    ----------
    state : ProjectState
        The state of the project.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     _ = project.answer_listed("ann", "present", [(0, 0)], key="1")
    ...     position = project.class_changes.add("jenny wren", "ann")
    ...     position = project.class_changes.merge(["wren", "jenny wren"], "wren", "ann")
    ...     project.active_classes, project.labels().values.tolist()
    (['wren'], [[1.0], [nan]])
    """

    def __init__(self, state: ProjectState) -> None:
        self.state = state

    def history(self) -> list[ClassChange]:
        """Return everything that was done to classes, in order."""
        with self.state.database.reading() as connection:
            return queries.class_changes(connection)

    def may_change(self, annotator: str) -> bool:
        """Return whether this person may change classes.

        Parameters
        ----------
        annotator : str
            Name of the person.

        Returns
        -------
        bool
        """
        with self.state.database.reading() as connection, contextlib.suppress(NotAllowed):
            validate_may_change_classes(self.state, connection, annotator)
            return True
        return False

    def add(self, name: str, annotator: str, **details: str) -> int:
        """Add a class; it is asked about from now on.

        Parameters
        ----------
        name : str
            Its name, which no other class has.
        annotator : str
            Who adds it.
        **details : str
            `scientific_name`, `common_name`, `description`.

        Returns
        -------
        int
            The position of the class.

        Raises
        ------
        NotAllowed
            Where this person may not change classes.
        BagwiseError
            Where a class has this name.
        """
        (position,) = self._add_all([ClassEntry(name, **details)], annotator, are_new=True)
        return position

    def add_all(self, entries: Sequence[ClassEntry], annotator: str) -> list[int]:
        """Add several classes, all or none, and describe them; of those that exist only the details are set.

        Parameters
        ----------
        entries : sequence of ClassEntry
            Names and details.
        annotator : str
            Who adds them.

        Returns
        -------
        list of int
            The positions of the classes.
        """
        return self._add_all(entries, annotator)

    def _add_all(self, entries: Sequence[ClassEntry], annotator: str, are_new: bool = False) -> list[int]:
        def adding(connection: Connection, before: ClassList) -> tuple[list[int], Changed, bool]:
            changed: Changed = []
            positions, new = [], False
            for entry in entries:
                name = _validated(entry.name)
                position = None if are_new else before.position(name)
                if position is None:
                    _validate_free(before, name)
                    position, new = queries.add_class(connection, name), True
                    changed += _added(before, position, name)
                details = {key: _validated_text(text) for key, text in entry.details.items() if text}
                if details:
                    changed.append((position, "described", details))
                positions.append(position)
            return positions, changed, new

        return self._change(annotator, adding)

    def rename(self, name: str, to: str, annotator: str) -> int:
        """Give a class another name; the old one still finds it.

        Parameters
        ----------
        name, to : str
            The name before and after.
        annotator : str
            Who renames it.

        Returns
        -------
        int
            The position of the class.
        """

        def renaming(_: Connection, before: ClassList) -> tuple[int, Changed, bool]:
            position, new = _active(before, name), _validated(to)
            if new == before[position].name:
                raise BagwiseError(f"The class is named {new} already.")
            _validate_free(before, new)
            return position, [(position, "renamed", {"name": new})], False

        return self._change(annotator, renaming)

    def describe(self, name: str, annotator: str, example: Path | None = None, **details: str) -> int:
        """Say what belongs to a class; it is shown with every question about it.

        Parameters
        ----------
        name : str
            The class.
        annotator : str
            Who describes it.
        example : Path, optional
            A picture or sound of it, which is copied into the project.
        **details : str
            `scientific_name`, `common_name`, `description`; an empty text removes what was there.

        Returns
        -------
        int
            The position of the class.
        """
        given: dict[str, str] = {key: _validated_text(text) for key, text in details.items()}
        if example is not None:
            given["example"] = examples.keep(self.state.folder, example)
        if not given:
            raise BagwiseError("Give a description, a scientific or common name, or an example.")

        def describing(_: Connection, before: ClassList) -> tuple[int, Changed, bool]:
            position = _active(before, name)
            return position, [(position, "described", given)], False

        return self._change(annotator, describing)

    def merge(self, names: Sequence[str], into: str, annotator: str) -> int:
        """Make one class of several; what is known of them holds for it, and they are not asked any more.

        It is present where one of them is, absent where all of them are, and else unknown.

        Parameters
        ----------
        names : sequence of str
            The classes, two at least.
        into : str
            The name of the new class, which may be that of one of them.
        annotator : str
            Who merges them.

        Returns
        -------
        int
            The position of the new class.
        """

        def merging(connection: Connection, before: ClassList) -> tuple[int, Changed, bool]:
            members, new = list(dict.fromkeys(_active(before, name) for name in names)), _validated(into)
            if len(members) < 2:
                raise BagwiseError("Name at least two classes to merge.")
            _validate_free(before, new, without=members)
            position = queries.add_class(connection, new)
            same = [one for one in members if before[one].name == new] or members[:1]
            kept = {key: text for key in DETAILS if (text := getattr(before[same[0]], key))}
            changed: Changed = _added(before, position, new)
            changed += [(one, "merged", {"into": position}) for one in members]
            return position, changed + ([(position, "described", kept)] if kept else []), True

        return self._change(annotator, merging)

    def split(self, name: str, annotator: str) -> list[int]:
        """Undo a merge: the classes are apart again; answers about the merged class are kept and do not count.

        Parameters
        ----------
        name : str
            The merged class.
        annotator : str
            Who splits it.

        Returns
        -------
        list of int
            The positions of the classes that are asked again.
        """

        def splitting(_: Connection, before: ClassList) -> tuple[list[int], Changed, bool]:
            position = _active(before, name)
            members = before.members.get(position, ())
            if not members:
                raise BagwiseError(f"Class {name} was not merged from others.")
            for one in members:
                _validate_free(before, before[one].name, without=[position])
            return list(members), [(position, "split", {})], True

        return self._change(annotator, splitting)

    def retire(self, name: str, annotator: str) -> int:
        """Stop asking about a class; what is known of it is kept.

        Parameters
        ----------
        name : str
            The class.
        annotator : str
            Who retires it.

        Returns
        -------
        int
            The position of the class.
        """

        def retiring(_: Connection, before: ClassList) -> tuple[int, Changed, bool]:
            position = _active(before, name)
            if len(before.active) == 1:
                raise BagwiseError("It is the last class: a project needs one.")
            return position, [(position, "retired", {})], True

        return self._change(annotator, retiring)

    def restore(self, name: str, annotator: str) -> int:
        """Ask about a retired class again.

        Parameters
        ----------
        name : str
            The class.
        annotator : str
            Who restores it.

        Returns
        -------
        int
            The position of the class.
        """

        def restoring(_: Connection, before: ClassList) -> tuple[int, Changed, bool]:
            position = _existing(before, name)
            if not before[position].retired or before[position].is_split:
                raise BagwiseError(f"Class {name} was not retired.")
            return position, [(position, "restored", {})], True

        return self._change(annotator, restoring)

    def _change(self, annotator: str, work: Callable[[Connection, ClassList], tuple[Result, Changed, bool]]) -> Result:
        validate_name(annotator)
        with self.state.lock, self.state.database.writing() as connection:
            validate_may_change_classes(self.state, connection, annotator)
            result, changed, learned = work(connection, queries.class_list(connection))
            if changed:
                queries.ensure_annotator(connection, annotator)
                queries.add_class_changes(connection, annotator, changed, learned)
        self.state.catch_up()
        return result


def _added(before: ClassList, position: int, name: str) -> Changed:
    """A new class; where another had its name first, its key is not its name."""
    renamed: Changed = [(position, "renamed", {"name": name})] if name in before.keys else []
    return [(position, "added", {}), *renamed]


def _validated(name: str) -> str:
    """The name without blanks around it; an error where it cannot be one."""
    found = name.strip()
    if not found or len(found) > LONGEST_NAME or not found.isprintable():
        raise BagwiseError(f"{name!r} cannot be the name of a class: use 1 to {LONGEST_NAME} printable characters.")
    return found


def _validated_text(text: str) -> str:
    found = text.strip()
    if len(found) > LONGEST_DESCRIPTION or "\0" in found:
        raise BagwiseError(f"A description has at most {LONGEST_DESCRIPTION} characters.")
    return found


def _validate_free(before: ClassList, name: str, without: Sequence[int] = ()) -> None:
    for place, one in enumerate(before):
        if one.holds_name and one.name == name and place not in without:
            hint = ": restore it instead" if one.retired else ""
            raise BagwiseError(f"There is a class {name} already{', which was retired' if one.retired else ''}{hint}.")


def _existing(before: ClassList, name: str) -> int:
    position = before.position(name)
    if position is None:
        raise BagwiseError(f"There is no class {name} in the project.")
    return position


def _active(before: ClassList, name: str) -> int:
    position = _existing(before, name)
    if not before[position].is_active:
        what = "was retired" if before[position].retired else "is part of another class"
        raise BagwiseError(f"Class {name} {what}.")
    return position
