"""BagFilter: which bags are meant, by where and when they were recorded; for the API, the commands and the settings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.kernels import Array
from bagwise.project.storage.bag_files import BagFiles

MINUTES = 24 * 60
HOURS = re.compile(r"(\d{1,2})(?::(\d\d))?\s*-\s*(\d{1,2})(?::(\d\d))?", re.ASCII)


@dataclass(frozen=True)
class Hours:
    """A part of the day; one that ends before it begins goes over midnight.

    Parameters
    ----------
    start, end : int
        Minutes of the day; the end is not part of it.

    Examples
    --------
    >>> Hours.parse("22-4")
    Hours(start=1320, end=240)
    """

    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """Return the hours that are written as `4-9` or `04:00-09:00`.

        Parameters
        ----------
        text : str
            Beginning and end of a part of the day.

        Returns
        -------
        Hours

        Raises
        ------
        BagwiseError
            If it is not written so, or is no part of a day.
        """
        found = HOURS.fullmatch(text.strip())
        start, end = (int(found[one]) * 60 + int(found[one + 1] or 0) for one in (1, 3)) if found else (0, 0)
        minutes_exist = found is not None and all(int(found[one] or 0) < 60 for one in (2, 4))
        if not minutes_exist or start >= MINUTES or end > MINUTES or start == end:
            raise BagwiseError(f"{text!r} are no hours of a day: give them as 4-9 or 04:00-09:00.")
        return cls(start, end)

    def include(self, minutes: Array) -> Array:
        """Return which of these minutes of the day are in it.

        Parameters
        ----------
        minutes : ndarray
            Minutes since midnight.

        Returns
        -------
        ndarray of bool
        """
        after, before = minutes >= self.start, minutes < self.end
        return np.asarray(after & before if self.start < self.end else after | before)


@dataclass(frozen=True)
class BagFilter:
    """Which bags are meant, by where and when they were recorded; without any condition all are.

    A bag of which it is not known where, or when, it was recorded fails a condition on that. A bag is where and when
    it begins, in local time of the recorder.

    Parameters
    ----------
    sites : tuple of str
        Names of sites; empty: anywhere.
    first, last : date, optional
        The first and the last day.
    hours : Hours, optional
        The part of the day.

    Examples
    --------
    >>> BagFilter.parse(["north"], from_date="2026-05-01", hours="4-9").first
    datetime.date(2026, 5, 1)
    """

    sites: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    hours: Hours | None = None

    @classmethod
    def parse(
        cls,
        sites: Sequence[str] | None = None,
        from_date: str | None = None,
        to_date: str | None = None,
        hours: str | None = None,
    ) -> "BagFilter":
        """Return the filter that a person typed; what is empty or None is no condition.

        Parameters
        ----------
        sites : sequence of str, optional
            Names of sites.
        from_date, to_date : str, optional
            The first and the last day, as `2026-05-24`.
        hours : str, optional
            The part of the day, as `4-9` or `04:00-09:00`.

        Returns
        -------
        BagFilter

        Raises
        ------
        BagwiseError
            If a date or the hours are written otherwise, or the last day is before the first.
        """
        first, last = _date(from_date), _date(to_date)
        if first is not None and last is not None and last < first:
            raise BagwiseError(f"The last day, {last}, is before the first, {first}.")
        return cls(tuple(sites or ()), first, last, Hours.parse(hours) if hours else None)

    def __bool__(self) -> bool:
        """Whether it has any condition."""
        return self != BagFilter()

    def validate(self, files: BagFiles) -> None:
        """Raise `BagwiseError` where a site does not exist.

        Parameters
        ----------
        files : BagFiles
            The files of all bags of a project.
        """
        missing = next((name for name in self.sites if name not in files.sites), None)
        if missing is not None:
            known = f"it has {', '.join(files.sites)}" if files.sites else "no site of it is known"
            raise BagwiseError(f"There is no site {missing} in the project: {known}.")

    def mask(self, files: BagFiles) -> Array:
        """Return which bags pass.

        Parameters
        ----------
        files : BagFiles
            The files of all bags of a project.

        Returns
        -------
        ndarray of bool, shape (n_bags,)

        Examples
        --------
        >>> from bagwise.ingest.origins import Origin
        >>> from bagwise.ingest.source_files import SourceFile
        >>> dawn = SourceFile("dawn.wav", 7200.0, 48_000, Origin("north", "2026-05-24T08:30:00"))
        >>> files = BagFiles([dawn], np.array([0, 0, -1]), np.array([[0.0, 10], [1800, 1810], [np.nan, np.nan]]))
        >>> BagFilter.parse(hours="4-9").mask(files)
        array([ True, False, False])
        """
        found = np.ones(len(files.file_of), bool)
        if self.sites:
            found &= np.isin(files.site_of, [files.sites.index(name) for name in self.sites if name in files.sites])
        if self.first is not None or self.last is not None or self.hours is not None:
            found &= ~np.isnat(files.begins)
        if self.first is not None:
            found &= files.begins >= np.datetime64(self.first)
        if self.last is not None:
            found &= files.begins < np.datetime64(self.last) + np.timedelta64(1, "D")
        if self.hours is not None:
            minutes = (files.begins - files.begins.astype("datetime64[D]")).astype("timedelta64[m]")
            found &= self.hours.include(minutes.astype(np.int64))
        return found


EVERYTHING = BagFilter()


def _date(text: str | None) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BagwiseError(f"{text!r} is not a date: give it as 2026-05-24.") from None
