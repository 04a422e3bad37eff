"""The result of segmenting a folder: the new bags, their instances, files, places and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats import Source
from bagwise.ingest.cache import Cache, Entry
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.listing import Listing
from bagwise.ingest.media import WIDTH, Files
from bagwise.ingest.recipe import Recipe
from bagwise.ingest.source_files import SourceFile, source_file
from bagwise.kernels import Array


@dataclass(frozen=True)
class SegmentedFolder:
    """The result of segmenting a folder.

    Parameters
    ----------
    listing : Listing
        The files of the folder.
    recipe : Recipe
        How they were segmented, fitted.
    cache : Cache
        Where their segments are stored.
    entries : sequence of Entry
        The new bags.
    skipped : mapping of str to str
        Files that could not be used, with the reason.
    renamed : mapping of str to str
        The new file names of existing bags whose files were renamed.
    remarks : mapping of str to str
        Files that were used, with what a person should know about them.

    Examples
    --------
    >>> import tempfile
    >>> from bagwise.ingest import Segments, list_files
    >>> with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
    ...     _ = (Path(folder) / "a.txt").write_text("a wren")
    ...     listing, cache = list_files(Path(folder)), Cache(Path(place))
    ...     segments = Segments(np.ones((2, 1), np.float32), np.array([[0, 0, np.nan, np.nan], [2, 5, np.nan, np.nan]]))
    ...     cache.add("a.txt", ".txt", Fingerprint.of(listing.files["a.txt"]), segments)
    ...     recipe = Recipe.of("text", "paragraphs", embedder="my_module:embed")
    ...     segmented = SegmentedFolder(listing, recipe, cache, list(cache.entries.values()), skipped={})
    ...     print(segmented.source.to_bags(), segmented.source.features)
    ...     cache.close()
    Bags(1 bags, 2 instances, 1 features) ['embedding 1']
    """

    listing: Listing
    recipe: Recipe
    cache: Cache
    entries: Sequence[Entry]
    skipped: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The instances of the new bags; features are read from the cache block by block."""
        if not self.entries:
            raise FileError(self.listing.folder, f"none of its files can be used{self._first_reason()}")
        width = self.entries[0].width
        codes = np.repeat(np.arange(len(self.entries)), [entry.rows for entry in self.entries])
        ids, names = [entry.id for entry in self.entries], self.recipe.features(width)
        blocks = lambda: self.cache.blocks(self.entries)  # noqa: E731
        return Source(self.listing.folder, ids, codes, width, np.dtype(np.float32), blocks, features=names)

    @property
    def files(self) -> Files:
        """The file to show for each new bag; of clips of one recording, for the first."""
        paths = dict[str, Path]()
        for name, entries in self.by_file.items():
            shown = entries[0].shown
            paths[entries[0].id] = self.cache.folder / shown if shown else self.listing.files[name]
        return Files(self.listing.folder, paths, {})

    @property
    def by_file(self) -> dict[str, list[Entry]]:
        """The new bags by the names of the files that they are, or are clips of."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.source, []).append(entry)
        return found

    @property
    def source_files(self) -> list[SourceFile]:
        """The files of the new bags: their length, and where and when they were recorded."""
        return [source_file(name, self.listing.files[name], self.recipe.medium) for name in self.by_file]

    @property
    def places(self) -> "SegmentPlaces":
        """The places of the instances of the new bags."""
        return SegmentPlaces(self.cache, self.entries)

    @property
    def outlines(self) -> dict[str, Path]:
        """The file with the outlines of each new bag that has one."""
        return {one.id: self.cache.folder / one.outlines for one in self.entries if one.outlines}

    def scores(self, entry: Entry) -> Array:
        """Return the scores that the embedder gave to the instances of a new bag, which count from 0.

        Parameters
        ----------
        entry : Entry
            One of `entries`.

        Returns
        -------
        ndarray of shape (n_scores,), `types.SCORE`
        """
        return self.cache.scores(entry)

    @property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """The fingerprints of the files of the new bags, by name."""
        return {one.source: one.file for one in self.entries}

    def _first_reason(self) -> str:
        return next((f"; {name}: {why}" for name, why in self.skipped.items()), ": all are in the project already.")


@dataclass(frozen=True)
class SegmentPlaces:
    """The places that segmentation found; they are validated already.

    Parameters
    ----------
    cache : Cache
        Where they are stored.
    entries : sequence of Entry
        The segmented files.

    Examples
    --------
    >>> import tempfile
    >>> from bagwise.ingest import Segments
    >>> with tempfile.TemporaryDirectory() as place:
    ...     cache = Cache(Path(place))
    ...     segments = Segments(np.ones((2, 1), np.float32), np.array([[0, 5, np.nan, np.nan], [7, 9, np.nan, np.nan]]))
    ...     cache.add("a.txt", ".txt", Fingerprint(size=9, changed=0, digest=""), segments)
    ...     places = SegmentPlaces(cache, list(cache.entries.values()))
    ...     print(places.rows(["a.txt"], np.array([0, 2]), {0: "text"})[0])
    ...     cache.close()
    [0 1]
    """

    cache: Cache
    entries: Sequence[Entry]

    def rows(self, ids: Sequence[str], offsets: Array, of_bag: Mapping[int, str]) -> tuple[Array, Array]:
        """Return the rows of instances and their places, as `media.Places.rows` does.

        Parameters
        ----------
        ids : sequence of str
            All bags.
        offsets : ndarray of shape (n_bags + 1,)
            Where the instances of each bag begin.
        of_bag : mapping of int to str
            The medium of each bag that has one.

        Returns
        -------
        rows : ndarray of shape (n_places,), int64
        places : ndarray of shape (n_places, 4), float64
        """
        position = {name: number for number, name in enumerate(ids)}
        rows, places = [np.empty(0, np.int64)], [np.empty((0, WIDTH))]
        for entry in self.entries:
            if position[entry.id] in of_bag:
                rows.append(offsets[position[entry.id]] + np.arange(entry.rows))
                places.append(self.cache.places(entry))
        all_places = np.concatenate(places)
        known = ~np.isnan(all_places[:, 0])
        return np.concatenate(rows)[known], all_places[known]
