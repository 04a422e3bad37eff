"""The classes of a project: their names and details, and what became of them, folded from the changes in order.

A class keeps its position for ever, so that an answer is always about what was asked. *Merging* makes a new class of
several: what is known of it follows from them (`answers/current_labels.py`) until it is answered itself, and they are
not asked any more. A *retired* class is not asked, predicted or counted; what is known of it is kept and learned.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.kernels import Array

KINDS = ("added", "renamed", "described", "retired", "restored", "merged", "split")
"""What can happen to a class; the value of a change is a dictionary:

added       nothing: the class is new, with the name that it has in the database
renamed     name
described   those of `DETAILS` that changed
retired, restored   nothing
merged      into: the position of the class that it became a part of
split       nothing: the classes that it was made of are apart again
"""
DETAILS = ("scientific_name", "common_name", "description", "example")


@dataclass(frozen=True)
class LabelClass:
    """One class.

    Parameters
    ----------
    name : str
        The name that people see.
    scientific_name, common_name : str
        Other names of it; empty where not known.
    description : str
        What belongs to it and what does not, shown with the question.
    example : str
        Name of a picture or sound of it in the project's folder; empty without one.
    retired : bool
        Whether it is not asked any more.
    merged_into : int or None
        Position of the class that it became a part of.
    is_split : bool
        Whether it was made of others that are apart again.
    is_added : bool
        Whether it was added by a person, and not imported.

    Examples
    --------
    >>> LabelClass("wren").is_active, LabelClass("wren", retired=True).is_active
    (True, False)
    """

    name: str
    scientific_name: str = ""
    common_name: str = ""
    description: str = ""
    example: str = ""
    retired: bool = False
    merged_into: int | None = None
    is_split: bool = False
    is_added: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it is asked about, predicted and counted."""
        return not self.retired and self.merged_into is None

    @property
    def is_described(self) -> bool:
        """Whether something is said of it besides its name."""
        return bool(self.scientific_name or self.common_name or self.description or self.example)

    @property
    def holds_name(self) -> bool:
        """Whether no other class can have its name."""
        return self.merged_into is None and not self.is_split


@dataclass(frozen=True)
class ClassChange:
    """What a person did to a class; `KINDS` has what the value is.

    Parameters
    ----------
    number : int
        Position among the changes, from 1.
    at : str
        When (ISO 8601, UTC).
    annotator : str
        Who.
    label_class : int
        Position of the class.
    kind : str
        One of `KINDS`.
    value : dict
        What changed.
    after : int
        Number of the last answer before.

    Examples
    --------
    >>> ClassChange(1, "2026-01-01T00:00:00.000+00:00", "ann", 0, "renamed", {"name": "winter wren"}, 12).kind
    'renamed'
    """

    number: int
    at: str
    annotator: str
    label_class: int
    kind: str
    value: dict[str, Any]
    after: int


@dataclass(frozen=True)
class ClassList:
    """The classes of a project, by position.

    Parameters
    ----------
    keys : tuple of str
        The first name of every class; no two are the same, and none ever changes.
    classes : tuple of LabelClass
        What they are now.
    earlier_names : dict of str to int
        Names that a class had before, with its position.

    Examples
    --------
    >>> changes = [ClassChange(1, "", "ann", 0, "renamed", {"name": "winter wren"}, 0)]
    >>> found = ClassList.of(["wren", "owl"], changes)
    >>> found.names, found.position("wren")
    (['winter wren', 'owl'], 0)
    """

    keys: tuple[str, ...]
    classes: tuple[LabelClass, ...]
    earlier_names: dict[str, int]

    @classmethod
    def of(cls, keys: Sequence[str], changes: Iterable[ClassChange] = ()) -> "ClassList":
        """Return the classes after these changes."""
        classes = [LabelClass(name) for name in keys]
        earlier: dict[str, int] = {}
        for change in changes:
            place, now = change.label_class, classes[change.label_class]
            if change.kind == "added":
                classes[place] = replace(now, is_added=True)
            elif change.kind == "renamed":
                earlier[now.name] = place
                classes[place] = replace(now, name=change.value["name"])
            elif change.kind == "described":
                classes[place] = replace(now, **change.value)
            elif change.kind in ("retired", "restored"):
                classes[place] = replace(now, retired=change.kind == "retired")
            elif change.kind == "merged":
                classes[place] = replace(now, merged_into=change.value["into"])
            elif change.kind == "split":
                classes[place] = replace(now, retired=True, is_split=True)
                classes = [replace(one, merged_into=None) if one.merged_into == place else one for one in classes]
        return cls(tuple(keys), tuple(classes), earlier)

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, position: int) -> LabelClass:
        return self.classes[position]

    def __iter__(self) -> Iterator[LabelClass]:
        return iter(self.classes)

    @cached_property
    def names(self) -> list[str]:
        """A name for every class, by position, no two the same: those of merged and split ones say what they are."""
        found: list[str] = []
        taken = {one.name for one in self if one.holds_name}
        for one in self:
            name = one.name
            if one.merged_into is not None:
                name = f"{name} (merged into {self[self.root(one.merged_into)].name})"
            elif one.is_split:
                name = f"{name} (split)"
            number = 2
            unique = name
            while not one.holds_name and unique in taken:
                unique, number = f"{name} {number}", number + 1
            taken.add(unique)
            found.append(unique)
        return found

    @cached_property
    def active(self) -> Array:
        """The positions of the classes that are asked about, predicted and counted."""
        return np.array([place for place, one in enumerate(self) if one.is_active], np.int64)

    @cached_property
    def active_names(self) -> list[str]:
        """Their names, in the same order."""
        return [self.names[place] for place in self.active]

    @cached_property
    def members(self) -> dict[int, tuple[int, ...]]:
        """The classes that a class was made of, by its position; only of merged ones, those made first first."""
        found: dict[int, tuple[int, ...]] = {}
        for place, one in enumerate(self):
            if one.merged_into is not None:
                found[one.merged_into] = (*found.get(one.merged_into, ()), place)
        return dict(sorted(found.items()))

    def root(self, position: int) -> int:
        """Return the class that a class became a part of, or itself."""
        while (into := self[position].merged_into) is not None:
            position = into
        return position

    @cached_property
    def aliases(self) -> dict[str, int]:
        """Every name that means one class: the present ones, scientific and common ones, and earlier ones."""
        found = dict(self.earlier_names)
        found |= {one.name: place for place, one in enumerate(self) if not one.holds_name}
        for which in ("scientific_name", "common_name"):
            given = [getattr(one, which) for one in self]
            once = {name for name in given if name and given.count(name) == 1}
            found |= {name: place for place, name in enumerate(given) if name in once}
        return found | {name: place for place, name in enumerate(self.names)}

    def position(self, name: str) -> int | None:
        """Return the position of the class with this name, of those it has or had; None where there is none."""
        return self.aliases.get(name)

    @property
    def fingerprint(self) -> list[Any]:
        """What a model depends on besides the first names; empty where nothing was merged or retired."""
        if all(one.is_active for one in self):
            return []
        return [(one.retired, one.merged_into) for one in self]
