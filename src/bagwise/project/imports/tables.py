"""Tables of instances, read by worker processes: first everything but the features, later the features."""

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bagwise import formats
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, Source
from bagwise.kernels import Array


@dataclass(frozen=True)
class TableFile:
    """A file, how to read it, its fingerprint when it was first read, and which of its bags to read (None: all)."""

    path: Path
    bag_column: str | None
    features: Sequence[str]
    seen: int | None = None
    wanted: Array | None = None

    def source(self) -> Source:
        """Return the selected bags, with the features in the order of the project."""
        source = formats.read(self.path, self.bag_column).with_features(self.features)
        if self.seen not in (None, _fingerprint(source)):
            raise FileError(self.path, "changed during the import: import it again.")
        return source if self.wanted is None else some_of(source, self.wanted)


@dataclass(frozen=True)
class Table:
    """Everything in a file but the features. It can be pickled, which a source cannot."""

    file: TableFile
    ids: Sequence[str]
    codes: Array
    n_features: int
    labels: LabelTable | None

    @property
    def source(self) -> Source:
        """The file as a source, which is opened again when its features are read."""
        blocks = lambda: self.file.source().blocks()  # noqa: E731
        return Source(self.file.path, self.ids, self.codes, self.n_features, np.dtype(np.float64), blocks, self.labels)

    def some(self, wanted: Array) -> "Table":
        """Return the table with some of its bags."""
        chosen = some_of(self.source, wanted)
        return Table(replace(self.file, wanted=wanted), chosen.ids, chosen.codes, self.n_features, chosen.labels)


def look(file: TableFile) -> Table:
    """Read everything but the features of a file."""
    source = file.source()
    return Table(replace(file, seen=_fingerprint(source)), source.ids, source.codes, source.n_features, source.labels)


def tables_in(path: Path) -> list[Path]:
    """Return the file itself, or the files of a folder that holds nothing but tables."""
    if not path.is_dir() or formats.folder_format(path) is not None:
        return [path.resolve()]
    found = sorted(one for one in path.resolve().iterdir() if not one.name.startswith("."))
    suffixes = tuple(suffix for module in formats.able_to("read").values() for suffix in module.SUFFIXES)
    others = [one.name for one in found if not one.name.lower().endswith(suffixes)]
    if others or not found:
        what = f"holds {others[0]}, which is not a table" if others else "is empty"
        raise BagwiseError(f"{path} {what}: partitions are made of tables of instances, one file or a folder of them.")
    return found


def new_of(tables: Sequence[Table], known: Collection[str]) -> list[Table]:
    """Return the tables without the bags that are `known`; raise an error where a bag is in two files."""
    seen: dict[str, Path] = {}
    found = []
    for table in tables:
        for name in table.ids:
            if seen.setdefault(name, table.file.path) != table.file.path:
                raise FileError(table.file.path, f"bag {name} is in {seen[name].name} as well: give it once.")
        wanted = np.array([name not in known for name in table.ids])
        if wanted.any():
            found.append(table if wanted.all() else table.some(wanted))
    return found


def some_of(source: Source, wanted: Array) -> Source:
    """Return a source with some of the bags of another."""
    rows = wanted[source.codes]

    def blocks() -> Iterator[Array]:
        done = 0
        # Validated before the selection, while a row still has the number that it has in the file.
        for block in source.checked_blocks():
            yield block[rows[done : done + len(block)]]
            done += len(block)

    ids = [name for name, is_wanted in zip(source.ids, wanted, strict=True) if is_wanted]
    codes, labels = (np.cumsum(wanted) - 1)[source.codes[rows]], source.labels
    if labels is not None:
        known = set(ids)
        placed = [one for one in labels.placed if one.bag in known]
        labels = replace(labels, ids=ids, values=labels.values[wanted], placed=placed)
    return replace(source, ids=ids, codes=codes, blocks=blocks, labels=labels)


def joined(path: Path, sources: Sequence[Source], dtype: npt.DTypeLike | None = None) -> Source:
    """Concatenate sources; errors in a row name the file of that row."""
    ids = [name for source in sources for name in source.ids]
    starts = np.cumsum([0, *(len(source.ids) for source in sources[:-1])])
    codes = np.concatenate([start + source.codes for start, source in zip(starts, sources, strict=True)])
    blocks = lambda: (block for source in sources for block in source.checked_blocks(dtype))  # noqa: E731
    labels = _joined_labels(path, ids, sources)
    return Source(path, ids, codes, sources[0].n_features, np.dtype(np.float64), blocks, labels)


def _joined_labels(path: Path, ids: Sequence[str], sources: Sequence[Source]) -> LabelTable | None:
    classes = list(dict.fromkeys(name for one in sources if one.labels is not None for name in one.labels.classes))
    if not classes:
        return None
    values, done = np.full((len(ids), len(classes)), np.nan), 0
    for source in sources:
        if source.labels is not None:
            columns = [classes.index(name) for name in source.labels.classes]
            values[done : done + len(source.ids), columns] = source.labels.values
        done += len(source.ids)
    placed = [one for source in sources if source.labels is not None for one in source.labels.placed]
    return LabelTable(ids, classes, values, path=path, placed=placed)


def _fingerprint(source: Source) -> int:
    return zlib.crc32(source.codes.tobytes(), zlib.crc32("\n".join(source.ids).encode()))
