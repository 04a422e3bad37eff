"""Clips: a long recording becomes several bags, each of them some seconds of it.

With clips of S seconds that overlap by O, clip k begins at k (S - O). The last one ends where the recording does: a
rest shorter than half a clip belongs to the clip before it, so clips are between S/2 and 3S/2 long, and a recording
that is not longer than that is a bag as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import overload

from bagwise.core.errors import BagwiseError

DEFAULT_SECONDS = 10.0
LONG = 60.0
"""Recordings of more seconds are cut into clips unless a person says otherwise."""
NONE = "none"
SHORTEST, LONGEST = 0.5, 3600.0
UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0}
LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class Clip:
    """Seconds of a recording that are a bag.

    Parameters
    ----------
    file : str
        The name of the recording: its path in the folder, with `/` between.
    start, end : float
        In seconds of the recording.

    Examples
    --------
    >>> Clip("north/dawn.wav", 600.0, 610.0).id
    'north/dawn.wav#600-610'
    """

    file: str
    start: float
    end: float

    @property
    def id(self) -> str:
        """The id of the bag."""
        return f"{self.file}#{_seconds(self.start)}-{_seconds(self.end)}"


@dataclass(frozen=True)
class Clipping:
    """How recordings are cut into clips.

    Parameters
    ----------
    seconds : float
        The length of a clip, 0.5 to 3600.
    overlap : float
        Seconds that a clip shares with the next; less than half a clip.

    Examples
    --------
    >>> [(clip.start, clip.end) for clip in Clipping(10.0).clips("dawn.wav", 34.0)]
    [(0.0, 10.0), (10.0, 20.0), (20.0, 34.0)]
    """

    seconds: float = DEFAULT_SECONDS
    overlap: float = 0.0

    def __post_init__(self) -> None:
        if not SHORTEST <= self.seconds <= LONGEST:
            raise BagwiseError(f"Clips of {self.seconds:g} s: they must have {SHORTEST:g} to {LONGEST:g} seconds.")
        if not 0 <= self.overlap < self.seconds / 2:
            raise BagwiseError(f"An overlap of {self.overlap:g} s: it must be less than half a clip.")

    @classmethod
    def parse(cls, clip: str, overlap: str = "0") -> "Clipping | None":
        """Return what is typed after `--clip` and `--overlap`; None for `--clip none`.

        Parameters
        ----------
        clip : str
            As `10s`, `1min` or `10`, in seconds; `none`: recordings stay as they are.
        overlap : str
            Likewise.

        Returns
        -------
        Clipping or None

        Raises
        ------
        BagwiseError
            If it is not a length, or the clips would be too short or too long.

        Examples
        --------
        >>> Clipping.parse("1min", "5s")
        Clipping(seconds=60.0, overlap=5.0)
        """
        return None if clip.strip().lower() == NONE else cls(_parsed("--clip", clip), _parsed("--overlap", overlap))

    def clips(self, name: str, seconds: float) -> "Clips":
        """Return the clips of a recording; none where it is short enough to be a bag as it is.

        Parameters
        ----------
        name : str
            The name of the recording.
        seconds : float
            Its length.

        Returns
        -------
        Clips
        """
        count = self.count(seconds)
        return Clips(name, seconds, self, range(count if count > 1 else 0))

    def count(self, seconds: float) -> int:
        """Return the number of clips of a recording; 1 where it is a bag as it is.

        Parameters
        ----------
        seconds : float
            The length of the recording.

        Returns
        -------
        int
        """
        return 1 + max(0, ceil((seconds - 1.5 * self.seconds) / (self.seconds - self.overlap)))


@dataclass(frozen=True, slots=True)
class Clips(Sequence[Clip]):
    """Consecutive clips of a recording, computed when they are needed: a season has millions.

    Parameters
    ----------
    file : str
        The name of the recording.
    seconds : float
        Its length.
    clipping : Clipping
        How it is cut.
    numbers : range
        The numbers of the clips.

    Examples
    --------
    >>> clips = Clipping(10.0).clips("dawn.wav", 3600.0)
    >>> len(clips), clips[2:4][0].id
    (360, 'dawn.wav#20-30')
    """

    file: str
    seconds: float
    clipping: Clipping
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Clip: ...

    @overload
    def __getitem__(self, index: slice) -> "Clips": ...

    def __getitem__(self, index: int | slice) -> "Clip | Clips":
        if isinstance(index, slice):
            return replace(self, numbers=self.numbers[index])
        number = self.numbers[index]
        start = number * (self.clipping.seconds - self.clipping.overlap)
        is_last = number == self.clipping.count(self.seconds) - 1
        return Clip(self.file, start, self.seconds if is_last else start + self.clipping.seconds)


def _parsed(option: str, text: str) -> float:
    found = LENGTH.fullmatch(text.strip().lower())
    if found is None or found[2] not in UNITS:
        raise BagwiseError(f"{option} {text}: give a length as 10s or 1min.")
    return float(found[1]) * UNITS[found[2]]


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
