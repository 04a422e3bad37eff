"""The bags that tables of other programs mean: they name files, and often a place in a file that is cut into clips."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from bagwise.formats import LabelTable, PlacedLabel, ScoreTable
from bagwise.kernels import Array
from bagwise.project.storage.bag_files import BagFiles

INSIDE = 0.5
SAME_TIME = 0.005
"""Seconds: the ids of clips have milliseconds, and tables of other programs may have fewer digits."""


def same_as_bags(names: Sequence[str], bags: Collection[str]) -> dict[str, str]:
    r"""Return for every name the bag of the same name, or the one whose file it must be, or itself.

    Of bags whose files have the same stem, that is the only one, or the one that most folders before it agree with:
    `D:\card\north\dawn.wav` is `north/dawn.wav`, not `south/dawn.wav`.
    """
    known = set(bags)
    by_stem: dict[str, list[str]] = {}
    for bag in bags:
        by_stem.setdefault(_parts(bag)[0], []).append(bag)
    return {name: name if name in known else _same_file(name, by_stem) for name in names}


def _same_file(name: str, by_stem: Mapping[str, Sequence[str]]) -> str:
    parts = _parts(name)
    found = by_stem.get(parts[0], ())
    if len(found) < 2:
        return found[0] if found else name
    agreeing = {bag: _agreeing(parts, _parts(bag)) for bag in found}
    most = max(agreeing.values())
    best = [bag for bag, count in agreeing.items() if count == most]
    return best[0] if len(best) == 1 and most > 1 else name


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _parts(name: str) -> list[str]:
    """The stem of a path of any system, then its folders from the last to the first."""
    path = PurePosixPath(name.replace("\\", "/"))
    return [path.stem, *reversed(path.parts[:-1])]


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
    meant = _cut_files(table.ids, bags, files, clips)
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


def scores_of_clips(table: ScoreTable, bags: Mapping[str, int], files: BagFiles) -> ScoreTable:
    """Return scores of recordings as scores of their clips: a window's is that of the clips with at least half of it.

    A score of a whole recording says nothing about its clips and is left out.
    """
    clips = clips_by_file(files)
    meant = _cut_files(table.bags, bags, files, clips)
    if not meant:
        return table
    id_of = {bag: name for name, bag in bags.items()}
    names = {name: number for number, name in enumerate(table.bags)}
    for file in meant.values():
        for bag in clips[file].tolist():
            names.setdefault(id_of[bag], len(names))
    rows, bag_of_row = list[int](), list[int]()
    for row, (bag, (start, end)) in enumerate(zip(table.bag.tolist(), table.span.tolist(), strict=True)):
        recording = meant.get(table.bags[bag])
        if recording is None:
            rows.append(row)
            bag_of_row.append(bag)
        elif not np.isnan(start):
            found = clips_at(files, clips[recording], start, end)
            rows += [row] * len(found)
            bag_of_row += [names[id_of[one]] for one in found]
    kept = np.array(rows, np.int64)
    return replace(
        table,
        bags=list(names),
        bag=np.array(bag_of_row, np.int64),
        label_class=table.label_class[kept],
        instance=table.instance[kept],
        span=table.span[kept],
        probability=table.probability[kept],
    )


def _cut_files(
    names: Sequence[str], bags: Collection[str], files: BagFiles, clips: Mapping[str, Array]
) -> dict[str, str]:
    """The recording that is cut into clips, by each name that means one."""
    meant = same_as_bags([name for name in names if name not in bags], files.names) if clips else {}
    return {name: file for name, file in meant.items() if file in clips}
