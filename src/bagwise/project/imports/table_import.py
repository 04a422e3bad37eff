"""Import tables straight into partitions: several files are read at once, by processes or on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bagwise.core.errors import FileError
from bagwise.formats import LabelTable, Source
from bagwise.kernels import Array
from bagwise.project.imports.importing import Progress
from bagwise.project.imports.media import Media
from bagwise.project.imports.tables import Table, TableFile, joined, look, new_of, tables_in
from bagwise.project.instances import partitions
from bagwise.project.instances.partition_writer import FromTables, edges
from bagwise.project.instances.partitioning import write_partitions
from bagwise.project.instances.worker_pool import Each, in_order
from bagwise.project.project import Project
from bagwise.project.storage.queries import Contents


@dataclass(frozen=True)
class Tables:
    r"""The new bags of a file or of the files of a folder.

    Parameters
    ----------
    path : Path
        The file or the folder.
    tables : sequence of Table
        Everything in the files but the features.
    each : Each
        Runs the tasks that read and write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> def here(work, tasks):
    ...     return ((number, work(task)) for number, task in enumerate(tasks))
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     _ = project.partition(1, each=here)
    ...     _ = Path(folder, "more.csv").write_text("bag,weight\nc,2.5\nc,3.5\nd,4.5\n")
    ...     tables = Tables.look_at(project, Path(folder, "more.csv"), None, here)
    ...     tables.import_into(project, count=1)
    ...     print(tables.instances, project.bags)
    3 Bags(4 bags, 5 instances, 1 features)
    """

    path: Path
    tables: Sequence[Table]
    each: Each

    @classmethod
    def look_at(cls, project: Project, path: Path, bag_column: str | None, each: Each) -> "Tables":
        """Read everything but the features. Of a folder, bags that the project already has are left out.

        Parameters
        ----------
        project : Project
            The project to import into.
        path : Path
            A file, or a folder of files.
        bag_column : str or None
            The column with the bag's id (None: `bag`).
        each : Each
            Runs the tasks that read and write.

        Returns
        -------
        Tables

        Raises
        ------
        FileError
            If a file cannot be read, or has other features than the project.
        """
        files = [TableFile(file, bag_column, project.contents.features) for file in tables_in(path)]
        tables = in_order(each(look, files))
        for table in tables:
            if table.n_features != project.bags.n_features:
                what = f"its instances have {table.n_features} features, the project {project.bags.n_features}."
                raise FileError(table.file.path, what)
        known = frozenset(project.contents.ids.tolist()) if path.is_dir() else frozenset[str]()
        return cls(path, new_of(tables, known), each)

    @property
    def instances(self) -> int:
        """Number of new instances."""
        return sum(len(table.codes) for table in self.tables)

    def import_into(
        self,
        project: Project,
        count: int,
        labels: LabelTable | None = None,
        classes: Sequence[str] = (),
        progress: Progress = lambda _: None,
        media: Media | None = None,
    ) -> None:
        """Import all or nothing, as `count` further partitions of a project that is partitioned.

        Parameters
        ----------
        project : Project
            The project that was given to `look_at`.
        count : int
            Number of partitions.
        labels : LabelTable, optional
            Labels of bags, old or new.
        classes : sequence of str
            Names of new classes.
        progress : callable
            Called with the number of instances that were just written.
        media : Media, optional
            Files of bags and places of instances.
        """

        def keep(before: Contents, source: Source) -> tuple[Array, int]:
            counted = partitions.open_partitions(project.folder, project.settings.data, before)
            with partitions.unfinished(counted.folder) as place:
                jobs = self._jobs(count, place, len(counted), counted.dtype)
                written = write_partitions(jobs, self.each, progress)
                partitions.add(counted, place, written)
            return np.bincount(source.codes, minlength=len(source.ids)), partitions.checksum_of(written)

        source = joined(self.path, [table.source for table in self.tables])
        project.import_(source, labels, classes, progress, media, keep)

    def _jobs(self, count: int, place: Path, first: int, dtype: np.dtype) -> list[FromTables]:
        """Several neighbouring files for each partition, or several partitions for each file."""
        files = [table.file for table in self.tables]
        rows = np.cumsum([0, *(len(table.codes) for table in self.tables)])
        if len(files) >= count:
            return [
                FromTables(place, first + number, 1, dtype, files[start:end])
                for number, (start, end) in enumerate(pairwise(edges(rows, count)))
            ]
        shares = _shares(np.diff(rows), np.array([len(table.ids) for table in self.tables]), count)
        starts = first + np.cumsum([0, *shares[:-1]])
        return [
            FromTables(place, int(start), int(share), dtype, [file])
            for file, start, share in zip(files, starts, shares, strict=True)
        ]


def _shares(rows: Array, bags: Array, count: int) -> Array:
    """Number of partitions of each file, so that they have similar sizes; never more than the file has bags."""
    found = np.ones(len(rows), np.int64)
    while found.sum() < min(count, bags.sum()):
        found[np.argmax(np.where(found < bags, rows / found, -1))] += 1
    return found
