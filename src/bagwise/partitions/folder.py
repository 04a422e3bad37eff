"""Partitions: a set of instances in a folder, one partition after the other."""

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
from bagwise.partitions.files import Partition, write_partition
from bagwise.partitions.store import PartitionStore

FILE = "parts.json"
VERSION = 1


@dataclass(frozen=True)
class Partitions:
    """The partitions of a folder, as `parts.json` lists them; instances are read only when they are needed.

    Parameters
    ----------
    folder
        The folder that holds `parts.json` and the files of the partitions.
    n_features
        Number of features d of an instance.
    dtype
        Type of the features: float16, float32 or float64.
    entries
        The partitions, in the order of their bags.
    owner
        Id of the project that the instances belong to; empty where they belong to none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> bags = Bags.from_list([[[0.0], [1.0]], [[2.0]], [[3.0]]], ids=["a", "b", "c"])
    >>> with TemporaryDirectory() as folder:
    ...     _ = Partitions.write(folder, [bags.select([0, 1]), bags.select([2])])
    ...     partitions = Partitions.open(folder)
    ...     print(len(partitions), partitions.n_bags, partitions.n_instances, partitions.read(1).ids)
    2 3 4 ['c']
    """

    folder: Path
    n_features: int
    dtype: np.dtype
    entries: tuple[Partition, ...]
    owner: str = ""

    # Writing and opening

    @classmethod
    def open(cls, folder: str | Path) -> "Partitions":
        """Return the partitions of a folder.

        Parameters
        ----------
        folder : str or Path
            The folder.

        Returns
        -------
        Partitions

        Raises
        ------
        FileError
            If `parts.json` is missing or damaged, or was written by a newer version.
        """
        place = Path(folder)
        path = place / FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileError(path, f"is missing: the folder holds no partitions, or {files.RESTORE}") from error
        except (OSError, ValueError) as error:
            raise FileError(path, f"cannot be read as JSON: {files.RESTORE}") from error
        return cls(place, *_parsed(path, content))

    @classmethod
    def write(cls, folder: str | Path, chunks: Iterable[Bags], kind: str = "parquet") -> "Partitions":
        """Write one partition for each of the chunks, and `parts.json` last.

        Parameters
        ----------
        folder
            A folder without partitions; made if it does not exist.
        chunks
            The bags of every partition, all with the same features and type.
        kind
            "parquet" (compressed, verified while it is read) or "npy" (memory-mapped).

        Returns
        -------
        Partitions
        """
        place = Path(folder)
        if (place / FILE).exists():
            raise BagwiseError(f"{place} holds partitions already: choose another folder.")
        place.mkdir(parents=True, exist_ok=True)
        written, shapes = [], set()
        for number, bags in enumerate(chunks):
            shapes.add((bags.n_features, bags.instances.dtype))
            if len(shapes) > 1:
                raise BagwiseError(f"Partition {number} has other features than those before it: all must be alike.")
            written.append(write_partition(place, number, bags, kind))
        if not written:
            raise BagwiseError("There are no bags: give at least one.")
        return cls(place, *shapes.pop(), tuple(written)).save()

    def save(self) -> "Partitions":
        """Write `parts.json`: from now on these are the partitions of the folder."""
        shape = {"version": VERSION, "features": self.n_features, "dtype": self.dtype.name, "owner": self.owner}
        text = json.dumps({**shape, "parts": [asdict(entry) for entry in self.entries]}, indent=1)
        files.write_whole(self.folder / FILE, lambda file: file.write(text.encode()))
        return self

    def first(self, count: int) -> "Partitions":
        """Return the first `count` partitions.

        Parameters
        ----------
        count : int
            Number of partitions.

        Returns
        -------
        Partitions
        """
        return replace(self, entries=self.entries[:count])

    def extended(self, more: Sequence[Partition]) -> "Partitions":
        """Return these and more, whose files are in the folder already.

        Parameters
        ----------
        more : sequence of Partition
            Entries from `write_partition`.

        Returns
        -------
        Partitions
            Not saved yet.
        """
        return replace(self, entries=(*self.entries, *more))

    # Sizes

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def first_bags(self) -> Array:
        """The position of every partition's first bag, and the number of all bags."""
        return np.cumsum([0, *(entry.bags for entry in self.entries)], dtype=np.int64)

    @cached_property
    def first_rows(self) -> Array:
        """The position of every partition's first instance, and the number of all instances."""
        return np.cumsum([0, *(entry.instances for entry in self.entries)], dtype=np.int64)

    @property
    def n_bags(self) -> int:
        """Number of bags in all partitions."""
        return int(self.first_bags[-1])

    @property
    def n_instances(self) -> int:
        """Number of instances in all partitions."""
        return int(self.first_rows[-1])

    @property
    def n_bytes(self) -> int:
        """Bytes on disk; missing files count nothing."""
        paths = [self.folder / name for entry in self.entries for name in entry.files]
        return sum(path.stat().st_size for path in paths if path.exists())

    # Reading

    def read(self, number: int) -> Bags:
        """Return the bags of one partition, with their ids as text.

        A `.npy` partition is memory-mapped; a Parquet partition is read into memory and its checksum verified.

        Parameters
        ----------
        number : int
            The position of the partition in `entries`.

        Returns
        -------
        Bags

        Raises
        ------
        FileError
            If a file of it is missing, damaged or changed.
        """
        return files.read_partition(self.folder, self.entries[number], self.n_features, self.dtype)

    def verify(self, number: int) -> None:
        """Raise `FileError` for a partition whose bytes are not those that were written.

        Parameters
        ----------
        number : int
            The position of the partition in `entries`.
        """
        files.validate_unchanged(self.folder, self.entries[number])

    def validate_present(self) -> None:
        """Raise `FileError` where a file is missing; contents are verified when they are read."""
        for entry in self.entries:
            for name in entry.files:
                if not (self.folder / name).is_file():
                    raise FileError(self.folder / name, f"is missing: {files.RESTORE}")

    def bags(self, ids: Array, offsets: Array) -> Bags:
        """Return all instances as bags that are read where they are needed.

        Parameters
        ----------
        ids
            The id of every bag, (B,).
        offsets
            The first row of every bag, and the number of instances: (B + 1,). Partitions beyond it do not count.

        Returns
        -------
        Bags
        """
        count = int(np.searchsorted(self.first_rows, offsets[-1]))
        if count > len(self) or self.first_rows[count] != offsets[-1] or self.first_bags[count] != len(ids):
            listed = f"{self.n_bags} bags with {self.n_instances} instances"
            what = f"lists {listed} where {len(ids)} with {offsets[-1]} are expected: {files.RESTORE}"
            raise FileError(self.folder / FILE, what)
        return Bags.over(PartitionStore(self.first(count), offsets, ids))


def partitions_of(bags: Bags) -> Partitions | None:
    """Return the partitions that bags are stored in, or None where they are stored otherwise.

    Parameters
    ----------
    bags : Bags
        The bags.

    Returns
    -------
    Partitions or None

    Examples
    --------
    >>> partitions_of(Bags.from_list([[[0.0]]])) is None
    True
    """
    return bags.store.partitions if isinstance(bags.store, PartitionStore) else None


def _parsed(path: Path, content: Any) -> tuple[int, np.dtype, tuple[Partition, ...], str]:
    try:
        version = content["version"]
        if version > VERSION:
            raise FileError(path, f"was written by a newer Bagwise (version {version}): upgrade to read it.")
        entries = tuple(Partition(**one) for one in content["parts"])
        features, dtype, owner = content["features"], content["dtype"], str(content.get("owner", ""))
        numbers = [features, *(n for entry in entries for n in (entry.bags, entry.instances, entry.checksum + 1))]
        valid = all(type(number) is int and number > 0 for number in numbers) and dtype in files.TYPES
    except (KeyError, TypeError, AttributeError):
        valid = False
    if not valid or not entries or not all(files.NAME.fullmatch(str(entry.file)) for entry in entries):
        raise FileError(path, f"does not list the partitions: {files.RESTORE}")
    return features, np.dtype(dtype), entries, owner
