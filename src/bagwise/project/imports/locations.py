"""Where bags and their instances are: in which raw file, at which place in it, and when that was recorded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bagwise.formats import BagSpan, Source
from bagwise.ingest import SegmentedFolder, media
from bagwise.ingest.source_files import SourceFile
from bagwise.kernels import Array
from bagwise.project.imports import media as kept
from bagwise.project.storage.bag_files import BagFiles, BagSource
from bagwise.project.storage.queries import Contents

Located = tuple[str, Array]
"""The medium of a bag, and the places of its instances, (n, 4)."""


@dataclass(frozen=True)
class Locations:
    """The files of bags, and the places of their instances.

    Parameters
    ----------
    ids : sequence of str
        The bags.
    files : BagFiles
        Their files; may be empty.
    located : callable
        Returns the medium of a bag and the places of its instances; None where they are not known.

    Examples
    --------
    >>> dawn = SourceFile("dawn.wav", 60.0, 48_000)
    >>> files = BagFiles([dawn], np.array([0]), np.array([[10.0, 20.0]]))
    >>> there = Locations(["dawn.wav#10-20"], files, lambda bag: ("sound", np.array([[12.5, 13.0, np.nan, np.nan]])))
    >>> there.place(0, 0), there.span(0).end
    ({'start': 12.5, 'end': 13.0}, 20.0)
    """

    ids: Sequence[str]
    files: BagFiles
    located: Callable[[int], Located | None]

    @classmethod
    def of_project(cls, folder: Path, contents: Contents) -> "Locations":
        """Return those of a project.

        Parameters
        ----------
        folder : Path
            Its folder.
        contents : Contents
            What its database has.

        Returns
        -------
        Locations
        """
        files = contents.bag_files
        return cls(contents.ids.tolist(), files, kept.located(folder, contents.offsets, files.holders))

    @classmethod
    def of_segments(cls, segmented: SegmentedFolder) -> "Locations":
        """Return those of files that were just segmented; places are read while the cache is open.

        Parameters
        ----------
        segmented : SegmentedFolder
            The result of `segment_folder`.

        Returns
        -------
        Locations
        """
        entries, medium = segmented.entries, segmented.recipe.medium
        files = BagFiles().extended(len(entries), segmented.source_files, entries)
        return cls([one.id for one in entries], files, lambda bag: (medium, segmented.cache.places(entries[bag])))

    @classmethod
    def of_table(cls, source: Source) -> "Locations":
        """Return those of a table of instances: nothing but the times of the instances, where it has them.

        Parameters
        ----------
        source : Source
            The table.

        Returns
        -------
        Locations
        """
        spans, codes = source.spans, source.codes

        def located(bag: int) -> Located | None:
            if spans is None:
                return None
            times = np.asarray(spans[codes == bag])
            return "sound", np.column_stack([times, np.full(times.shape, np.nan)])

        return cls(source.ids, BagFiles(), located)

    def source(self, bag: int) -> BagSource | None:
        """Return the file of a bag; None where it is not known.

        Parameters
        ----------
        bag : int
            Its position.

        Returns
        -------
        BagSource or None
        """
        return self.files.of(bag) if bag < len(self.files.file_of) else None

    def span(self, bag: int) -> BagSpan:
        """Return the file of a bag and its seconds of it; of a bag without a file, a file called as the bag.

        Parameters
        ----------
        bag : int
            Its position.

        Returns
        -------
        BagSpan
        """
        source = self.source(bag)
        if source is None:
            return BagSpan(str(self.ids[bag]))
        end = source.end
        return BagSpan(
            source.file.name,
            None if end is None else source.start,
            end,
            source.clip is not None,
            source.file.origin.site,
            moment(source.file, source.start),
        )

    def place(self, bag: int, instance: int) -> dict[str, float]:
        """Return where an instance is in the file of its bag, by the columns of the medium; empty if it is not known.

        Parameters
        ----------
        bag, instance : int
            Positions of the bag, and of the instance in it.

        Returns
        -------
        dict of str to float
        """
        return named_place(self.located(bag), instance)

    def times(self, bags: Sequence[int], instances: Array) -> Array | None:
        """Return start and end of some instances of bags in their files; None where no bag has times.

        Parameters
        ----------
        bags : sequence of int
            Positions of n bags.
        instances : ndarray of int, shape (n, k)
            Positions of k instances in each.

        Returns
        -------
        ndarray of shape (n, k, 2) or None
            In seconds; nan where they are not known.
        """
        found = np.full((*instances.shape, 2), np.nan)
        for row, bag in enumerate(bags):
            located = self.located(bag)
            if located is not None and media.renderer_of(located[0]) == "sound":
                found[row] = located[1][instances[row], :2]
        return None if np.isnan(found).all() else found

    @property
    def known(self) -> bool:
        """Whether the file of any bag is known."""
        return len(self.files.files) > 0


def named_place(located: Located | None, instance: int) -> dict[str, float]:
    """Return the place of an instance by the columns of its medium, without what is not known."""
    if located is None:
        return {}
    values = zip(media.columns_of(located[0]), located[1][instance].tolist(), strict=False)
    return {name: value for name, value in values if not np.isnan(value)}


def moment(file: SourceFile, seconds: float) -> str:
    """Return when some seconds of a file were recorded, ISO 8601; empty where it is not known.

    >>> from bagwise.ingest.origins import Origin
    >>> moment(SourceFile("a.wav", origin=Origin(recorded_at="2026-05-24T04:00:00")), 90.25)
    '2026-05-24T04:01:30.250'
    """
    if not file.origin.recorded_at:
        return ""
    found = datetime.fromisoformat(file.origin.recorded_at) + timedelta(seconds=round(seconds, 3))
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")


def file_row(file: SourceFile) -> dict[str, Any]:
    """Return what is known of a file, as a row of the files of a `DetectionTable`."""
    suffix = PurePosixPath(file.name).suffix.lower()
    return {
        "file": file.name,
        "type": media.type_of(suffix).content if suffix in media.suffixes() else "",
        "seconds": file.seconds,
        "rate": file.rate,
        **vars(file.origin),
    }
