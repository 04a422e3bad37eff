"""The rows of a reproduction in one compact file, from which its report is written and its runs go on.

The file has the key of every cell whose rows it holds. A run that finds it does not make these cells again, on whatever
machine they were made: rows are the same on every processor.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from bagwise.research.experiments.runner import Specification

FILE = "rows.parquet"
MEASURED = (
    "bag_accuracy", "average_precision", "hamming_loss", "one_error", "log_likelihood", "scratch_accuracy",
    "exhausted_accuracy",
)  # fmt: skip
PRECISE = ("objective_value", "weights_norm", "norm_bound", "known")
DIGITS = 5
NOT_CHOSEN = ("random_state", "background", "objective")

Cells = Mapping[str, Sequence[Specification]]
"""The cells of every analysis, by its name."""


def compact(name: str, key: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a cell that the report needs, in small types, with its analysis and its key."""
    given = rows.columns
    whole = [column for column in ("asked", "ended", "epochs") if column in given]
    return rows.select(
        pl.lit(name).alias("analysis"),
        pl.col("dataset", "strategy"),
        pl.lit(key).alias("key"),
        pl.col("seed").cast(pl.UInt32),
        pl.col("fold", "folds").cast(pl.UInt8),
        *(pl.col(column).cast(pl.UInt16) for column in whole),
        *(pl.col(column).cast(pl.Float32).round(DIGITS) for column in MEASURED if column in given),
        *(pl.col(column).cast(pl.Float32) for column in PRECISE if column in given),
        pl.col("parameters").map_elements(_chosen, pl.String),
    )


def _chosen(parameters: str) -> str:
    known = json.loads(parameters)
    return json.dumps({name: value for name, value in known.items() if name not in NOT_CHOSEN})


def stored(folder: Path) -> pl.DataFrame:
    """Return the rows in the compact file of a folder; none where it has no such file, or one without keys."""
    file = folder / FILE
    if not file.exists() or "key" not in pl.read_parquet_schema(file):
        return pl.DataFrame(schema={"analysis": pl.String, "key": pl.String})
    return pl.read_parquet(file).with_columns(pl.col(pl.Categorical).cast(pl.String))


def unfinished(cells: Cells, folder: Path) -> dict[str, list[Specification]]:
    """Return the cells of every analysis whose rows are not in the compact file of a folder."""
    known = _cells_in(stored(folder))
    return {name: [one for one in some if (name, one.key) not in known] for name, some in cells.items()}


def _cells_in(rows: pl.DataFrame) -> set[tuple[str, str]]:
    return set(rows.select("analysis", "key").unique().iter_rows())


def collect(cells: Cells, folder: Path) -> Path:
    """Write the rows of all finished cells to the compact file, in the order of the cells, and return its path.

    They are those of the file as it was, and those of the cells that were finished in the folder `runs` since then.
    """
    frames = [stored(folder)]
    for name, some in unfinished(cells, folder).items():
        for one in some:
            file = folder / "runs" / f"{one.key}.parquet"
            if file.exists():
                frames.append(compact(name, one.key, pl.read_parquet(file)))
    places = pl.DataFrame(
        [(name, one.key) for name, some in cells.items() for one in some], ["analysis", "key"], orient="row"
    ).with_row_index("place")
    # Rows of other data sets or sizes stay, after these: they took hours, and `read` leaves them out.
    rows = pl.concat(frames, how="diagonal_relaxed").join(places, ["analysis", "key"], "left", maintain_order="left")
    rows = rows.sort("place", nulls_last=True, maintain_order=True).drop("place")
    part = folder / f"{FILE}.part"
    rows.with_columns(pl.col(pl.String).cast(pl.Categorical)).write_parquet(
        part, compression="zstd", compression_level=19
    )
    return part.replace(folder / FILE)


def read(file: Path, cells: Cells) -> dict[str, pl.DataFrame]:
    """Return the rows of these cells in a file, in doubles, without columns that an analysis has no values of."""
    rows = pl.read_parquet(file).with_columns(
        pl.col(pl.Categorical).cast(pl.String),
        pl.col(pl.Float32).cast(pl.Float64),
        pl.selectors.integer().cast(pl.Int64),
    )
    found = {}
    for name, some in cells.items():
        here = rows.filter((pl.col("analysis") == name) & pl.col("key").is_in([one.key for one in some]))
        found[name] = here.select(column for column in here.columns if here[column].null_count() < here.height)
    return found
