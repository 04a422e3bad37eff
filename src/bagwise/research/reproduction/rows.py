"""The rows of a reproduction in one compact file, from which its report can be written again."""

import json
from pathlib import Path

import polars as pl

FILE = "rows.parquet"
RUN = ("analysis", "dataset", "strategy", "seed", "fold", "folds")
MEASURED = (
    "bag_accuracy", "average_precision", "hamming_loss", "one_error", "log_likelihood", "scratch_accuracy",
    "exhausted_accuracy",
)  # fmt: skip
PRECISE = ("objective_value", "weights_norm", "norm_bound", "known")
DIGITS = 5
NOT_CHOSEN = ("random_state", "background", "objective")


def compact(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that the report needs, in small types, with the name of the analysis."""
    given = rows.columns
    whole = [column for column in ("asked", "ended", "epochs") if column in given]
    return rows.with_columns(pl.lit(name).alias("analysis")).select(
        *(pl.col(column).cast(pl.Categorical) for column in RUN[:3]),
        pl.col("seed").cast(pl.UInt32),
        pl.col("fold", "folds").cast(pl.UInt8),
        *(pl.col(column).cast(pl.UInt16) for column in whole),
        *(pl.col(column).cast(pl.Float32).round(DIGITS) for column in MEASURED if column in given),
        *(pl.col(column).cast(pl.Float32) for column in PRECISE if column in given),
        pl.col("parameters").map_elements(_chosen, pl.String).cast(pl.Categorical),
    )


def _chosen(parameters: str) -> str:
    known = json.loads(parameters)
    return json.dumps({name: value for name, value in known.items() if name not in NOT_CHOSEN})


def write(rows: dict[str, pl.DataFrame], folder: Path) -> Path:
    """Write compact rows of all analyses to one file."""
    file = folder / FILE
    pl.concat(rows.values(), how="diagonal_relaxed").write_parquet(file, compression="zstd", compression_level=19)
    return file


def read(file: Path) -> dict[str, pl.DataFrame]:
    """Return the rows of every analysis in a file, in doubles, without columns that it has no values of."""
    rows = pl.read_parquet(file).with_columns(
        pl.col(pl.Categorical).cast(pl.String),
        pl.col(pl.Float32).cast(pl.Float64),
        pl.selectors.integer().cast(pl.Int64),
    )
    found = {}
    for name in rows["analysis"].unique(maintain_order=True):
        here = rows.filter(pl.col("analysis") == name)
        found[name] = here.select(column for column in here.columns if here[column].null_count() < here.height)
    return found
