"""Differences between strategies, paired over runs: superior, equivalent, inferior, or inconclusive.

Runs on one data set share bags, so that they say less than as many independent ones. The variance of their mean is

    s^2 (1/n + 1/(folds - 1))                  n paired runs, Student's t with n - 1 degrees (Nadeau & Bengio 2003)

Where every seed draws instances of its own, as for the letters, the mean over the folds of a draw is one independent
observation, and the plain t over the draws is used.

A difference is *superior* or *inferior* where its 95 % interval excludes 0; else *equivalent* where two one-sided tests
at 5 % place it within the margin (Schuirmann 1987), that is, where its 90 % interval is inside; else *inconclusive*.
A claim that several differences must all support needs no correction for their number (intersection-union, Berger
1982); Holm's is reported beside them, for a reader who picks single ones.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.stats import t as student

from bagwise.kernels import Array
from bagwise.research.experiments.measures import is_loss

RESAMPLES = 10_000
LEVEL = 0.05
MARGIN = 0.03
EARLY = 0.1
RUN = ("strategy", "dataset", "seed", "fold")
SUPERIOR, EQUIVALENT, INFERIOR, INCONCLUSIVE = "superior", "equivalent", "inferior", "inconclusive"


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and degrees of freedom.

    Examples
    --------
    >>> one = of_draws(np.array([0.1, 0.2, 0.3]))
    >>> round(one.mean, 3), round(one.error, 4), one.degrees
    (0.2, 0.0577, 2)
    """

    mean: float
    error: float
    degrees: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the two-sided interval."""
        half = self.error * float(student.ppf((1 + confidence) / 2, self.degrees)) if self.error > 0 else 0.0
        return self.mean - half, self.mean + half

    def p_above(self, null: float) -> float:
        """Return p of the one-sided test that the mean exceeds `null`."""
        if self.error == 0:
            return 0.0 if self.mean > null else 1.0
        return float(student.sf((self.mean - null) / self.error, self.degrees))

    @property
    def p(self) -> float:
        """Return p of the two-sided test against 0; 1 if nothing differs."""
        if self.mean == 0:
            return 1.0
        return min(1.0, 2 * (self.p_above(0.0) if self.mean > 0 else 1 - self.p_above(0.0)))

    def p_within(self, margin: float) -> float:
        """Return p of two one-sided tests that the mean is between -margin and margin."""
        return max(self.p_above(-margin), 1 - self.p_above(margin))


def of_runs(values: Array, folds: int) -> Estimate:
    """Return the mean over runs on one data set, corrected for folds that share training bags.

    >>> one = of_runs(np.array([0.1, 0.2, 0.3]), folds=5)
    >>> round(one.error, 4)            # 0.1 sqrt(1/3 + 1/4)
    0.0764
    """
    return _estimate(values, 1 / len(values) + 1 / (folds - 1))


def of_draws(values: Array) -> Estimate:
    """Return the mean over independent draws."""
    return _estimate(values, 1 / len(values))


def _estimate(values: Array, share: float) -> Estimate:
    # Of one value the spread is unknown: nothing can be said.
    error = math.inf if len(values) < 2 else float(values.std(ddof=1)) * math.sqrt(share)
    return Estimate(float(values.mean()), error, max(len(values) - 1, 1))


@dataclass(frozen=True)
class Difference:
    """Mean of (first - second) over paired runs with its 95 % interval.

    `part` is what of a run is compared: the `area` under its curve, its value at the `start`, `early` (the mean over
    the first tenth of the questions) or its `final` value. `p` is of this difference alone, `p_holm` corrected for all
    that were compared with it, `p_equivalent` that of the two one-sided tests. `unit` is what was counted as
    independent: "runs" (corrected) or "draws".
    """

    dataset: str
    first: str
    second: str
    metric: str
    part: str
    unit: str
    runs: int
    mean: float
    low: float
    high: float
    p: float
    p_equivalent: float
    p_holm: float = 1.0

    @property
    def outcome(self) -> str:
        """Return what the first is compared with the second; *superior* goes before *equivalent*."""
        if self.p < LEVEL:
            return SUPERIOR if self._good else INFERIOR
        return EQUIVALENT if self.p_equivalent < LEVEL else INCONCLUSIVE

    @property
    def better(self) -> bool:
        """Return whether the first is significantly better among all that were compared (Holm)."""
        return self._good and self.p_holm < LEVEL

    @property
    def worse(self) -> bool:
        """Return whether the first is significantly worse among all that were compared (Holm)."""
        return not self._good and self.p_holm < LEVEL

    @property
    def _good(self) -> bool:
        return self.mean < 0 if is_loss(self.metric) else self.mean > 0


def run_values(rows: pl.DataFrame, metric: str, part: str = "area") -> pl.DataFrame:
    """Return one value for every run, with columns strategy, dataset, seed, fold, value.

    The `area` is the mean over the points, which are equally spaced.
    """
    asked, last = pl.col("asked"), pl.col("asked").max().over(RUN)
    kept = {"area": pl.lit(True), "start": asked == 0, "early": asked <= EARLY * last, "final": asked == last}[part]
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
    rows: pl.DataFrame,
    metric: str,
    pairs: Sequence[tuple[str, str]],
    part: str = "area",
    margin: float = MARGIN,
    drawn: Collection[str] = (),
) -> list[Difference]:
    """Compare the first with the second of every pair of strategies on every data set.

    Parameters
    ----------
    rows : DataFrame
        Columns strategy, dataset, seed, fold, folds, asked and the metric.
    metric, part : str
        What is compared, see `Difference`.
    pairs : sequence of (str, str)
        Strategies.
    margin : float
        Differences that are smaller do not matter.
    drawn : collection of str
        Data sets of which every seed draws its own instances.
    """
    table = run_values(rows, metric, part).pivot("strategy", index=["dataset", "seed", "fold"], values="value")
    folds = int(rows["folds"][0])
    found = []
    for dataset in rows["dataset"].unique(maintain_order=True):
        values = table.filter(pl.col("dataset") == dataset)
        for first, second in pairs:
            gaps = values.select("seed", gap=pl.col(first) - pl.col(second)).drop_nulls()
            by_draw = gaps.group_by("seed", maintain_order=True).agg(pl.col("gap").mean())["gap"]
            if dataset in drawn and len(by_draw) > 1:
                unit, estimate = "draws", of_draws(by_draw.to_numpy())
            else:
                unit, estimate = "runs", of_runs(gaps["gap"].to_numpy(), folds)
            low, high = estimate.interval()
            found.append(
                Difference(
                    dataset, first, second, metric, part, unit, len(gaps), estimate.mean, low, high, estimate.p,
                    estimate.p_within(margin),
                )
            )  # fmt: skip
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


@dataclass(frozen=True)
class Ratio:
    """Questions of one strategy over those of another: the geometric mean over draws with its 95 % interval.

    The interval is the percentile bootstrap over draws. Infinite where the first did not reach the level in a draw;
    where the second did not, its last question counts, so that the ratio is rather too large than too small.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, first: Array, second: Array, seed: int = 0) -> "Ratio":
        """Return the ratio of questions, paired by draw; infinite entries of `first` were never reached.

        >>> ratio = Ratio.of(np.array([50.0, 50.0]), np.array([100.0, 100.0]))
        >>> [round(one, 6) for one in (ratio.low, ratio.mean, ratio.high)]
        [0.5, 0.5, 0.5]
        """
        logs = np.log(first) - np.log(second)
        chosen = np.random.default_rng(seed).integers(0, len(logs), size=(RESAMPLES, len(logs)))
        low, high = np.percentile(logs[chosen].mean(axis=1), [2.5, 97.5], method="nearest")
        return cls(*(float(np.exp(one)) for one in (logs.mean(), low, high)))


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
