"""The media of a project's bags: the file that a person sees or hears of a bag, in the folder `media`.

A file is named by the number of its bag, never by a name from outside; the clips of a recording share the file of the
first. Files on the same disk are linked, which costs neither time nor space, others are copied; either way the folder
is complete. The model does not learn from media, so none of it is in the database.
"""

import contextlib
import math
import os
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import SegmentedFolder, SegmentPlaces, media
from bagwise.ingest.media import Files, Places, Spans
from bagwise.kernels import Array
from bagwise.project.imports import segmentation
from bagwise.project.instances.instance_file import reserve
from bagwise.project.storage.queries import Contents

FOLDER = "media"
PLACES = "places.npy"
OUTLINES = ".outlines"
SETTLED = 2_000_000_000
"""Nanoseconds after which a change of the folder has another time than any later one."""


@dataclass(frozen=True)
class Media:
    """The media of an import: files, places of the instances in them, or both; and the segmentation they come from.

    Parameters
    ----------
    files : Files, optional
        The files of the bags.
    places : Places, Spans or SegmentPlaces, optional
        Where in its file each instance is.
    cut : SegmentedFolder, optional
        The segmentation that files and places come from.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.txt").write_text("a wren")
    ...     brought = Media(Files.in_folder(Path(folder)))
    >>> list(brought.files.whole), brought.places is None
    (['a.txt'], True)
    """

    files: Files | None = None
    places: Places | Spans | SegmentPlaces | None = None
    cut: SegmentedFolder | None = None

    @classmethod
    def of(cls, cut: SegmentedFolder) -> "Media":
        """Return the media of a segmented folder.

        Parameters
        ----------
        cut : SegmentedFolder
            The result of `segment_folder`.

        Returns
        -------
        Media
        """
        return cls(cut.files, cut.places, cut)


@dataclass(frozen=True)
class Kept:
    """The file of a bag, its medium, and the places of its instances in it.

    Parameters
    ----------
    medium : str
        The name of the medium.
    path : Path
        The file, in the folder of the project.
    places : list of dict of str to float, or None
        For each instance its place by the columns of the medium; None where it is unknown.
    outlines : Path, optional
        A file with the outline of every instance, where boxes are not enough.
    clip : tuple of float, optional
        The seconds of the file that the bag is; None for the whole file. Places are in seconds of the file.

    Examples
    --------
    >>> kept = Kept("sound", Path("media/0.wav"), [{"start": 0.5, "end": 2.0}, None])
    >>> kept.places[0]["end"]
    2.0
    """

    medium: str
    path: Path
    places: list[dict[str, float] | None]
    outlines: Path | None = None
    clip: tuple[float, float] | None = None


def keep(
    folder: Path,
    brought: Media,
    ids: Sequence[str],
    offsets: Array,
    holders: Array,
    progress: Callable[[int], None],
) -> None:
    """Store files and places in the project; they are validated before anything is written.

    Clips of one file share it: `holders` has for each bag the one whose file it is.
    """
    found = brought.files.of(ids) if brought.files is not None else {}
    suffixes = _kept(folder) | {bag: path.suffix.lower() for bag, path in found.items()}
    mediums = {
        bag: media.medium_of(suffixes[holder]) for bag, holder in enumerate(holders.tolist()) if holder in suffixes
    }
    if brought.places is not None:
        if not mediums:
            raise BagwiseError("Places need files, and no bag has one: give --media FOLDER as well.")
        rows, places = brought.places.rows(ids, offsets, mediums)
    try:
        (folder / FOLDER).mkdir(exist_ok=True)
        for bag, path in found.items():
            _put(folder / FOLDER, bag, path)
            progress(1)
        if brought.places is not None:
            _write_places(folder, int(offsets[-1]), rows, places)
        if brought.cut is not None:
            _put_outlines(folder / FOLDER, brought.cut, ids)
            segmentation.keep(folder, brought.cut, ids)
    except OSError as error:
        raise BagwiseError(f"{folder / FOLDER} cannot be written: {error.strerror or error}.") from error


def replace_file(folder: Path, bag: int, name: str, path: Path) -> None:
    """Replace the file that is shown for the bag called `name`; the places of its instances stay."""
    before, suffix = _kept(folder).get(bag), path.suffix.lower()
    if suffix not in media.suffixes():
        raise FileError(path, f"cannot be shown: supported are {', '.join(media.suffixes())}.")
    media.validate_media_file(path)
    if before is not None and media.medium_of(before) != media.medium_of(suffix):
        raise FileError(path, f"is not a {media.medium_of(before)}, as the file of {name} is.")
    cut = segmentation.fingerprints(folder).get(name)
    if cut is not None and not cut.same_content(path):
        raise FileError(path, f"has other content than the file that {name} was segmented from.")
    if cut is not None and before is not None:
        # The stored file may be converted from it, as text is from a document in another encoding.
        return
    try:
        (folder / FOLDER).mkdir(exist_ok=True)
        _link(path, folder / FOLDER / f"{bag}{suffix}")
        if before not in (None, suffix):
            (folder / FOLDER / f"{bag}{before}").unlink()
    except OSError as error:
        raise BagwiseError(f"{folder / FOLDER} cannot be written: {error.strerror or error}.") from error


def discard(folder: Path, bags: int, rows: int) -> None:
    """Remove the files of an import that failed or was killed: the bags of the next import must not get them."""
    for left in (folder / FOLDER).glob(".*.part"):
        left.unlink()
    for bag, suffix in _kept(folder).items():
        if bag >= bags:
            (folder / FOLDER / f"{bag}{suffix}").unlink()
            (folder / FOLDER / f"{bag}{OUTLINES}").unlink(missing_ok=True)
    places = _places(folder)
    if places is not None and len(places) > rows:
        _write_places(folder, rows, np.empty(0, np.int64), np.empty((0, media.WIDTH)))
    segmentation.discard_scores(folder, bags)


def kept_of(folder: Path, contents: Contents, bag: int) -> Kept | None:
    """Return the media of a bag; never a file outside the project."""
    # Several times for every question: without `pathlib`, and without trying every suffix.
    place = f"{folder}/{FOLDER}"
    of_place = _lstat(place)
    if of_place is None or not stat.S_ISDIR(of_place.st_mode):
        return None
    holder = int(contents.bag_files.holders[bag])
    suffix = _suffix_of(place, of_place.st_mtime_ns, holder)
    if suffix is None:
        return None
    first, last = contents.offsets[bag : bag + 2].tolist()
    medium, source = media.medium_of(suffix), contents.bag_files.of(bag)
    outlines = f"{place}/{holder}{OUTLINES}"
    drawn = Path(outlines) if _is_own_file(outlines) else None
    places = _places_of(folder, media.columns_of(medium), first, last)
    return Kept(medium, Path(f"{place}/{holder}{suffix}"), places, drawn, None if source is None else source.clip)


def _suffix_of(place: str, changed: int, bag: int) -> str | None:
    """The suffix of the bag's file in the folder, which was changed then; None where it has none, or but a link."""
    if time.time_ns() < changed + SETTLED:
        # It may change again without a newer time.
        possible: Iterable[str] = media.suffixes()
    else:
        listed = _kept_as_of(place, changed).get(bag)
        possible = () if listed is None else (listed, *media.suffixes())
    return next((suffix for suffix in possible if _is_own_file(f"{place}/{bag}{suffix}")), None)


@lru_cache(maxsize=2)
def _kept_as_of(place: str, _changed: int) -> dict[int, str]:
    return _kept(Path(place).parent)


def _is_own_file(path: str) -> bool:
    """Whether it is a file and no link, which might lead out of the project."""
    found = _lstat(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def located(folder: Path, offsets: Array, holders: Array) -> Callable[[int], tuple[str, Array] | None]:
    """Return a function that gives the medium of a bag and the places of its instances, (n, 4); None without any."""
    suffixes, places = _kept(folder), _places(folder)

    def of_bag(bag: int) -> tuple[str, Array] | None:
        if places is None or holders[bag] not in suffixes:
            return None
        found = np.array(places[offsets[bag] : offsets[bag + 1]])
        complete = np.full((int(offsets[bag + 1] - offsets[bag]), media.WIDTH), np.nan)
        complete[: len(found)] = found
        return None if np.isnan(complete).all() else (media.medium_of(suffixes[holders[bag]]), complete)

    return of_bag


def bags_with_a_file(folder: Path, holders: Array) -> set[int]:
    """Return the positions of the bags that have a file."""
    return set(np.flatnonzero(np.isin(holders, list(_kept(folder)))).tolist())


def wrong(folder: Path) -> str:
    """Return what is wrong with the media, for `bagwise check`; empty where nothing is."""
    if (folder / FOLDER / PLACES).exists() and _places(folder) is None:
        return f"{FOLDER}/{PLACES} is damaged: import the places again with `bagwise import --places FILE`"
    for bag, suffix in _kept(folder).items():
        path = folder / FOLDER / f"{bag}{suffix}"
        if path.is_symlink() or not path.is_file():
            return f"{FOLDER}/{path.name} is not a file of this project"
    return ""


def copy(folder: Path, target: Path) -> None:
    """Copy all media to another project."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(folder / FOLDER, target / FOLDER, symlinks=True)
    segmentation.copy(folder, target)


def _kept(folder: Path) -> dict[int, str]:
    """The suffix of every bag's file."""
    with contextlib.suppress(FileNotFoundError):
        known = {suffix: suffix for suffix in media.suffixes()}
        paths = [path for path in (folder / FOLDER).iterdir() if path.suffix in known]
        named = [path for path in paths if path.stem.isascii() and path.stem.isdigit()]
        return {int(path.stem): known[path.suffix] for path in named if path.stem == str(int(path.stem))}
    return {}


def _put(place: Path, bag: int, path: Path) -> None:
    for suffix in (*media.suffixes(), OUTLINES):
        (place / f"{bag}{suffix}").unlink(missing_ok=True)
    _link(path, place / f"{bag}{path.suffix.lower()}")


def _put_outlines(place: Path, cut: SegmentedFolder, ids: Sequence[str]) -> None:
    position = {name: number for number, name in enumerate(ids)}
    for name, path in cut.outlines.items():
        _link(path, place / f"{position[name]}{OUTLINES}")


def _link(path: Path, target: Path) -> None:
    unfinished = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        os.link(path.resolve(), unfinished)
    except OSError:  # Another disk, or a file of another user.
        shutil.copyfile(path, unfinished)
    unfinished.replace(target)


def _write_places(folder: Path, total: int, rows: Array, places: Array) -> None:
    unfinished = folder / FOLDER / f".{uuid.uuid4().hex}.part"
    before = _places(folder)
    target = np.lib.format.open_memmap(unfinished, "w+", np.float64, (total, media.WIDTH))
    with unfinished.open("r+b") as file:
        reserve(file, unfinished.stat().st_size)
    target[:] = np.nan
    if before is not None:
        shared = min(total, len(before))
        target[:shared] = before[:shared]
    target[rows] = places
    target.flush()
    unfinished.replace(folder / FOLDER / PLACES)


def _places(folder: Path) -> Array | None:
    """The places of all instances; None where there are none or they are damaged: labelling goes on without them."""
    path = f"{folder}/{FOLDER}/{PLACES}"
    found = _lstat(path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    try:
        places = _places_as_of(path, (found.st_ino, found.st_mtime_ns, found.st_size))
    except (OSError, ValueError, EOFError):
        return None
    return places if places.ndim == 2 and places.shape[1] == media.WIDTH and places.dtype == np.float64 else None


@lru_cache(maxsize=2)
def _places_as_of(path: str, _version: tuple[int, int, int]) -> Array:
    """Several times for every question; a file of places is never changed, but replaced by another."""
    found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return found


def _places_of(folder: Path, columns: Sequence[str], first: int, last: int) -> list[dict[str, float] | None]:
    found: list[dict[str, float] | None] = [None] * (last - first)
    places = _places(folder)
    for number, row in enumerate(places[first:last].tolist() if places is not None else []):
        place = {name: value for name, value in zip(columns, row, strict=False) if not math.isnan(value)}
        found[number] = place or None
    return found
