"""LabelTable: the labels that a file has, by the names of bags and classes, and where they say what they are of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.labels import Labels
from bagwise.formats._detections import BagSpan
from bagwise.formats._values import MAX_PAIRS, Place, label_value, shape_of, validate_names, validate_unique
from bagwise.kernels import Array

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class PlacedLabel:
    """A label about a part of a bag: one instance, or a place in the bag's file.

    Parameters
    ----------
    bag, label_class : str
        Their names.
    present : bool
        Whether the class is there; that it is not says nothing about the rest of the bag.
    instance : int, optional
        Position of the instance in its bag, counted from 0.
    place : mapping of str to float
        Columns of a medium: `start` and `end` in seconds, with `low` and `high` in Hz if known; `x`, `y`, `width` and
        `height` in pixels; `first` and `last` character. Where no instance is given, those at the place are meant.
    line : int, optional
        Its line in the file, named in errors.

    Examples
    --------
    >>> PlacedLabel("marsh-3", "wren", True, place={"start": 1.5, "end": 2.0}).place["end"]
    2.0
    """

    bag: str
    label_class: str
    present: bool
    instance: int | None = None
    place: Place = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True)
class LabelTable:
    """Labels by the names of bags and classes.

    Parameters
    ----------
    ids : sequence of str
        The bags.
    classes : sequence of str
        The classes.
    values : ndarray of shape (n_bags, n_classes)
        1 present, 0 absent, nan unknown.
    unsure : ndarray of shape (n_bags, n_classes), bool, optional
        Unknown pairs that an annotator answered with *unsure*.
    path : Path, optional
        The file that they come from, named in errors.
    lines : mapping of str to int, optional
        The line of each bag in that file.
    placed : sequence of PlacedLabel
        Labels of instances and places; their bags and classes are among the ids and classes, and a class that is
        present at a place is present in `values`.
    extents : mapping of str to place
        The place of a bag's whole file, for bags where it is known.
    of_files : bool
        Whether the file names recordings, pictures or texts: a bag may then be called as its file, without its suffix.
    spans : mapping of str to BagSpan
        The file of each bag, or the seconds of one, where that is known.

    Examples
    --------
    >>> table = LabelTable(["a"], ["wren", "robin"], np.array([[1.0, np.nan]]))
    >>> list(table.triples())
    [('a', 'wren', 'present')]
    """

    ids: Sequence[str]
    classes: Sequence[str]
    values: Array
    unsure: Array | None = None
    path: Path | None = None
    lines: Mapping[str, int] | None = None
    placed: Sequence[PlacedLabel] = ()
    extents: Mapping[str, Place] = field(default_factory=dict)
    of_files: bool = False
    spans: Mapping[str, BagSpan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            validate_names(self.path, "bag", self.ids)
            validate_names(self.path, "class", self.classes)

    def fault(self, what: str, bag: str | None = None, line: int | None = None) -> BagwiseError:
        """Return an error about these labels that names their file and line.

        Parameters
        ----------
        what : str
            What is wrong and what to do.
        bag : str, optional
            The bag whose line is named.
        line : int, optional
            The line, where it is known.

        Returns
        -------
        BagwiseError
            To be raised; a FileError where the file is known.
        """
        if self.path is None:
            return BagwiseError(f"The labels: {what}")
        if line is not None:
            return FileError(self.path, what, line)
        line = self.lines.get(bag) if self.lines is not None and bag is not None else None
        return FileError(self.path, what, line)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Yield (bag, class, present | absent | unsure) for all pairs that were answered."""
        for b, c in zip(*np.nonzero(self._answered), strict=True):
            value = self.values[b, c]
            yield self.ids[b], self.classes[c], "unsure" if np.isnan(value) else "present" if value else "absent"

    def placed_by(self, *columns: str) -> list[PlacedLabel]:
        """Return the labels of places that have one of these columns.

        Parameters
        ----------
        *columns : str
            Names of parts of a place, as `start` for sound.

        Returns
        -------
        list of PlacedLabel
        """
        return [one for one in self.placed if any(column in one.place for column in columns)]

    def triples_but(self, placed: Sequence[PlacedLabel]) -> Iterator[tuple[str, str, str]]:
        """Yield (bag, class, label) of all pairs but those that are present at one of some places.

        Parameters
        ----------
        placed : sequence of PlacedLabel
            Labels of places.

        Yields
        ------
        tuple of str
        """
        at_places = {(one.bag, one.label_class) for one in placed if one.present}
        return (triple for triple in self.triples() if triple[:2] not in at_places)

    def by_file(self) -> "LabelTable":
        """Return the labels of clips as labels of the seconds of their files; what is unsure of a clip is left out.

        Returns
        -------
        LabelTable
            Its bags are files. A label of a whole clip is that of the place of the clip; where a table has no clips it
            is returned as it is.
        """
        clips = {bag: one for bag, one in self.spans.items() if one.is_clip}
        if not clips:
            return self
        pointed = {(one.bag, one.label_class) for one in self.placed if one.present and "start" in one.place}
        placed = [replace(one, bag=clips[one.bag].file) if one.bag in clips else one for one in self.placed]
        whole: list[tuple[str, str, float]] = []
        for bag, name, answer in self.triples():
            value = {"present": 1.0, "absent": 0.0, "unsure": np.nan}[answer]
            if bag not in clips:
                whole.append((bag, name, value))
            elif answer != "unsure" and (bag, name) not in pointed:
                span = clips[bag]
                placed.append(PlacedLabel(span.file, name, bool(value), None, span.place))
        found = LabelTable.from_triples(self.path or Path(), whole, placed=placed)
        extents = {clips[bag].file if bag in clips else bag: extent for bag, extent in self.extents.items()}
        return replace(found, path=self.path, extents=extents, of_files=True)

    @property
    def _answered(self) -> Array:
        known = ~np.isnan(self.values)
        return known if self.unsure is None else known | self.unsure

    @classmethod
    def from_triples(
        cls,
        path: Path,
        triples: Sequence[tuple[str, str, float]],
        lines: Sequence[int] | None = None,
        placed: Sequence[PlacedLabel] = (),
    ) -> "LabelTable":
        """Return the table of (bag, class, value); a pair that appears twice must have one value.

        What is present at a place is present in its bag; what is not there may be elsewhere in it.

        Parameters
        ----------
        path : Path
            The file that they come from, named in errors.
        triples : sequence of (str, str, float)
            The bag, the class, and 1 for present, 0 for absent or nan for unknown.
        lines : sequence of int, optional
            The line of each triple in the file.
        placed : sequence of PlacedLabel
            Labels of instances and places.

        Returns
        -------
        LabelTable
            Bags and classes are in the order in which they first appear.
        """
        triples = [*triples, *((one.bag, one.label_class, 1.0 if one.present else np.nan) for one in placed)]
        if lines is not None:
            lines = [*lines, *(one.line or 0 for one in placed)]
            order = sorted(range(len(lines)), key=lines.__getitem__)
            triples, lines = [triples[place] for place in order], [lines[place] for place in order]
        ids = list(dict.fromkeys(bag for bag, _, _ in triples))
        classes = list(dict.fromkeys(name for _, name, _ in triples))
        if len(ids) * len(classes) > MAX_PAIRS:
            raise FileError(
                path, f"it names {len(ids)} bags and {len(classes)} classes: that is not a table of labels."
            )
        row, column = {b: i for i, b in enumerate(ids)}, {c: i for i, c in enumerate(classes)}
        values = np.full((len(ids), len(classes)), np.nan)
        for number, (bag, name, value) in enumerate(triples):
            before = values[row[bag], column[name]]
            if np.isnan(value):
                continue
            if not np.isnan(before) and before != value:
                line = lines[number] if lines is not None else None
                raise FileError(path, f"bag {bag} is both present and absent for class {name}.", line)
            values[row[bag], column[name]] = value
        line_of_bag = (
            {bag: line for (bag, _, _), line in zip(reversed(triples), reversed(lines), strict=True)} if lines else None
        )
        return cls(ids, classes, values, path=path, lines=line_of_bag, placed=tuple(placed))


def label_matrix(path: Path, ids: Sequence[str], classes: Sequence[str], values: Array) -> LabelTable:
    """Return the table of a (bags x classes) matrix of 1, 0 and nan, validated."""
    values = np.asarray(values)
    if values.shape != (len(ids), len(classes)):
        raise FileError(path, f"its labels are {shape_of(values)} for {len(ids)} bags and {len(classes)} classes.")
    validate_unique(path, "class", classes)
    if values.dtype.kind not in "fiub":
        raise FileError(path, f"its labels are of type {values.dtype}: they must be 1 (present) or 0 (absent).")
    values = values.astype(float)
    wrong = ~(np.isnan(values) | (values == 0) | (values == 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        label_value(f"{values[row, column]:g}", path, int(row) + 1, classes[int(column)], "row")
    return LabelTable(ids, classes, values, path=path)


def as_labels(table: LabelTable) -> Labels:
    """Return the labels without the names.

    Parameters
    ----------
    table : LabelTable
        Labels by name.

    Returns
    -------
    Labels
        With the rows of `table.ids` and the columns of `table.classes`.

    Examples
    --------
    >>> as_labels(LabelTable(["a"], ["wren", "robin"], np.array([[1.0, np.nan]])))
    Labels(1 bags, 2 classes, 1 of 2 known)
    """
    return Labels.from_array(table.values)
