"""A folder of raw files becomes bags: segmented once, cached on disk, and continued after an interruption."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from filelock import FileLock, Timeout

from bagwise.core.errors import BagwiseError
from bagwise.ingest.cache import Cache, Entry
from bagwise.ingest.clips import Clip
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.listing import Listing
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.segmented_folder import SegmentedFolder
from bagwise.ingest.sound.decoding import sound_info
from bagwise.ingest.types import Segments
from bagwise.ingest.worker import Outcome, Task
from bagwise.ingest.worker_pool import segment_files

CLIPS_AT_ONCE = 60
"""Clips of a recording that a worker segments in one task: its progress is seen, and memory does not grow with it."""
FOLDER_OF, LOCK = "folder.txt", "lock"
CHANGED = "changed since it was segmented; the project keeps what it was. To add it as it is now, give it another name."


@dataclass(frozen=True)
class ExistingBags:
    """The bags that a project has before files are added.

    Parameters
    ----------
    ids : frozenset of str
        Their ids; of clips, the name of their recording.
    fingerprints : mapping of str to Fingerprint
        The fingerprints of their files when they were segmented.
    width : int, optional
        The number of features of an instance.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "new.txt"
    ...     _ = file.write_text("a wren")
    ...     existing = ExistingBags(frozenset({"old.txt"}), {"old.txt": Fingerprint.of(file)})
    ...     existing.renamed({"new.txt": file})
    {'new.txt': 'old.txt'}
    """

    ids: frozenset[str] = frozenset()
    fingerprints: Mapping[str, Fingerprint] = field(default_factory=dict)
    width: int | None = None

    def changed(self, name: str, path: Path) -> bool:
        """Return whether the file of a bag has another content than when it was segmented.

        Parameters
        ----------
        name : str
            The id of the bag.
        path : Path
            Its file.

        Returns
        -------
        bool
            False for a bag without a fingerprint.
        """
        return name in self.fingerprints and not self.fingerprints[name].unchanged(path)

    def renamed(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Return the bags whose file has another name now, by the new names; the content tells them.

        Parameters
        ----------
        files : mapping of str to Path
            The files of the folder now, by the ids that new bags would have.

        Returns
        -------
        dict of str to str
            The id of the existing bag, by the new name of its file.
        """
        renamed: dict[str, str] = {}
        missing: dict[int, list[str]] = {}
        for bag in sorted(self.ids - set(files)):
            if bag in self.fingerprints:
                missing.setdefault(self.fingerprints[bag].size, []).append(bag)
        for name in files if missing else ():
            candidates = missing.get(_size(files[name]), []) if name not in self.ids else []
            same = next((bag for bag in candidates if self.fingerprints[bag].same_content(files[name])), None)
            if same is not None:
                candidates.remove(same)
                renamed[name] = same
        return renamed


@contextlib.contextmanager
def resumable_cache(place: Path, recipe: Recipe, folder: Path) -> Iterator[tuple[Cache, Recipe]]:
    """Open the cache of a segmentation that may have been interrupted.

    The cache is emptied if it was made by another recipe or from another folder. It is removed on success; an exception
    leaves it for the next attempt.

    Parameters
    ----------
    place : Path
        The folder of the cache.
    recipe : Recipe
        How to segment.
    folder : Path
        The folder with the files.

    Yields
    ------
    cache : Cache
    recipe : Recipe
        The given recipe, with what it was fitted to before the interruption.

    Raises
    ------
    BagwiseError
        If another process uses the cache.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "cache"
    ...     with resumable_cache(place, Recipe.of("text", "paragraphs"), Path(folder)) as (cache, recipe):
    ...         print(len(cache.entries), recipe.segmenter)
    ...     print(place.exists())
    0 paragraphs
    False
    """
    place.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(place / LOCK).acquire(timeout=0)
    except Timeout as error:
        what = f"Another bagwise process is segmenting {folder} for the same project: wait for it to finish."
        raise BagwiseError(what) from error
    with lock:
        before = Recipe.read(place)
        if before is None or not before.same_method(recipe) or _segmented_folder(place) != str(folder.resolve()):
            _clear(place)
            (place / FOLDER_OF).write_text(str(folder.resolve()), encoding="utf-8", errors="surrogateescape")
        elif recipe.state is None:
            recipe = replace(recipe, state=before.state)
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
    existing: ExistingBags,
    progress: Callable[[float], None],
    processes: int | None = None,
) -> SegmentedFolder:
    """Segment the files that are neither in the project nor in the cache.

    Parameters
    ----------
    listing : Listing
        The files.
    recipe : Recipe
        How to segment; its segmenter is fitted to the new files if it has to be.
    cache : Cache
        Where segments are stored.
    existing : ExistingBags
        The bags of the project.
    progress : callable
        Called with the number of files, or the share of a long one, that is finished; the sum is the length of the
        listing.
    processes : int, optional
        The most worker processes; by default the number of cores.

    Returns
    -------
    SegmentedFolder

    Examples
    --------
    A file that is in the cache already, as after an interruption, is not segmented again:

    >>> import tempfile
    >>> import numpy as np
    >>> from bagwise.ingest import list_files
    >>> with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
    ...     _ = (Path(folder) / "a.txt").write_text("a wren")
    ...     listing, cache = list_files(Path(folder)), Cache(Path(place))
    ...     segments = Segments(np.ones((1, 2), np.float32), np.full((1, 4), np.nan))
    ...     cache.add("a.txt", ".txt", Fingerprint.of(listing.files["a.txt"]), segments)
    ...     recipe = Recipe.of("text", "paragraphs")
    ...     segmented = segment_folder(listing, recipe, cache, ExistingBags(), progress=lambda files: None)
    ...     print([entry.id for entry in segmented.entries], dict(segmented.skipped))
    ...     cache.close()
    ['a.txt'] {}
    """
    skipped, todo = dict(listing.skipped), list[str]()
    renamed = existing.renamed(listing.files)
    for name, path in listing.files.items():
        if name in renamed:
            continue
        if name not in existing.ids:
            todo.append(name)
        elif existing.changed(name, path):
            skipped[name] = CHANGED
    progress(len(listing.files) - len(todo))
    work = _Work(listing, recipe, cache, existing.width, skipped)
    work.run(todo, progress, processes)
    order = {name: number for number, name in enumerate(listing.files)}
    entries = sorted(work.entries, key=lambda entry: (order[entry.source], entry.start))
    new_names = {bag: name for name, bag in renamed.items()}
    skipped = dict(sorted(work.skipped.items()))
    return SegmentedFolder(listing, work.recipe, cache, entries, skipped, new_names, work.remarks)


class _Work:
    """The segmentation of new files; what is in the cache already is used."""

    def __init__(
        self, listing: Listing, recipe: Recipe, cache: Cache, width: int | None, skipped: dict[str, str]
    ) -> None:
        self.recipe, self.skipped = recipe, skipped
        self.entries: list[Entry] = []
        self.remarks: dict[str, str] = {}
        self._ended: set[str] = set()
        self._listing, self._cache, self._width = listing, cache, width
        self._fingerprints: dict[str, Fingerprint] = {}

    def run(self, names: Sequence[str], progress: Callable[[float], None], processes: int | None) -> None:
        """Segment the files of these names."""
        tasks, of_task = list[Task](), list[tuple[str, float]]()
        for name in names:
            to_do = self._tasks(name)
            tasks += to_do
            of_task += [(name, 1 / len(to_do)) for _ in to_do]
            if not to_do:
                progress(1)
        if tasks and self.recipe.needs_fitting():
            self.recipe = self.recipe.fitted(list(dict.fromkeys(task.path for task in tasks)))
        self.recipe.write(self._cache.folder)
        done = iter(of_task)
        for task, outcome in segment_files(self.recipe, tasks, processes):
            name, share = next(done)
            self._add(name, task, outcome)
            progress(share)

    def _tasks(self, name: str) -> list[Task]:
        """The work that is left to do for a file; clips of a long recording are segmented some at a time."""
        path, cached = self._listing.files[name], self._cache.entries
        clips = self._clips(name, path)
        if not clips:
            return [] if self._is_cached(name, path) else [Task(path)]
        first = clips[0].id in cached and cached[clips[0].id].file.unchanged(path)
        left = list[Task]()
        for number in range(0, len(clips), CLIPS_AT_ONCE):
            some = clips[number : number + CLIPS_AT_ONCE]
            found = [cached[clip.id] for clip in some if first and clip.id in cached]
            if len(found) == len(some):
                self.entries += found
                self._fingerprints[name] = found[0].file
            else:
                left.append(Task(path, some))
        return left

    def _clips(self, name: str, path: Path) -> Sequence[Clip]:
        if self.recipe.clipping is None:
            return ()
        try:
            return self.recipe.clipping.clips(name, sound_info(path).seconds)
        except BagwiseError:
            return ()  # The worker finds out why it cannot be read.

    def _is_cached(self, name: str, path: Path) -> bool:
        entry = self._cache.entries.get(name)
        if entry is None or not entry.file.unchanged(path):
            return False
        self.entries.append(entry)
        return True

    def _add(self, name: str, task: Task, outcome: Outcome) -> None:
        if name in self.skipped or name in self._ended:
            return  # Nothing is used behind what cannot be read.
        reason = outcome.reason or next(filter(None, map(self._other_width, outcome.segments)), "")
        if reason and task.is_first:
            self.skipped[name] = reason
            return
        if reason:
            self._ended.add(name)
            self.remarks[name] = f"used up to {task.clips[0].start / 60:.1f} min; behind that it {reason}"
            return
        if outcome.remark:
            self.remarks[name] = outcome.remark
        if outcome.fingerprint is not None:
            self._fingerprints[name] = outcome.fingerprint
        suffix, fingerprint = task.path.suffix.lower(), self._fingerprints[name]
        for number, segments in enumerate(outcome.segments):
            clip = task.clips[number] if task.clips else None
            bag = name if clip is None else clip.id
            self._cache.add(bag, suffix, fingerprint, segments, clip)
            self.entries.append(self._cache.entries[bag])

    def _other_width(self, segments: Segments) -> str:
        width, found = self._width or self._cache.width, segments.features.shape[1]
        return (
            "" if width in (None, found) else f"its instances have {found} features where the first file has {width}."
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _segmented_folder(place: Path) -> str:
    try:
        return (place / FOLDER_OF).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _clear(place: Path) -> None:
    for path in place.iterdir():
        if path.name != LOCK:
            path.unlink()
