"""Where bags are in raw files, and detections: the sounds, regions or passages of a class, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bagwise.formats._values import PLACE_COLUMNS

if TYPE_CHECKING:
    import polars as pl

SOUND_COLUMNS = ("start", "end", "low", "high")
OF_INSTANCE, OF_BAG = "instance", "bag"
"""What people confirmed: that this instance is of the class, or only that the class is in the bag."""


@dataclass(frozen=True)
class BagSpan:
    """Where a bag comes from: a raw file, or some seconds of one.

    Parameters
    ----------
    file : str
        The name of the file.
    start, end : float, optional
        Where the bag begins and ends in its file, in seconds; None where it is not known, or it is not sound.
    is_clip : bool
        Whether the bag is a part of its file.
    site : str
        Where it was recorded; empty where it is not known.
    recorded_at : str
        When the bag (not the file) begins, ISO 8601; empty where it is not known.

    Examples
    --------
    >>> BagSpan("north/dawn.wav", 600.0, 610.0, is_clip=True, site="north").place
    {'start': 600.0, 'end': 610.0}
    """

    file: str
    start: float | None = None
    end: float | None = None
    is_clip: bool = False
    site: str = ""
    recorded_at: str = ""

    @property
    def place(self) -> dict[str, float]:
        """The seconds of the file; empty where they are not known."""
        return {} if self.start is None or self.end is None else {"start": self.start, "end": self.end}


@dataclass(frozen=True)
class DetectionTable:
    """Detections, and the files that were searched.

    Parameters
    ----------
    frame : polars.DataFrame
        A row for each detection: `file`, `site`, `recorded_at` (of the detection), its place by the columns of the
        medium (null where it is not known), `class`, `probability` (of the instance), `threshold`, `bag`, `instance`,
        `bag_probability`, and `confirmed`: `instance` or `bag` where people said that the class is there, else empty.
    files : polars.DataFrame
        A row for each file: `file`, `type` (its content type), `seconds`, `rate`, `site`, `recorded_at` (of its
        beginning), `latitude`, `longitude`, `device`; null or empty where it is not known.
    model : str
        The name of the model that they come from.

    Examples
    --------
    >>> row = {"file": "dawn.wav", "start": 1.5, "end": 2.0, "low": None, "high": None, "class": "wren"}
    >>> table = DetectionTable.of([{**row, "probability": 0.9, "threshold": 0.5, "bag": "dawn.wav"}])
    >>> [(name, place) for name, place, _ in table.placed()]
    [('dawn.wav', {'start': 1.5, 'end': 2.0})]
    """

    frame: "pl.DataFrame"
    files: "pl.DataFrame"
    model: str = ""

    @classmethod
    def of(
        cls, rows: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, Any]] = (), model: str = ""
    ) -> "DetectionTable":
        """Return the table of rows, with columns that they do not have left empty.

        Parameters
        ----------
        rows : sequence of mapping
            The detections by column.
        files : sequence of mapping
            The files by column; without any, those of the detections.
        model : str
            The name of the model.

        Returns
        -------
        DetectionTable
        """
        import polars as pl

        listed = files or [{"file": name} for name in dict.fromkeys(row["file"] for row in rows)]
        used = [name for name in PLACE_COLUMNS if name in SOUND_COLUMNS or any(name in row for row in rows)]
        types = {
            **dict.fromkeys(("file", "site", "recorded_at"), pl.String()),
            **dict.fromkeys(used, pl.Float64()),
            "class": pl.String(),
            "probability": pl.Float64(),
            "threshold": pl.Float64(),
            "bag": pl.String(),
            "instance": pl.Int64(),
            "bag_probability": pl.Float64(),
            "confirmed": pl.String(),
        }
        of_files = {
            **dict.fromkeys(("file", "type"), pl.String()),
            **dict.fromkeys(("seconds", "rate"), pl.Float64()),
            **dict.fromkeys(("site", "recorded_at"), pl.String()),
            **dict.fromkeys(("latitude", "longitude"), pl.Float64()),
            "device": pl.String(),
        }
        return cls(_frame(rows, types), _frame(listed, of_files), model)

    def of_classes(self, names: Sequence[str]) -> "DetectionTable":
        """Return the detections of some classes alone.

        Parameters
        ----------
        names : sequence of str
            Names of classes.

        Returns
        -------
        DetectionTable
        """
        import polars as pl

        return replace(self, frame=self.frame.filter(pl.col("class").is_in(list(names))))

    def placed(self) -> Iterator[tuple[str, dict[str, float], dict[str, Any]]]:
        """Yield the file of each detection, its place without what is not known, and its row by column."""
        columns = [name for name in PLACE_COLUMNS if name in self.frame.columns]
        for row in self.frame.iter_rows(named=True):
            yield row["file"], {name: row[name] for name in columns if row[name] is not None}, row


def _frame(rows: Sequence[Mapping[str, Any]], types: Mapping[str, Any]) -> "pl.DataFrame":
    import polars as pl

    empty = {name: "" if kind == pl.String() else None for name, kind in types.items()}
    return pl.DataFrame([[row.get(name, empty[name]) for name in types] for row in rows], dict(types), orient="row")
