"""One partition on disk: a Parquet file with a row per instance, or a memory-mapped array with a table of its bags.

Polars is imported where it is used: most processes with a project read no table.
"""

import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.kernels import Array

KINDS = ("parquet", "npy")
NAME = re.compile(r"part-\d{5,}\.(parquet|npy)")
TYPES = {"float16": "Float16", "float32": "Float32", "float64": "Float64"}
COMPRESSION: Literal["zstd"] = "zstd"
"""Features that look like noise take 7 % less room for a quarter more time; others much less."""
VALUES_PER_BLOCK = 1 << 18
"""Values read for a single bag: a megabyte takes 4 ms. A whole partition is read as fast in blocks of this size."""
CHUNK = 1 << 24
RESTORE = "restore it from a backup, or import again."


@dataclass(frozen=True)
class Partition:
    """One entry of `parts.json`.

    Parameters
    ----------
    file
        Name of its file, `part-00000.parquet` or `part-00000.npy`.
    bags, instances
        How many it holds.
    checksum
        CRC-32 of its file, or of its two files end to end.

    Examples
    --------
    >>> Partition("part-00000.npy", bags=2, instances=3, checksum=0).files
    ['part-00000.npy', 'part-00000.bags.parquet']
    """

    file: str
    bags: int
    instances: int
    checksum: int

    @property
    def is_mapped(self) -> bool:
        """Whether it is an array that is memory-mapped instead of read."""
        return self.file.endswith(".npy")

    @property
    def files(self) -> list[str]:
        """Names of all its files."""
        return [self.file, str(Path(self.file).with_suffix(".bags.parquet"))] if self.is_mapped else [self.file]


def block_rows(features: int) -> int:
    """Return the number of rows that are read at once: those of a row group of a Parquet partition."""
    return max(1, VALUES_PER_BLOCK // features)


def write_partition(folder: Path, number: int, bags: Bags, kind: str = "parquet") -> Partition:
    """Write bags as one partition of a folder.

    Its files get their names only when they are complete and on disk.

    Parameters
    ----------
    folder
        Where to write it.
    number
        Its number, which names its files.
    bags
        Its bags; ids are written as text.
    kind
        "parquet" or "npy".

    Returns
    -------
    Partition
        Its entry for `parts.json`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     entry = write_partition(Path(folder), 0, Bags.from_list([[[0.0], [1.0]], [[2.0]]]))
    >>> entry.file, entry.bags, entry.instances
    ('part-00000.parquet', 2, 3)
    """
    if kind not in KINDS:
        raise BagwiseError(f"`kind` = {kind!r} is not a kind of partition: choose one of {', '.join(KINDS)}.")
    entry = Partition(f"part-{number:05}.{kind}", len(bags), bags.n_instances, 0)
    ids, sizes = [str(name) for name in bags.ids], bags.sizes
    paths = [folder / name for name in entry.files]
    if entry.is_mapped:
        import polars as pl

        write_whole(paths[0], lambda file: np.save(file, bags.instances, allow_pickle=False))
        table = pl.DataFrame({"id": ids, "size": sizes}, {"id": pl.String, "size": pl.Int64})
        write_whole(paths[1], lambda file: table.write_parquet(file))
    else:
        write_whole(paths[0], lambda file: _write_rows(file, ids, sizes, bags.instances))
    return Partition(entry.file, entry.bags, entry.instances, checksum_of(paths))


def _write_rows(file: Any, ids: list[str], sizes: Array, instances: Array) -> None:
    import polars as pl

    named = pl.DataFrame({"bag": ids, "size": sizes}, {"bag": pl.String, "size": pl.Int64})
    bag = named.select(pl.col("bag").repeat_by("size").explode()).to_series()
    kind = pl.Array(getattr(pl, TYPES[instances.dtype.name]), instances.shape[1])
    frame = pl.DataFrame({"bag": bag, "instance": pl.Series(np.asarray(instances), dtype=kind)})
    rows = block_rows(instances.shape[1])
    frame.write_parquet(file, compression=COMPRESSION, statistics=False, row_group_size=rows)


def write_whole(path: Path, write: Callable[[Any], object]) -> None:
    """Write a file that gets its name only when it is complete and on disk."""
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with unfinished.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise BagwiseError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def checksum_of(paths: list[Path]) -> int:
    """Return the CRC-32 of the files end to end."""
    found = 0
    for path in paths:
        with readable(path), path.open("rb") as file:
            while block := file.read(CHUNK):
                found = zlib.crc32(block, found)
    return found


def validate_unchanged(folder: Path, entry: Partition) -> None:
    """Raise `FileError` where its bytes are not those that were written."""
    if checksum_of([folder / name for name in entry.files]) != entry.checksum:
        raise FileError(folder / entry.file, f"has changed since it was written, its checksum differs: {RESTORE}")


def read_partition(folder: Path, entry: Partition, features: int, dtype: np.dtype) -> Bags:
    """Return all of its bags: an array is memory-mapped, Parquet is read and its checksum verified."""
    import polars as pl

    if entry.is_mapped:
        path = folder / entry.files[1]
        with readable(path):
            table = pl.read_parquet(path)
        ids, sizes = table["id"], table["size"].to_numpy()
        instances = map_partition(folder, entry, features, dtype)
    else:
        path = folder / entry.file
        validate_unchanged(folder, entry)
        with readable(path):
            frame = pl.read_parquet(path, glob=False)
            runs = frame["bag"].rle().struct.unnest()
        ids, sizes = runs["value"], runs["len"].to_numpy()
        instances = _fitting(path, frame["instance"].to_numpy(), entry.instances, features, dtype)
    if len(ids) != entry.bags or sizes.sum() != entry.instances:
        what = f"has {len(ids)} bags of {entry.bags}, {sizes.sum()} rows of {entry.instances}: {RESTORE}"
        raise FileError(path, what)
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return Bags.trusted(instances, offsets, np.array(ids.to_list(), dtype=str))


def read_rows(folder: Path, entry: Partition, first: int, last: int, features: int, dtype: np.dtype) -> Array:
    """Return some rows of a Parquet partition without reading the rest."""
    import polars as pl

    path = folder / entry.file
    with readable(path):
        found = pl.scan_parquet(path, glob=False).select("instance").slice(first, last - first).collect()
        return _fitting(path, found["instance"].to_numpy(), last - first, features, dtype)


def map_partition(folder: Path, entry: Partition, features: int, dtype: np.dtype) -> Array:
    """Return the rows of an `.npy` partition, memory-mapped."""
    path = folder / entry.file
    with readable(path):
        return _fitting(path, np.load(path, mmap_mode="r", allow_pickle=False), entry.instances, features, dtype)


def _fitting(path: Path, rows: Array, expected: int, features: int, dtype: np.dtype) -> Array:
    if rows.shape != (expected, features) or rows.dtype != dtype:
        right = f"{(expected, features)} of {dtype}"
        raise FileError(path, f"has {rows.shape} values of type {rows.dtype} where {right} are expected: {RESTORE}")
    return rows


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file of a partition into a `FileError`."""
    import polars as pl

    try:
        yield
    except BagwiseError:
        raise
    except FileNotFoundError as error:
        raise FileError(path, f"is missing: {RESTORE}") from error
    # A damaged footer makes Polars panic, which is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, EOFError) as error:
        raise FileError(path, f"is damaged or not complete: {RESTORE}") from error
