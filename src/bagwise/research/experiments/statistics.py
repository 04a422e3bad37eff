"""Differences between strategies, paired over runs, with bootstrap intervals and Holm's correction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.stats import t as student

from bagwise.kernels import Array
from bagwise.research.experiments.measures import is_loss

RESAMPLES = 10_000
START = 0.1
RUN = ("strategy", "dataset", "seed", "fold")


@dataclass(frozen=True)
class Difference:
    """Mean of (first - second) over paired runs with its 95 % interval; `p` is corrected for all comparisons.

    `part` is what of a run is compared: the `area` under its curve, its `start` or its `final` value.
    """

    dataset: str
    first: str
    second: str
    metric: str
    part: str
    runs: int
    mean: float
    low: float
    high: float
    p: float

    @property
    def better(self) -> bool:
        """Return whether the first is significantly better: the interval excludes 0 and p < 0.05."""
        good = self.high < 0 if is_loss(self.metric) else self.low > 0
        return good and self.p < 0.05

    @property
    def worse(self) -> bool:
        """Return whether the first is significantly worse."""
        bad = self.low > 0 if is_loss(self.metric) else self.high < 0
        return bad and self.p < 0.05


def run_values(rows: pl.DataFrame, metric: str, part: str = "area") -> pl.DataFrame:
    """Return one value for every run, with columns strategy, dataset, seed, fold, value.

    The `area` is the mean over the points, which are equally spaced; the `start` the mean over the first tenth of the
    questions; `final` the last point.
    """
    last = pl.col("asked").max().over(RUN)
    kept = {"area": pl.lit(True), "start": pl.col("asked") <= START * last, "final": pl.col("asked") == last}[part]
    return rows.filter(kept).group_by(RUN, maintain_order=True).agg(pl.col(metric).mean().alias("value"))


def queries_to(rows: pl.DataFrame, metric: str, level: float) -> dict[str, int | None]:
    """Return, for every strategy, after how many questions its mean curve reaches `level` (falls to it, for a loss)."""
    means = rows.group_by("strategy", "asked", maintain_order=True).agg(pl.col(metric).mean().alias("mean"))
    reached = pl.col("mean") <= level if is_loss(metric) else pl.col("mean") >= level
    first: dict[str, int | None] = {}
    for strategy in means["strategy"].unique(maintain_order=True):
        asked = means.filter((pl.col("strategy") == strategy) & reached)["asked"]
        first[strategy] = None if asked.is_empty() else int(asked.min())  # type: ignore[arg-type]
    return first


def differences(rows: pl.DataFrame, metric: str, baseline: str, part: str = "area") -> list[Difference]:
    """Compare every other strategy with `baseline` on every data set, paired by run."""
    others = [name for name in rows["strategy"].unique(maintain_order=True) if name != baseline]
    return compare_pairs(rows, metric, [(other, baseline) for other in others], part)


def compare_pairs(
    rows: pl.DataFrame, metric: str, pairs: Sequence[tuple[str, str]], part: str = "area"
) -> list[Difference]:
    """Compare the first with the second of every pair of strategies on every data set; `p` is corrected for all."""
    table = run_values(rows, metric, part).pivot("strategy", index=["dataset", "seed", "fold"], values="value")
    folds = int(rows["folds"][0])
    found = []
    for dataset in rows["dataset"].unique(maintain_order=True):
        values = table.filter(pl.col("dataset") == dataset)
        for first, second in pairs:
            gaps = (values[first] - values[second]).drop_nulls().to_numpy()
            low, high = bootstrap_interval(gaps)
            mean, p = float(gaps.mean()), p_value(gaps, folds)
            found.append(Difference(dataset, first, second, metric, part, len(gaps), mean, low, high, p))
    corrected = holm([one.p for one in found])
    return [replace(one, p=p) for one, p in zip(found, corrected, strict=True)]


def bootstrap_interval(values: Array, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean."""
    draws = np.random.default_rng(seed).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def p_value(gaps: Array, folds: int) -> float:
    """Return p of Student's paired test, corrected for folds that share training bags (Nadeau & Bengio 2003).

    The variance of the mean is s^2 (1/n + 1/(folds - 1)) instead of s^2/n. p is 1 if no pair differs.
    """
    if len(gaps) < 2 or not gaps.any():
        return 1.0
    deviation = gaps.std(ddof=1) * np.sqrt(1 / len(gaps) + 1 / (folds - 1))
    return float(2 * student.sf(abs(gaps.mean()) / deviation, len(gaps) - 1)) if deviation > 0 else 0.0


def holm(p_values: list[float]) -> list[float]:
    """Return p values after Holm's step-down correction.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    corrected = np.empty(len(p_values))
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return [float(p) for p in corrected]
