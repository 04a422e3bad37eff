"""The bags that tables of other programs mean: they name files, and often a place in a file that is cut into clips."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from bagwise.formats import LabelTable, PlacedLabel
from bagwise.kernels import Array
from bagwise.project.storage.bag_files import BagFiles

INSIDE = 0.5
SAME_TIME = 0.005
"""Seconds: the ids of clips have milliseconds, and tables of other programs may have fewer digits."""


def same_as_bags(names: Sequence[str], bags: Collection[str]) -> dict[str, str]:
    """Return for every name the bag of the same name, or the only one whose file has the same stem, or itself."""
    by_stem: dict[str, list[str]] = {}
    for bag in bags:
        by_stem.setdefault(PurePosixPath(bag).stem, []).append(bag)
    return {
        name: found[0] if name not in bags and len(found := by_stem.get(_stem(name), [])) == 1 else name
        for name in names
    }


def _stem(name: str) -> str:
    """Of a path of any system."""
    return PurePosixPath(name.replace("\\", "/")).stem


def named_as_bags(table: LabelTable, bags: Collection[str]) -> LabelTable:
    """Return labels of files by the bags of those files: `marsh-3.wav` is the bag `marsh-3` or `north/marsh-3.wav`.

    A name that no bag has is that of the only bag whose file has the same name without folder and suffix. Others are
    left as they are, and so are tables that name bags (`table.of_files` is false).
    """
    if not table.of_files or all(name in bags for name in table.ids):
        return table
    names = same_as_bags(table.ids, bags)
    if len(set(names.values())) < len(names):
        return table
    placed = [replace(one, bag=names[one.bag]) for one in table.placed]
    lines = table.lines and {names[name]: line for name, line in table.lines.items()}
    return replace(table, ids=[names[name] for name in table.ids], lines=lines, placed=placed)


def clips_by_file(files: BagFiles) -> dict[str, Array]:
    """Return the positions of the clips of every file that is cut into clips, in the order of time."""
    clips = np.flatnonzero(~np.isnan(files.clips[:, 0]))
    of_file: dict[str, list[int]] = {}
    for bag in clips[np.argsort(files.clips[clips, 0], kind="stable")].tolist():
        of_file.setdefault(files.files[files.file_of[bag]].name, []).append(bag)
    return {name: np.array(bags) for name, bags in of_file.items()}


def clips_at(files: BagFiles, bags: Array, start: float, end: float) -> list[int]:
    """Return which of these clips a place of their file is in: those with at least half of it, or the one with most."""
    first, last = files.clips[bags].T
    common = np.minimum(last, end) - np.maximum(first, start)
    if common.max() < 0:
        return []
    enough = common >= INSIDE * (end - start)
    return bags[enough].tolist() if enough.any() else [int(bags[common.argmax()])]


def labels_of_clips(table: LabelTable, bags: Mapping[str, int], files: BagFiles) -> LabelTable:
    """Return labels of recordings as labels of their clips.

    What is at a place is in the clip of that place; a label of all frequencies and of all seconds of a clip is one of
    the clip, and of none of its instances. What is absent in a recording is absent in all of its clips; where it is
    present, the table does not say, so that is an error.
    """
    clips = clips_by_file(files)
    meant = same_as_bags([name for name in table.ids if name not in bags], files.names) if clips else {}
    meant = {name: file for name, file in meant.items() if file in clips}
    if not meant:
        return table
    id_of = {bag: name for name, bag in bags.items()}
    placed, whole = list[PlacedLabel](), list[PlacedLabel]()
    for one in table.placed:
        for label, is_whole in _of_clips(table, one, meant, clips, files, id_of):
            (whole if is_whole else placed).append(label)
    at_places = {(one.bag, one.label_class) for one in table.placed if one.present}
    rows: dict[str, Array] = {}
    for number, name in enumerate(table.ids):
        values = table.values[number].copy()
        if name not in meant:
            rows[name] = values
            continue
        values[[(name, label_class) in at_places for label_class in table.classes]] = np.nan
        if (values == 1).any():
            count, present = len(clips[meant[name]]), table.classes[int((values == 1).argmax())]
            what = (
                f"{name} is cut into {count} clips, and the label does not say in which {present} is: give its times."
            )
            raise table.fault(what, name)
        for bag in clips[meant[name]].tolist():
            rows[id_of[bag]] = values.copy()
    column = {name: number for number, name in enumerate(table.classes)}
    for one in placed:
        row = rows.setdefault(one.bag, np.full(len(column), np.nan))
        if one.present:
            row[column[one.label_class]] = 1.0
    for one in whole:
        row, number = rows.setdefault(one.bag, np.full(len(column), np.nan)), column[one.label_class]
        if row[number] == float(not one.present):
            raise table.fault(f"{one.bag} is both present and absent for class {one.label_class}.", line=one.line)
        row[number] = float(one.present)
    return replace(table, ids=list(rows), values=np.array(list(rows.values())), unsure=None, lines=None, placed=placed)


def _of_clips(
    table: LabelTable,
    label: PlacedLabel,
    meant: Mapping[str, str],
    clips: Mapping[str, Array],
    files: BagFiles,
    id_of: Mapping[int, str],
) -> list[tuple[PlacedLabel, bool]]:
    """The labels of clips that a label of a recording is, and whether each is about the whole clip."""
    if label.bag not in meant:
        return [(label, False)]
    if "start" not in label.place:
        raise table.fault(f"{label.bag} is cut into clips: give the times of the label.", label.bag, label.line)
    start, end, bags = label.place["start"], label.place["end"], clips[meant[label.bag]]
    found = clips_at(files, bags, start, end)
    first, last = files.clips[bags].T
    inside = (start <= first + SAME_TIME) & (last - SAME_TIME <= end) & ("low" not in label.place)
    covered = bags[inside].tolist()
    whole = [bag for bag in covered if not label.present or bag in found]
    return [(replace(label, bag=id_of[bag]), bag in whole) for bag in dict.fromkeys([*whole, *found])]
