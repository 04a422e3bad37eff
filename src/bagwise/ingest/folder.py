"""A folder of raw files becomes bags: cut once, kept on disk while it goes on, continued where it was interrupted."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import Source
from bagwise.ingest.cache import Cache, Entry
from bagwise.ingest.fingerprints import Seen
from bagwise.ingest.listing import Listing
from bagwise.ingest.media import WIDTH, Files
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.types import Segments
from bagwise.ingest.worker_pool import segment_files
from bagwise.kernels import Array

FOLDER_OF, LOCK = "folder.txt", "lock"
CHANGED = "changed since it was cut; the project keeps what it was. To add it as it is now, give it another name."


@dataclass(frozen=True)
class SegmentedFolder:
    """What a folder became: the new bags, what is seen of them, and what was skipped for which reason.

    `renamed` says of bags of the project what their files are called now.
    """

    listing: Listing
    recipe: Recipe
    cache: Cache
    entries: Sequence[Entry]
    skipped: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The instances, read from the disk when they are asked for."""
        if not self.entries:
            raise FileError(self.listing.folder, f"none of its files can be used{self._first_reason()}")
        width = self.entries[0].width
        codes = np.repeat(np.arange(len(self.entries)), [entry.rows for entry in self.entries])
        ids, names = [entry.id for entry in self.entries], self.recipe.features(width)
        blocks = lambda: self.cache.blocks(self.entries)  # noqa: E731
        return Source(self.listing.folder, ids, codes, width, np.dtype(np.float32), blocks, features=names)

    @property
    def files(self) -> Files:
        """What is shown of each bag."""
        paths = {
            one.id: self.cache.folder / one.shown if one.shown else self.listing.files[one.id] for one in self.entries
        }
        return Files(self.listing.folder, paths, {})

    @property
    def places(self) -> "SegmentPlaces":
        """Where the instances lie."""
        return SegmentPlaces(self.cache, self.entries)

    @property
    def outlines(self) -> dict[str, Path]:
        """The file with the outlines of each bag that has one."""
        return {one.id: self.cache.folder / one.outlines for one in self.entries if one.outlines}

    @property
    def seen(self) -> dict[str, Seen]:
        """What the files were, by the ids of their bags."""
        return {one.id: one.file for one in self.entries}

    def _first_reason(self) -> str:
        return next((f"; {name}: {why}" for name, why in self.skipped.items()), ": all are in the project already.")


@dataclass(frozen=True)
class SegmentPlaces:
    """Places as the cutting found them; they need no looking at."""

    cache: Cache
    entries: Sequence[Entry]

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """(row of the instance, its place) of all instances whose place is known and whose bag has a medium."""
        position = {name: number for number, name in enumerate(ids)}
        rows, places = [np.empty(0, np.int64)], [np.empty((0, WIDTH))]
        for entry in self.entries:
            if position[entry.id] in of_bag:
                rows.append(offsets[position[entry.id]] + np.arange(entry.rows))
                places.append(self.cache.places(entry))
        found = np.concatenate(places)
        there = ~np.isnan(found[:, 0])
        return np.concatenate(rows)[there], found[there]


@dataclass(frozen=True)
class Before:
    """What a project has already: the ids of its bags, what was seen of their files, features of an instance."""

    ids: frozenset[str] = frozenset()
    seen: Mapping[str, Seen] = field(default_factory=dict)
    width: int | None = None

    def changed(self, name: str, path: Path) -> bool:
        """Whether the bag's file is another one now."""
        return name in self.seen and not self.seen[name].is_still(path)

    def renamed(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Bags whose file is among these under another name, which is told by what is in it, by the new names."""
        found: dict[str, str] = {}
        missing: dict[int, list[str]] = {}
        for bag in sorted(self.ids - set(files)):
            if bag in self.seen:
                missing.setdefault(self.seen[bag].size, []).append(bag)
        for name in files if missing else ():
            candidates = missing.get(_size(files[name]), []) if name not in self.ids else []
            same = next((bag for bag in candidates if self.seen[bag].same_content(files[name])), None)
            if same is not None:
                candidates.remove(same)
                found[name] = same
        return found


@contextlib.contextmanager
def unfinished(place: Path, recipe: Recipe, folder: Path) -> Iterator[tuple[Cache, Recipe]]:
    """The cache of a cutting that may have been interrupted; another recipe or folder begins anew.

    What is in the way is forgotten at the end; an exception keeps it for the next time.
    """
    place.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(place / LOCK).acquire(timeout=0)
    except Timeout as error:
        raise BagwiseError(f"Another bagwise is cutting {folder} for the same project: wait for it.") from error
    with lock:
        before = Recipe.read(place)
        if before is None or not before.like(recipe) or _segmented_folder(place) != str(folder.resolve()):
            _clear(place)
            (place / FOLDER_OF).write_text(str(folder.resolve()), encoding="utf-8", errors="surrogateescape")
        elif recipe.state is None:
            recipe = Recipe(recipe.medium, recipe.way, recipe.embed, recipe.fingerprint, before.state)
        cache = Cache(place)
        try:
            yield cache, recipe
        finally:
            cache.close()
    shutil.rmtree(place)


def segment_folder(
    listing: Listing,
    recipe: Recipe,
    cache: Cache,
    before: Before,
    progress: Callable[[int], None],
    processes: int | None = None,
) -> SegmentedFolder:
    """Cut what is neither in the project nor in the cache yet; `progress` hears of every file of the listing."""
    skipped, new, todo = dict(listing.skipped), list[str](), list[str]()
    renamed = before.renamed(listing.files)
    for name, path in listing.files.items():
        if name in renamed:
            continue
        if name in before.ids:
            if before.changed(name, path):
                skipped[name] = CHANGED
        else:
            cut_already = name in cache.entries and cache.entries[name].file.is_still(path)
            (new if cut_already else todo).append(name)
    progress(len(listing.files) - len(todo))
    if todo and recipe.needs_fitting():
        recipe = recipe.fitted([listing.files[name] for name in todo])
    recipe.write(cache.folder)
    names = iter(todo)
    for path, done in segment_files(recipe, [listing.files[name] for name in todo], processes):
        name = next(names)
        why = done.why or _other_width(before.width or cache.width, done.segment)
        if why:
            skipped[name] = why
        elif done.segment is not None and done.file is not None:
            cache.add(name, path.suffix.lower(), done.file, done.segment)
            new.append(name)
        progress(1)
    order = {name: number for number, name in enumerate(listing.files)}
    entries = [cache.entries[name] for name in sorted(new, key=order.__getitem__)]
    called_now = {bag: name for name, bag in renamed.items()}
    return SegmentedFolder(listing, recipe, cache, entries, dict(sorted(skipped.items())), called_now)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _other_width(width: int | None, segments: Segments | None) -> str:
    if segments is None or width in (None, segments.features.shape[1]):
        return ""
    return f"its instances have {segments.features.shape[1]} features where the first file has {width}."


def _segmented_folder(place: Path) -> str:
    try:
        return (place / FOLDER_OF).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _clear(place: Path) -> None:
    for path in place.iterdir():
        if path.name != LOCK:
            path.unlink()
