"""One part on disk: a Parquet file with a row per instance, or an array to be mapped beside a table of its bags."""

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
import polars as pl

from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.bags import Bags
from bagwise.kernels import Array

KINDS = ("parquet", "npy")
NAME = re.compile(r"part-\d{5,}\.(parquet|npy)")
TYPES = {"float16": "Float16", "float32": "Float32", "float64": "Float64"}
COMPRESSION: Literal["zstd"] = "zstd"
"""On features that look like noise 7 % smaller than they are, for a quarter more time; on others much smaller."""
VALUES_PER_BLOCK = 1 << 18
"""As many as are read for a single bag: a megabyte takes 4 ms; all of a part takes no longer for it."""
CHUNK = 1 << 24
RESTORE = "restore it from a backup, or import again."


@dataclass(frozen=True)
class Partition:
    """What `parts.json` says of a part; `checksum` is the CRC-32 of its file, or of its two files end to end."""

    file: str
    bags: int
    instances: int
    checksum: int

    @property
    def is_mapped(self) -> bool:
        """Whether it is an array that is mapped and not read."""
        return self.file.endswith(".npy")

    @property
    def files(self) -> list[str]:
        """All that it is made of."""
        return [self.file, str(Path(self.file).with_suffix(".bags.parquet"))] if self.is_mapped else [self.file]


def block_rows(features: int) -> int:
    """Rows that are read at once, as many as a Parquet file keeps together."""
    return max(1, VALUES_PER_BLOCK // features)


def write_partition(folder: Path, number: int, bags: Bags, kind: str = "parquet") -> Partition:
    """Write these bags as one part of a folder; its files are there when they are complete and on the disk."""
    if kind not in KINDS:
        raise BagwiseError(f"There is no kind of part {kind!r}: choose one of {', '.join(KINDS)}.")
    part = Partition(f"part-{number:05}.{kind}", len(bags), bags.n_instances, 0)
    ids, sizes = [str(name) for name in bags.ids], bags.sizes
    paths = [folder / name for name in part.files]
    if part.is_mapped:
        write_whole(paths[0], lambda file: np.save(file, bags.instances, allow_pickle=False))
        table = pl.DataFrame({"id": ids, "size": sizes}, {"id": pl.String, "size": pl.Int64})
        write_whole(paths[1], lambda file: table.write_parquet(file))
    else:
        write_whole(paths[0], lambda file: _write_rows(file, ids, sizes, bags.instances))
    return Partition(part.file, part.bags, part.instances, checksum_of(paths))


def _write_rows(file: Any, ids: list[str], sizes: Array, instances: Array) -> None:
    named = pl.DataFrame({"bag": ids, "size": sizes}, {"bag": pl.String, "size": pl.Int64})
    bag = named.select(pl.col("bag").repeat_by("size").explode()).to_series()
    kind = pl.Array(getattr(pl, TYPES[instances.dtype.name]), instances.shape[1])
    frame = pl.DataFrame({"bag": bag, "instance": pl.Series(np.asarray(instances), dtype=kind)})
    rows = block_rows(instances.shape[1])
    frame.write_parquet(file, compression=COMPRESSION, statistics=False, row_group_size=rows)


def write_whole(path: Path, write: Callable[[Any], object]) -> None:
    """A file that has its name only when it is complete and on the disk."""
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
    """CRC-32 of the files end to end."""
    found = 0
    for path in paths:
        with whole_or_refused(path), path.open("rb") as file:
            while piece := file.read(CHUNK):
                found = zlib.crc32(piece, found)
    return found


def validate_unchanged(folder: Path, part: Partition) -> None:
    """Its bytes must be those that were written."""
    if checksum_of([folder / name for name in part.files]) != part.checksum:
        raise FileError(folder / part.file, f"is not what was written, its checksum differs: {RESTORE}")


def read_partition(folder: Path, part: Partition, features: int, dtype: np.dtype) -> Bags:
    """All of it: an array is mapped, Parquet is read and its checksum verified."""
    if part.is_mapped:
        path = folder / part.files[1]
        with whole_or_refused(path):
            table = pl.read_parquet(path)
        ids, sizes = table["id"], table["size"].to_numpy()
        instances = map_partition(folder, part, features, dtype)
    else:
        path = folder / part.file
        validate_unchanged(folder, part)
        with whole_or_refused(path):
            frame = pl.read_parquet(path, glob=False)
            runs = frame["bag"].rle().struct.unnest()
        ids, sizes = runs["value"], runs["len"].to_numpy()
        instances = _fitting(path, frame["instance"].to_numpy(), part.instances, features, dtype)
    if len(ids) != part.bags or sizes.sum() != part.instances:
        raise FileError(path, f"has {len(ids)} bags of {part.bags}, {sizes.sum()} rows of {part.instances}: {RESTORE}")
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return Bags.trusted(instances, offsets, np.array(ids.to_list(), dtype=str))


def read_rows(folder: Path, part: Partition, first: int, last: int, features: int, dtype: np.dtype) -> Array:
    """Some rows of a Parquet part, without the rest of it."""
    path = folder / part.file
    with whole_or_refused(path):
        found = pl.scan_parquet(path, glob=False).select("instance").slice(first, last - first).collect()
        return _fitting(path, found["instance"].to_numpy(), last - first, features, dtype)


def map_partition(folder: Path, part: Partition, features: int, dtype: np.dtype) -> Array:
    """The rows of an `.npy` part, not read yet."""
    path = folder / part.file
    with whole_or_refused(path):
        return _fitting(path, np.load(path, mmap_mode="r", allow_pickle=False), part.instances, features, dtype)


def _fitting(path: Path, rows: Array, expected: int, features: int, dtype: np.dtype) -> Array:
    if rows.shape != (expected, features) or rows.dtype != dtype:
        what = f"has {rows.shape} values of type {rows.dtype} where {(expected, features)} of {dtype} belong: {RESTORE}"
        raise FileError(path, what)
    return rows


@contextmanager
def whole_or_refused(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file of a part is said in one sentence."""
    try:
        yield
    except BagwiseError:
        raise
    except FileNotFoundError as error:
        raise FileError(path, f"is missing: {RESTORE}") from error
    # A damaged footer makes Polars panic: that is no Exception, so it must be named.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, EOFError) as error:
        raise FileError(path, f"is damaged or not complete: {RESTORE}") from error
