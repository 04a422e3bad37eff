"""Run simulations behind one progress bar; interrupted runs are resumed."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bagwise.cli._app import progress_bar
from bagwise.research.experiments.runner import Specification, finished, run_all


def run(
    simulations: Sequence[Specification],
    folder: Path,
    name: str = "rows.parquet",
    quiet: bool = False,
    one_by_one: bool = False,
) -> pl.DataFrame:
    """Run all that have not finished before; write all rows to FOLDER/NAME and return them."""
    runs = folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    before = [one for one in simulations if finished(one, runs)]
    description = f"{len(simulations)} runs" + (f", {len(before)} finished before" if before else "")
    total, done = sum(one.steps for one in simulations), sum(one.steps for one in before)
    with progress_bar(description, total, "steps", done, quiet) as progress:
        rows = run_all(simulations, runs, progress, one_by_one)
    rows.write_parquet(folder / name)
    return rows
