"""The scores of a project: what a classifier thinks of its bags, in a file that is named by its own checksum.

An import of scores is a change of the contents, as one of labels is: the model is fitted again after it, and a replay
of the answers starts there. Later scores are added; of both, the later count. Bags and classes that are added later
have none until scores are imported again.
"""

import hashlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.class_names import ClassNames
from bagwise.data.scores import Scores
from bagwise.formats import Matching, ScoreTable, Source
from bagwise.kernels import Array
from bagwise.project.imports import media as kept
from bagwise.project.imports.bag_names import same_as_bags, scores_of_clips
from bagwise.project.imports.importing import exclusive
from bagwise.project.storage import queries
from bagwise.project.storage.database import Database
from bagwise.project.storage.queries import Contents

PREFIX, SUFFIX = queries.SCORES_PREFIX, ".npz"


def import_scores(folder: Path, database: Database, table: ScoreTable, source: Source | None = None) -> Matching:
    """Add scores to a project.

    Parameters
    ----------
    folder, database
        The project.
    table : ScoreTable
        The scores by names of bags and classes.
    source : Source, optional
        The instances that the bags were made from, where it has their times.

    Returns
    -------
    Matching
        Which names were found in the project.

    Raises
    ------
    BagwiseError
        Where no score is of a bag and a class of the project; it is then unchanged.
    """
    with exclusive(folder):
        with database.reading() as connection:
            contents = queries.contents(connection)
        places = {name: place for place, name in enumerate(contents.ids.tolist())}
        table = scores_of_clips(table, places, contents.bag_files)
        names = same_as_bags(table.bags, places)
        found, matching = table.scores(
            {name: places[bag] for name, bag in names.items() if bag in places},
            contents.offsets,
            _named_as_in(table, contents),
            _spans(folder, contents, source, places),
        )
        if not matching.matched or len(matching.unknown_bags) == len(table.bags):
            what = "classes" if not matching.matched else "bags"
            named = ", ".join((table.classes if what == "classes" else table.bags)[:3])
            meant = "; ".join(f"{name} may be {' or '.join(names)}" for name, names in matching.nearest.items())
            hint = f" Rename classes that are meant: {meant}." if meant and what == "classes" else ""
            raise BagwiseError(f"{table.path}: none of its {what} is in the project (it has {named}, ...).{hint}")
        listed = np.array([places[bag] for bag in names.values() if bag in places])
        file = _write(folder, _merged(stored(folder, contents), found, listed, contents.offsets))
        with database.writing() as connection:
            queries.add_import(connection, file, [], np.empty(0, np.int64), [], [], 0)
        for old in folder.glob(f"{PREFIX}*{SUFFIX}"):
            # Another process may be about to read the scores that counted until now.
            if old.name not in (file, contents.scores):
                old.unlink()
    return matching


def _named_as_in(table: ScoreTable, contents: Contents) -> list[str]:
    """The name of every class, or another of its names, where the table has that."""
    known = ClassNames(table.classes)
    found = []
    for one, name in zip(contents.class_list, contents.classes, strict=True):
        names = [other for other in (name, one.scientific_name, one.common_name) if other]
        found.append(next((other for other in names if known.columns([other])[0] >= 0), name))
    return found


def _spans(
    folder: Path, contents: Contents, source: Source | None, places: dict[str, int]
) -> Callable[[int], Array | None]:
    located = kept.located(folder, contents.offsets, contents.bag_files.holders)
    of_source = {} if source is None else {places[name]: code for code, name in enumerate(source.ids) if name in places}

    def of_bag(bag: int) -> Array | None:
        if source is not None and source.spans is not None and bag in of_source:
            return np.asarray(source.spans[source.codes == of_source[bag]])
        found = located(bag)
        return found[1][:, :2] if found is not None and found[0] == "sound" else None

    return of_bag


def _merged(before: Scores | None, new: Scores, listed: Array, offsets: Array) -> Scores:
    """Both scores; the new ones count, but for bags that their table does not list and that had scores before."""
    if before is None:
        return new
    had_scores = np.logical_or.reduceat(~np.isnan(before.of_instances).all(axis=1), offsets[:-1])
    kept = had_scores | ~np.isnan(before.of_bags).all(axis=1)
    kept[listed] = False
    of_instances, of_bags = (
        np.where(np.isnan(newer) | (keep[:, None] & ~np.isnan(older)), older, newer)
        for newer, older, keep in (
            (new.of_instances, before.of_instances, np.repeat(kept, np.diff(offsets))),
            (new.of_bags, before.of_bags, kept),
        )
    )
    return Scores(of_instances, of_bags, new.classes, new.source)


def _write(folder: Path, scores: Scores) -> str:
    content = io.BytesIO()
    arrays = {"of_instances": scores.of_instances.astype(np.float32), "of_bags": scores.of_bags.astype(np.float32)}
    np.savez(content, classes=np.array(scores.classes), source=np.array(scores.source), **arrays)
    file = f"{PREFIX}{hashlib.sha256(content.getvalue()).hexdigest()}{SUFFIX}"
    unfinished = folder / f".{file}.part"
    try:
        unfinished.write_bytes(content.getvalue())
        unfinished.replace(folder / file)
    except OSError as error:
        raise BagwiseError(f"{folder / file} cannot be written: {error.strerror}. The project is unchanged.") from error
    return file


def stored(folder: Path, contents: Contents) -> Scores | None:
    """Return the scores of all bags and classes of a project, NaN for those without; None where it has none."""
    if not contents.scores:
        return None
    if problem := wrong(folder, contents):
        raise BagwiseError(f"{folder}: {problem}. Restore it from a backup.")
    with np.load(folder / contents.scores, allow_pickle=False) as file:
        shape = len(contents.ids), int(contents.offsets[-1]), len(contents.classes)
        of_instances, of_bags = np.full((shape[1], shape[2]), np.nan), np.full((shape[0], shape[2]), np.nan)
        for all_rows, given in ((of_instances, file["of_instances"]), (of_bags, file["of_bags"])):
            all_rows[: given.shape[0], : given.shape[1]] = given
        return Scores(of_instances, of_bags, tuple(contents.classes), str(file["source"]))


def attached(scores: Scores | None, bags: Bags) -> Bags:
    """Return the bags of a project with its scores, where it has any."""
    return bags if scores is None else scores.attached_to(bags)


def wrong(folder: Path, contents: Contents) -> str:
    """Return what is wrong with the scores, for `bagwise check`; empty where nothing is."""
    if not contents.scores:
        return ""
    path = folder / contents.scores
    if not path.exists():
        return f"the scores {path.name} are missing"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return "" if path.name == f"{PREFIX}{digest}{SUFFIX}" else f"the scores {path.name} are not what was imported"


def copy(folder: Path, target: Path) -> None:
    """Copy the scores to another project."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        shutil.copyfile(path, target / path.name)
