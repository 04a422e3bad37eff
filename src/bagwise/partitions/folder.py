"""Parts: a set of instances in a folder, one part after the other."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.partitions import files
from bagwise.partitions.bags import PartitionedBags
from bagwise.partitions.files import Partition, write_partition

FILE = "parts.json"
VERSION = 1


@dataclass(frozen=True)
class Partitions:
    """What `parts.json` says; nothing else is read before somebody wants it.

    `owner` is the project that the instances belong to, empty where they belong to none.
    """

    folder: Path
    n_features: int
    dtype: np.dtype
    parts: tuple[Partition, ...]
    owner: str = ""

    # Making and opening

    @classmethod
    def open(cls, folder: str | Path) -> "Partitions":
        """The parts of a folder."""
        place = Path(folder)
        path = place / FILE
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileError(path, f"is missing: there are no instances in parts here, or {files.RESTORE}") from error
        except (OSError, ValueError) as error:
            raise FileError(path, f"cannot be read as JSON: {files.RESTORE}") from error
        return cls(place, *_understood(path, said))

    @classmethod
    def write(cls, folder: str | Path, chunks: Iterable[Bags], kind: str = "parquet") -> "Partitions":
        """A folder with one part for each of the chunks; `parts.json` comes last."""
        place = Path(folder)
        if (place / FILE).exists():
            raise BagwiseError(f"{place} holds instances in parts already: choose another folder.")
        place.mkdir(parents=True, exist_ok=True)
        made, shapes = [], set()
        for number, bags in enumerate(chunks):
            shapes.add((bags.n_features, bags.instances.dtype))
            if len(shapes) > 1:
                raise BagwiseError(f"Part {number} has other features than the parts before it: all must be alike.")
            made.append(write_partition(place, number, bags, kind))
        if not made:
            raise BagwiseError("There are no bags: give at least one.")
        return cls(place, *shapes.pop(), tuple(made)).save()

    def save(self) -> "Partitions":
        """Write `parts.json`: from now on these are the parts of the folder."""
        shape = {"version": VERSION, "features": self.n_features, "dtype": self.dtype.name, "owner": self.owner}
        text = json.dumps({**shape, "parts": [asdict(part) for part in self.parts]}, indent=1)
        files.write_whole(self.folder / FILE, lambda file: file.write(text.encode()))
        return self

    def first(self, count: int) -> "Partitions":
        """Only so many, from the first on."""
        return replace(self, parts=self.parts[:count])

    def with_parts(self, more: Sequence[Partition]) -> "Partitions":
        """These and more, which lie in the folder already."""
        return replace(self, parts=(*self.parts, *more))

    # What there is

    @cached_property
    def first_bags(self) -> Array:
        """The position of every part's first bag, and the number of bags behind them."""
        return np.cumsum([0, *(part.bags for part in self.parts)], dtype=np.int64)

    @cached_property
    def first_rows(self) -> Array:
        """The position of every part's first instance, and the number of instances behind them."""
        return np.cumsum([0, *(part.instances for part in self.parts)], dtype=np.int64)

    @property
    def n_bags(self) -> int:
        """In all parts."""
        return int(self.first_bags[-1])

    @property
    def n_instances(self) -> int:
        """In all parts."""
        return int(self.first_rows[-1])

    @property
    def n_bytes(self) -> int:
        """On the disk; what is missing counts nothing."""
        paths = [self.folder / name for part in self.parts for name in part.files]
        return sum(path.stat().st_size for path in paths if path.exists())

    # Reading

    def read(self, number: int) -> Bags:
        """One part, with the ids of its bags as text: an array is mapped, Parquet is read and its checksum verified."""
        return files.read_partition(self.folder, self.parts[number], self.n_features, self.dtype)

    def verify(self, number: int) -> None:
        """Refuse a part whose bytes are not those that were written."""
        files.validate_unchanged(self.folder, self.parts[number])

    def validate_present(self) -> None:
        """Every file must be there; what is in it is looked at when it is read."""
        for part in self.parts:
            for name in part.files:
                if not (self.folder / name).is_file():
                    raise FileError(self.folder / name, f"is missing: {files.RESTORE}")

    def bags(self, ids: Array, offsets: Array) -> PartitionedBags:
        """All instances as bags that are read where they are needed; parts behind these bags do not count."""
        count = int(np.searchsorted(self.first_rows, offsets[-1]))
        if count > len(self.parts) or self.first_rows[count] != offsets[-1] or self.first_bags[count] != len(ids):
            there = f"{self.n_bags} bags with {self.n_instances} instances"
            what = f"names {there} where {len(ids)} with {offsets[-1]} belong: {files.RESTORE}"
            raise FileError(self.folder / FILE, what)
        return PartitionedBags(self.first(count), offsets, ids)


def _understood(path: Path, said: Any) -> tuple[int, np.dtype, tuple[Partition, ...], str]:
    try:
        if said["version"] > VERSION:
            raise FileError(path, f"was written by a newer Bagwise (version {said['version']}): upgrade to read it.")
        parts = tuple(Partition(**one) for one in said["parts"])
        features, dtype, owner = said["features"], said["dtype"], str(said.get("owner", ""))
        numbers = [features, *(n for part in parts for n in (part.bags, part.instances, part.checksum + 1))]
        whole = all(type(number) is int and number > 0 for number in numbers) and dtype in files.TYPES
    except (KeyError, TypeError, AttributeError):
        whole = False
    if not whole or not parts or not all(files.NAME.fullmatch(str(part.file)) for part in parts):
        raise FileError(path, f"does not say what the parts are: {files.RESTORE}")
    return features, np.dtype(dtype), parts, owner
