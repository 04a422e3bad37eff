"""The paper's seven claims, each with its evidence and the verdict that follows from it.

Every piece of evidence is *for* its claim, *against* it, or *unclear* (too small to tell on these folds). A
claim *held* when all of it speaks for it and *partly* when at least as much speaks for it as against it; *not held*
when more speaks against it; *undecided* when all of it is unclear.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from bagwise.research.experiments import measures
from bagwise.research.experiments.statistics import Difference, compare_pairs, queries_to, run_values
from bagwise.research.reproduction.timing import Growth

EGL, UNCERTAINTY = "expected_gradient_length · pair", "uncertainty · pair"
OURS = (EGL, UNCERTAINTY)
OTHERS = ("uncertainty · bag", "uncertainty · bag_then_class", "random · pair")
WHOLE_BAGS = "uncertainty · bag"
MIML_AL, MIMLSVM_AL = "MIML-AL", "MIMLSVM-AL"
MARGINAL = "Bagwise, marginal likelihood"
E2_METRICS = ("bag_accuracy", "average_precision", "hamming_loss", "one_error")
E3_METRICS = ("bag_accuracy", "hamming_loss")

OF_SELECTION = (2, 3)
CONVERGED = 0.01
COMPARABLE = 0.03
LEVELS = (0.90, 0.95)
MUCH_EARLIER = 2 / 3
LINEAR = 1.1

TEXTS = {
    1: "All three updates converge; gd ends at the highest log-likelihood; bag accuracies are comparable.",
    2: "EGL and uncertainty pairs beat bag, bag-then-class and random selection on all data sets and four metrics.",
    3: "Both reach full-data performance much earlier than the rest.",
    4: "The paper's system beats MIML-AL at the start and throughout, on all data sets.",
    5: "It beats MIMLSVM-AL on the letters; on bird song MIMLSVM-AL leads first and is overtaken.",
    6: "The solution's norm stays within the bound τ of the paper's appendix.",
    7: "Selection costs O(Σ n_b C d) over the pool: at most linear in each.",
}
RULES = {
    1: f"converged: the last part of the epochs brings less than {CONVERGED:.0%} of the whole gain; comparable: final "
    f"accuracies differ by at most {COMPARABLE}",
    2: "area under the curve, paired over folds, Holm-corrected within each metric",
    3: f"at most {MUCH_EARLIER:.0%} of the questions to {LEVELS[-1]:.0%} of the bag accuracy with all labels",
    4: "first tenth of the questions and area under the curve, paired over folds, Holm-corrected within each metric",
    5: "area under the curve; on bird song the first tenth and the last point; paired over folds, Holm-corrected",
    6: "every fold, at the minimum of the objective with the tuned penalty",
    7: f"slope of log time against log size, one thread, at most {LINEAR}",
}


@dataclass(frozen=True)
class Evidence:
    """One measurement; `leans` is whether it points the claim's way, significantly or not."""

    dataset: str
    text: str
    speaks: str
    leans: bool


@dataclass(frozen=True)
class Finding:
    """A claim with its evidence."""

    number: int
    evidence: tuple[Evidence, ...] = field(repr=False)

    def count(self, speaks: str, dataset: str | None = None) -> int:
        """Return how many pieces of evidence are `speaks`."""
        return sum(one.speaks == speaks and dataset in (None, one.dataset) for one in self.evidence)

    @property
    def leaning(self) -> int:
        """Return how many pieces point the claim's way, however little."""
        return sum(one.leans for one in self.evidence)

    @property
    def verdict(self) -> str:
        """Return *held*, *partly*, *not held* or, if all evidence is unclear, *undecided*."""
        if self.count("unclear") == len(self.evidence):
            return "undecided"
        if self.count("for") == len(self.evidence):
            return "held"
        return "partly" if self.count("for") >= self.count("against") else "not held"

    @property
    def closest(self) -> str:
        """Return the data set on which most of the evidence is for the claim, or at least points its way."""

        def share(name: str) -> tuple[float, float]:
            here = [one for one in self.evidence if one.dataset == name]
            return sum(one.speaks == "for" for one in here) / len(here), sum(one.leans for one in here) / len(here)

        return max(dict.fromkeys(one.dataset for one in self.evidence), key=share)


Rows = dict[str, pl.DataFrame]


def judge(rows: Rows, growth: Sequence[Growth]) -> list[Finding]:
    """Return a finding for every claim whose experiment is among the `rows` (of one model)."""
    needs: dict[int, tuple[tuple[str, ...], Callable[[], Iterable[Evidence]]]] = {
        1: (("E1",), lambda: _updates(rows["E1"])),
        2: (("E2",), lambda: _selections(rows["E2"])),
        3: (("E2", "full data"), lambda: _queries(rows["E2"], rows["full data"])),
        4: (("E3a",), lambda: _against_miml_al(rows["E3a"])),
        5: (("E3b",), lambda: _against_mimlsvm_al(rows["E3b"])),
        6: (("full data",), lambda: _norms(rows["full data"])),
        7: ((), lambda: _growth(growth)),
    }
    found = []
    for number, (experiments, evidence) in needs.items():
        if all(name in rows for name in experiments) and (number != 7 or growth):
            found.append(Finding(number, tuple(evidence())))
    return found


def full_data_levels(full_data: pl.DataFrame, metric: str = "bag_accuracy") -> dict[str, float]:
    """Return the metric on each data set with every label of the training folds known."""
    ours = full_data.filter((pl.col("strategy") == MARGINAL) & (pl.col("seed") == pl.col("seed").min()))
    means = ours.group_by("dataset", maintain_order=True).agg(pl.col(metric).mean())
    return dict(means.iter_rows())


def _good(one: Difference) -> bool:
    return one.mean < 0 if measures.is_loss(one.metric) else one.mean > 0


def _of(one: Difference, note: str = "") -> Evidence:
    """The first of the pair is claimed to be better."""
    return Evidence(one.dataset, _paired(one, note), _spoken(one.better, one.worse), _good(one))


def _against(one: Difference, note: str = "") -> Evidence:
    """The first of the pair is claimed to be worse."""
    return Evidence(one.dataset, _paired(one, note), _spoken(one.worse, one.better), not _good(one))


def _spoken(better: bool, worse: bool) -> str:
    return "for" if better else "against" if worse else "unclear"


def _paired(one: Difference, note: str = "") -> str:
    return (
        f"{one.first} against {one.second}, {measures.title(one.metric)}{note}: "
        f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f}), p = {one.p:.4f}"
    )


def _updates(rows: pl.DataFrame) -> Iterable[Evidence]:
    epochs = rows["asked"].unique().sort()
    before, last = int(epochs[-2]), int(epochs[-1])
    means = rows.group_by("dataset", "strategy", "asked", maintain_order=True).agg(pl.col("log_likelihood").mean())
    for dataset, strategy in means.select("dataset", "strategy").unique(maintain_order=True).iter_rows():
        curve = means.filter((pl.col("dataset") == dataset) & (pl.col("strategy") == strategy))
        at = dict(curve.select("asked", "log_likelihood").iter_rows())
        share = (at[last] - at[before]) / (at[last] - at[0])
        text = f"{strategy}: epochs {before} to {last} bring {share:.2%} of its gain in log-likelihood"
        yield Evidence(dataset, text, _spoken(abs(share) < CONVERGED, True), abs(share) < CONVERGED)
    others = [(name, "gd") for name in rows["strategy"].unique(maintain_order=True) if name != "gd"]
    for one in compare_pairs(rows, "log_likelihood", others, "final"):
        yield _against(one, " at the end")
    for one in compare_pairs(rows, "bag_accuracy", others, "final"):
        far = abs(one.mean) > COMPARABLE
        spoken = _spoken(not far, far and (one.better or one.worse))
        yield Evidence(one.dataset, _paired(one, " at the end"), spoken, not far)


def _selections(rows: pl.DataFrame) -> Iterable[Evidence]:
    for metric in E2_METRICS:
        for one in compare_pairs(rows, metric, [(ours, other) for ours in OURS for other in OTHERS]):
            yield _of(one)


def _queries(rows: pl.DataFrame, full_data: pl.DataFrame) -> Iterable[Evidence]:
    for dataset, full in full_data_levels(full_data).items():
        needed = queries_to(rows.filter(pl.col("dataset") == dataset), "bag_accuracy", LEVELS[-1] * full)
        most = int(rows["asked"].to_numpy().max())
        for ours in OURS:
            for other in OTHERS:
                text = f"{ours}: {_times(needed[ours], most)}; {other}: {_times(needed[other], most)}"
                mine, theirs = needed[ours], needed[other]
                earlier = mine is not None and mine <= MUCH_EARLIER * (most + 1 if theirs is None else theirs)
                later = theirs is not None and (mine is None or mine >= theirs)
                ahead = mine is not None and (theirs is None or mine < theirs)
                yield Evidence(dataset, text, _spoken(earlier, later), ahead)


def _times(queries: int | None, most: int) -> str:
    return f"more than {most}" if queries is None else str(queries)


def _against_miml_al(rows: pl.DataFrame) -> Iterable[Evidence]:
    for part, note in (("start", " in the first tenth"), ("area", "")):
        for metric in E3_METRICS:
            for one in compare_pairs(rows, metric, [(ours, MIML_AL) for ours in OURS], part):
                yield _of(one, note)


def _against_mimlsvm_al(rows: pl.DataFrame) -> Iterable[Evidence]:
    letters = pl.col("dataset").is_in(["carroll", "frost"])
    pair = [(WHOLE_BAGS, MIMLSVM_AL)]
    for metric in E3_METRICS:
        for one in compare_pairs(rows.filter(letters), metric, pair) if rows.filter(letters).height else []:
            yield _of(one)
        if rows.filter(~letters).height:
            for one in compare_pairs(rows.filter(~letters), metric, pair, "start"):
                yield _against(one, " in the first tenth")
            for one in compare_pairs(rows.filter(~letters), metric, pair, "final"):
                yield _of(one, " at the end")


def _norms(full_data: pl.DataFrame) -> Iterable[Evidence]:
    ours = full_data.filter(pl.col("strategy") == MARGINAL)
    share = ours.group_by("dataset", maintain_order=True).agg(
        (pl.col("weights_norm") / pl.col("norm_bound")).max(), pl.len()
    )
    for dataset, largest, count in share.iter_rows():
        text = f"largest norm over its bound in {count} fits: {largest:.3f}"
        yield Evidence(dataset, text, _spoken(largest <= 1, largest > 1), largest <= 1)


def _growth(growth: Sequence[Growth]) -> Iterable[Evidence]:
    for one in growth:
        text = f"{one.criterion}, {one.size} from {one.sizes[0]} to {one.sizes[-1]}: slope {one.slope:.2f}"
        yield Evidence("drawn pools", text, _spoken(one.slope <= LINEAR, one.slope > LINEAR), one.slope <= LINEAR)


def area_table(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the mean area under the curve of every strategy on every data set."""
    values = run_values(rows, metric)
    return (
        values.group_by("strategy", "dataset", maintain_order=True)
        .agg(pl.col("value").mean())
        .pivot("dataset", index="strategy", values="value")
    )
