"""How sure a difference between strategies is: paired over runs, with bootstrap intervals and Holm's correction."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.stats import wilcoxon

from bagwise.kernels import Array

RESAMPLES = 10_000
LOSSES = {"hamming_loss", "one_error"}


@dataclass(frozen=True)
class Difference:
    """Mean of (first - second) over paired runs with its 95 % interval; `p` is corrected for all that were compared."""

    dataset: str
    first: str
    second: str
    metric: str
    runs: int
    mean: float
    low: float
    high: float
    p: float

    @property
    def better(self) -> bool:
        """Whether the first is better beyond doubt: the interval excludes 0 on the good side and p < 0.05."""
        good = self.high < 0 if self.metric in LOSSES else self.low > 0
        return good and self.p < 0.05

    @property
    def worse(self) -> bool:
        """Whether the first is worse beyond doubt."""
        bad = self.low > 0 if self.metric in LOSSES else self.high < 0
        return bad and self.p < 0.05


def areas(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Mean of the metric over the curve of every run: strategy, dataset, seed, fold, area.

    The points are equally spaced, so this is the area under the curve over its length.
    """
    return rows.group_by("strategy", "dataset", "seed", "fold", maintain_order=True).agg(
        pl.col(metric).mean().alias("area")
    )


def queries_to(rows: pl.DataFrame, metric: str, level: float) -> dict[str, int | None]:
    """For every strategy, after how many questions its mean curve first reaches `level` (falls to it, for a loss)."""
    means = rows.group_by("strategy", "asked", maintain_order=True).agg(pl.col(metric).mean().alias("mean"))
    reached = pl.col("mean") <= level if metric in LOSSES else pl.col("mean") >= level
    first: dict[str, int | None] = {}
    for strategy in means["strategy"].unique(maintain_order=True):
        asked = means.filter((pl.col("strategy") == strategy) & reached)["asked"]
        first[strategy] = None if asked.is_empty() else int(asked.min())  # type: ignore[arg-type]
    return first


def differences(rows: pl.DataFrame, metric: str, baseline: str) -> list[Difference]:
    """Every other strategy against `baseline` on every data set, by the area under the curve, run by run."""
    table = areas(rows, metric).pivot("strategy", index=["dataset", "seed", "fold"], values="area")
    found = []
    for dataset in rows["dataset"].unique(maintain_order=True):
        for name in rows["strategy"].unique(maintain_order=True):
            if name != baseline:
                paired = table.filter(pl.col("dataset") == dataset).select(name, baseline).drop_nulls().to_numpy()
                gaps = paired[:, 0] - paired[:, 1]
                low, high = bootstrap_interval(gaps)
                mean, p = float(gaps.mean()), _p_value(gaps)
                found.append(Difference(dataset, name, baseline, metric, len(gaps), mean, low, high, p))
    corrected = holm([one.p for one in found])
    return [replace(one, p=p) for one, p in zip(found, corrected, strict=True)]


def bootstrap_interval(values: Array, seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of the mean."""
    draws = np.random.default_rng(seed).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def _p_value(gaps: Array) -> float:
    """Wilcoxon's signed-rank test; 1 where nothing differs."""
    return 1.0 if not gaps.any() or len(gaps) < 2 else float(wilcoxon(gaps).pvalue)


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down correction.

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
