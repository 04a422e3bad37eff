"""The raw files of a project's bags: which file, or which seconds of it, a bag is; where and when it was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from bagwise.ingest.cache import Entry
from bagwise.ingest.origins import Origin
from bagwise.ingest.source_files import SourceFile
from bagwise.kernels import Array
from bagwise.project.storage import schema

NO_FILE = -1
NO_SITE = -1


@dataclass(frozen=True)
class BagSource:
    """Where a bag comes from: a file, or some seconds of it.

    Parameters
    ----------
    file : SourceFile
        The raw file.
    clip : tuple of float, optional
        Start and end in seconds of the file; None for the whole file.

    Examples
    --------
    >>> dawn = SourceFile("dawn.wav", 3600.0, 48_000, Origin("north", "2026-05-24T04:00:00"))
    >>> BagSource(dawn, (600.0, 610.0)).recorded_at.isoformat()
    '2026-05-24T04:10:00'
    """

    file: SourceFile
    clip: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """Where and when, for people: site, date and time, and the file with the part of it, as far as they are known.

        Examples
        --------
        >>> dawn = SourceFile("dawn.wav", 3600.0, 48_000, Origin("north", "2026-05-24T04:00:00"))
        >>> BagSource(dawn, (600.0, 610.0)).words
        'north · 2026-05-24 04:10:00 · dawn.wav, 10:00 to 10:10'
        """
        when = self.recorded_at
        part = "" if self.clip is None else f", {_clock(self.clip[0])} to {_clock(self.clip[1])}"
        known = (self.file.origin.site, "" if when is None else f"{when:%Y-%m-%d %H:%M:%S}", f"{self.file.name}{part}")
        return " · ".join(one for one in known if one)

    @property
    def start(self) -> float:
        """Where it begins in its file, in seconds."""
        return self.clip[0] if self.clip is not None else 0.0

    @property
    def end(self) -> float | None:
        """Where it ends in its file, in seconds; None where the length of the file is not known."""
        return self.clip[1] if self.clip is not None else self.file.seconds

    @property
    def recorded_at(self) -> datetime | None:
        """When it begins, in local time of the recorder; None where it is not known."""
        if not self.file.origin.recorded_at:
            return None
        return datetime.fromisoformat(self.file.origin.recorded_at) + timedelta(seconds=self.start)


@dataclass(frozen=True)
class BagFiles:
    """The files of all bags.

    Parameters
    ----------
    files : sequence of SourceFile
        The raw files, by position.
    file_of : ndarray of shape (n_bags,), int64
        The position of the file of each bag; `NO_FILE` where it is not known.
    clips : ndarray of shape (n_bags, 2)
        Start and end of each bag in its file, in seconds; nan for whole files.

    Examples
    --------
    >>> files = BagFiles([SourceFile("a.wav")], np.array([0, 0, -1]), np.array([[0.0, 10], [10, 20], [np.nan, np.nan]]))
    >>> files.holders, files.of(1).clip, files.of(2)
    (array([0, 0, 2]), (10.0, 20.0), None)
    """

    files: Sequence[SourceFile] = ()
    file_of: Array = field(default_factory=lambda: np.empty(0, np.int64))
    clips: Array = field(default_factory=lambda: np.empty((0, 2)))

    def of(self, bag: int) -> BagSource | None:
        """Return where a bag comes from; None where that is not known.

        Parameters
        ----------
        bag : int
            Its position.

        Returns
        -------
        BagSource or None
        """
        file = int(self.file_of[bag])
        if file == NO_FILE:
            return None
        start, end = self.clips[bag].tolist()
        return BagSource(self.files[file], None if np.isnan(start) else (start, end))

    @cached_property
    def holders(self) -> Array:
        """For each bag, the first bag of the same file, whose file in the project it shares; itself without a file."""
        found: Array = np.arange(len(self.file_of))
        known = self.file_of != NO_FILE
        _, first, inverse = np.unique(self.file_of[known], return_index=True, return_inverse=True)
        found[known] = found[known][first][inverse]
        return found

    @property
    def names(self) -> list[str]:
        """The names of the files."""
        return [file.name for file in self.files]

    @cached_property
    def sites(self) -> list[str]:
        """The names of the sites, sorted."""
        return sorted({file.origin.site for file in self.files} - {""})

    @cached_property
    def site_of(self) -> Array:
        """The position of the site of each bag in `sites`; `NO_SITE` where it is not known."""
        position = {name: number for number, name in enumerate(self.sites)}
        # The last one is that of bags without a file.
        of_files = [*(position.get(file.origin.site, NO_SITE) for file in self.files), NO_SITE]
        return np.array(of_files, np.int64)[self.file_of]

    @cached_property
    def begins(self) -> Array:
        """When each bag begins, in local time of its recorder, to the millisecond; NaT where it is not known."""
        of_files = [*(_local_time(file.origin.recorded_at) for file in self.files), None]
        moments = np.array(of_files, "datetime64[ms]")[self.file_of]
        found: Array = moments + (1000 * np.nan_to_num(self.clips[:, 0])).astype("timedelta64[ms]")
        return found

    def extended(self, bags: int, files: Sequence[SourceFile], entries: Sequence[Entry]) -> "BagFiles":
        """Return these files with those of an import, whose bags follow.

        Parameters
        ----------
        bags : int
            The number of new bags.
        files : sequence of SourceFile
            The files of the new bags; empty for a table of instances.
        entries : sequence of Entry
            The new bags in order; empty for a table of instances.

        Returns
        -------
        BagFiles
        """
        position = {file.name: len(self.files) + number for number, file in enumerate(files)}
        file_of, clips = np.full(bags, NO_FILE, np.int64), np.full((bags, 2), np.nan)
        for number, entry in enumerate(entries):
            file_of[number] = position[entry.source]
            if entry.clip_of:
                clips[number] = entry.start, entry.end
        return BagFiles(
            [*self.files, *files], np.concatenate([self.file_of, file_of]), np.concatenate([self.clips, clips])
        )


def _clock(seconds: float) -> str:
    """Seconds of a file as m:ss or h:mm:ss, with a fraction where there is one."""
    whole, part = divmod(round(seconds * 1000), 1000)
    fraction = f".{part:03d}".rstrip("0") if part else ""
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}{fraction}" if hours else f"{minute}:{second:02d}{fraction}"


def _local_time(recorded_at: str) -> datetime | None:
    return datetime.fromisoformat(recorded_at).replace(tzinfo=None) if recorded_at else None


def read(connection: Connection) -> BagFiles:
    """Return the files of all bags."""
    columns = schema.bags.c
    bags = connection.execute(
        select(columns.file, columns.clip_start, columns.clip_end).order_by(columns.position)
    ).all()
    rows = connection.execute(select(schema.files).order_by(schema.files.c.position))
    files = [
        SourceFile(
            row.name,
            row.seconds,
            row.rate,
            Origin(row.site, row.recorded_at, row.latitude, row.longitude, row.device),
        )
        for row in rows
    ]
    found = np.array([NO_FILE if row.file is None else row.file for row in bags], np.int64)
    clips = np.array([(row.clip_start, row.clip_end) for row in bags], np.float64).reshape(-1, 2)
    return BagFiles(files, found, clips)


def file_row(position: int, file: SourceFile) -> dict[str, Any]:
    """Return the row of a file."""
    return {
        "position": position,
        "name": file.name,
        "seconds": file.seconds,
        "rate": file.rate,
        **vars(file.origin),
    }


def bag_row(files: BagFiles, bag: int) -> dict[str, Any]:
    """Return the columns of a bag that are about its file."""
    source = files.of(bag)
    if source is None:
        return {"file": None, "clip_start": None, "clip_end": None}
    start, end = source.clip or (None, None)
    return {"file": int(files.file_of[bag]), "clip_start": start, "clip_end": end}
