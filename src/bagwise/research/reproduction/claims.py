"""The paper's seven claims, each with its evidence and the verdict that follows from it.

A claim says that *all* of some things are so, on every data set. Each of them is one piece of evidence, which speaks
*for* the claim, *against* it, or is *unclear*. The claim *held* where all speak for it (intersection-union: no
correction for their number), *did not hold* where one speaks against it, and is *inconclusive* otherwise.

That A beats B is tested on the area under the bag accuracy: *superior* speaks for it; *equivalent* (within ±.03) and
*inferior* speak against it (`statistics.Difference`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from bagwise.research.experiments import measures, systems
from bagwise.research.experiments.statistics import (
    EQUIVALENT,
    INCONCLUSIVE,
    INFERIOR,
    MARGIN,
    SUPERIOR,
    Difference,
    Ratio,
    compare_pairs,
)
from bagwise.research.reproduction.plan import (
    ANALYSES,
    DRAWN,
    MIML_AL,
    MIMLSVM_AL,
    ONLINE_BAG,
    REFITS,
)
from bagwise.research.reproduction.timing import Growth

PRIMARY = "bag_accuracy"
EGL, UNCERTAINTY = "expected_gradient_length · pair", "uncertainty · pair"
OURS = (EGL, UNCERTAINTY)
WHOLE_BAGS, BAG_THEN_CLASS, RANDOM = "uncertainty · bag", "uncertainty · bag_then_class", "random · pair"
OTHERS = (WHOLE_BAGS, BAG_THEN_CLASS, RANDOM)
RANDOM_BAGS = "random · bag"
"""A control, of which the paper says nothing."""
MARGINAL = "Bagwise, marginal likelihood"

CONVERGED = 0.01
LIKELY = 0.005
"""Log-likelihoods per label that differ by less are equivalent."""
NEARLY_ALL = 0.95
MUCH_EARLIER = 0.75
LINEAR = 1.1

TEXTS = {
    1: "All three updates converge; gd ends at the highest log-likelihood; bag accuracies are comparable.",
    2: "EGL and uncertainty pairs beat bag, bag-then-class and random selection.",
    3: "Both reach full-data performance much earlier than the rest.",
    4: "The paper's model with MIML-AL's selection beats MIML-AL at the start and throughout.",
    5: "It beats MIMLSVM-AL on the letters; on bird song MIMLSVM-AL leads first and is overtaken.",
    6: "The solution's norm stays within the bound τ of the paper's appendix.",
    7: "Selection costs O(Σ n_b C d) over the pool: at most linear in each.",
}
RULES = {
    1: f"converged: epochs 1100 to 1500 bring less than {CONVERGED:.0%} of the gain in log-likelihood; highest: "
    f"superior at the end (margin {LIKELY}); comparable: final accuracies equivalent within ±{MARGIN}",
    2: f"superior in the area under the bag accuracy; equivalent within ±{MARGIN} speaks against it",
    3: f"questions to {NEARLY_ALL:.0%} of the bag accuracy that the strategy has when every label is known, over those "
    f"of the other: the upper limit of the ratio is below {MUCH_EARLIER}; a lower limit above it speaks against it",
    4: "superior at query 0 and in the area under the bag accuracy",
    5: "letters: superior in the area under the bag accuracy; bird song: inferior in the first tenth of the questions, "
    "superior when every bag is labelled",
    6: "every fit to all labels of a training fold",
    7: f"slope of log time against log size, one thread, at most {LINEAR}",
}
SPEAKS = {SUPERIOR: "for", EQUIVALENT: "against", INFERIOR: "against", INCONCLUSIVE: "unclear"}
HELD, NOT_HELD = "held", "not held"


@dataclass(frozen=True)
class Evidence:
    """One measurement, with its difference or ratio where it is one."""

    dataset: str
    text: str
    speaks: str
    difference: Difference | None = field(default=None, repr=False)
    earlier: "Earlier | None" = field(default=None, repr=False)


@dataclass(frozen=True)
class Earlier:
    """The questions that one strategy needs over those of another."""

    first: str
    second: str
    ratio: Ratio


@dataclass(frozen=True)
class Finding:
    """A claim under one setting with its evidence."""

    number: int
    setting: str
    evidence: tuple[Evidence, ...] = field(repr=False)

    @property
    def datasets(self) -> list[str]:
        """Return the data sets that there is evidence from."""
        return list(dict.fromkeys(one.dataset for one in self.evidence))

    def count(self, speaks: str, dataset: str | None = None) -> int:
        """Return how many pieces of evidence are `speaks`."""
        return sum(one.speaks == speaks and dataset in (None, one.dataset) for one in self.evidence)

    def verdict(self, dataset: str | None = None) -> str:
        """Return *held*, *not held* or *inconclusive*, on one data set or on all."""
        if self.count("against", dataset):
            return NOT_HELD
        return INCONCLUSIVE if self.count("unclear", dataset) else HELD


Rows = dict[str, pl.DataFrame]


def judge(rows: Rows, growth: Sequence[Growth] = ()) -> list[Finding]:
    """Return a finding for every claim and setting whose analyses are among the `rows`, by claim."""
    return sorted(_findings(rows, growth), key=lambda one: one.number)


def _findings(rows: Rows, growth: Sequence[Growth]) -> Iterable[Finding]:
    of_experiment: dict[str, tuple[tuple[int, Callable[[pl.DataFrame], Iterable[Evidence]]], ...]] = {
        "E1": ((1, _updates),),
        "E2": ((2, _selections), (3, _queries)),
        "full data": ((6, _norms),),
    }
    for name, analysis in ANALYSES.items():
        if name in rows:
            for number, evidence in of_experiment.get(analysis.experiment, ()):
                yield Finding(number, analysis.title, tuple(evidence(rows[name])))
    if "E3a" in rows:
        for ours in (name for name in (REFITS, ONLINE_BAG) if name in rows):
            for system in MIML_AL:
                both = together(rows[ours].filter(pl.col("strategy") == BAG_THEN_CLASS), rows["E3a"])
                title = systems.get(system).title
                setting = f"{ANALYSES[ours].title}, against {_preset(title)}"
                yield Finding(4, setting, tuple(_against_miml_al(both, title)))
    if "E3b" in rows:
        for system in MIMLSVM_AL:
            title = systems.get(system).title
            setting = f"refits, against {_preset(title)}"
            yield Finding(5, setting, tuple(_against_mimlsvm_al(rows["E3b"], title)))
    if growth:
        yield Finding(7, "one thread", tuple(_growth(growth)))


def _preset(title: str) -> str:
    return title if "," in title else f"{title}, our preset"


def together(*rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of several analyses one below the other."""
    return pl.concat(rows, how="diagonal_relaxed")


def differences_of(
    rows: pl.DataFrame, metric: str, pairs: Sequence[tuple[str, str]], part: str = "area", margin: float = MARGIN
) -> list[Difference]:
    """Compare strategies with draws of letters as independent observations."""
    return compare_pairs(rows, metric, pairs, part, margin, DRAWN) if rows.height else []


def _compared(one: Difference, speaks: dict[str, str] = SPEAKS, note: str = "") -> Evidence:
    text = (
        f"{one.first} against {one.second}, {measures.title(one.metric)}{note}: {one.mean:+.3f} "
        f"({one.low:+.3f} to {one.high:+.3f}), {one.outcome}, {p_value(one.p)}"
    )
    return Evidence(one.dataset, text, speaks[one.outcome], one)


def p_value(p: float) -> str:
    """Return a p-value in words.

    >>> p_value(0.0123), p_value(1e-9)
    ('p = 0.0123', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


def _judged(good: bool) -> str:
    return "for" if good else "against"


def at_shared_epochs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at epochs that every run has: gradient descent may end at one of its own, or go on for longer."""
    run = pl.struct("dataset", "strategy", "seed", "fold")
    shown = rows.filter(pl.col("asked") <= pl.col("epochs"))
    return shown.filter(run.n_unique().over("asked") == shown.select(run.n_unique()).item())


def _updates(rows: pl.DataFrame) -> Iterable[Evidence]:
    shown = at_shared_epochs(rows)
    epochs = shown["asked"].unique().sort()
    before, last = int(epochs[-2]), int(epochs[-1])
    means = shown.group_by("dataset", "strategy", "asked", maintain_order=True).agg(pl.col("log_likelihood").mean())
    for dataset, strategy in means.select("dataset", "strategy").unique(maintain_order=True).iter_rows():
        curve = means.filter((pl.col("dataset") == dataset) & (pl.col("strategy") == strategy))
        at = dict(curve.select("asked", "log_likelihood").iter_rows())
        share = (at[last] - at[before]) / (at[last] - at[0])
        text = f"{strategy}: epochs {before} to {last} bring {share:.2%} of its gain in log-likelihood"
        yield Evidence(dataset, text, _judged(abs(share) < CONVERGED))
    pairs = [("gd", name) for name in rows["strategy"].unique(maintain_order=True) if name != "gd"]
    for one in differences_of(rows, "log_likelihood", pairs, "final", LIKELY):
        yield _compared(one, note=" at the end")
    for one in differences_of(rows, PRIMARY, pairs, "final"):
        # A difference may be certain and yet too small to matter.
        comparable = one.p_equivalent < 0.05
        far = not comparable and min(abs(one.low), abs(one.high)) > MARGIN and one.low * one.high > 0
        piece = _compared(one, note=" at the end")
        speaks = "for" if comparable else "against" if far else "unclear"
        yield Evidence(piece.dataset, piece.text, speaks, one)


def _selections(rows: pl.DataFrame) -> Iterable[Evidence]:
    for one in differences_of(rows, PRIMARY, [(ours, other) for ours in OURS for other in OTHERS]):
        yield _compared(one)


def questions_needed(rows: pl.DataFrame, share: float = NEARLY_ALL) -> pl.DataFrame:
    """Return the questions to a share of the accuracy with every label known, for every strategy and draw.

    Curve and level are means over the folds of a draw; `needed` is null where the level was not reached, and `most` the
    number of questions asked.
    """
    draw = ["dataset", "strategy", "seed"]
    means = rows.group_by(*draw, "asked", maintain_order=True).agg(
        pl.col(PRIMARY).mean(), (share * pl.col("exhausted_accuracy").mean()).alias("level")
    )
    step = means.filter(pl.col("asked") > 0)["asked"].min()
    reached = pl.col("asked").filter(pl.col(PRIMARY) >= pl.col("level")).min()
    # Before the first point on the grid nothing is known: a level reached at once counts as reached there.
    return means.group_by(draw, maintain_order=True).agg(
        pl.max_horizontal(reached, pl.when(reached.is_not_null()).then(pl.lit(step))).alias("needed"),
        pl.col("asked").max().alias("most"),
    )


def _queries(rows: pl.DataFrame) -> Iterable[Evidence]:
    needed = questions_needed(rows)
    for dataset in rows["dataset"].unique(maintain_order=True):
        here = needed.filter(pl.col("dataset") == dataset).sort("seed")
        of = {name: here.filter(pl.col("strategy") == name) for name in (*OURS, *OTHERS)}
        for ours in OURS:
            mine = of[ours]["needed"].cast(pl.Float64).fill_null(np.inf).to_numpy()
            for other in OTHERS:
                theirs = of[other]["needed"].fill_null(of[other]["most"]).to_numpy()
                ratio = Ratio.of(mine, theirs.astype(float))
                medians = (_median(of[ours]), _median(of[other]))
                text = (
                    f"{ours} against {other}: ratio {ratio.mean:.2f} ({ratio.low:.2f} to {ratio.high:.2f}); "
                    f"median questions {medians[0]} against {medians[1]}"
                )
                early, late = ratio.high < MUCH_EARLIER, ratio.low > MUCH_EARLIER
                # Of one draw nothing can be said.
                decided = len(mine) > 1 and (early or late)
                speaks = _judged(early) if decided else "unclear"
                yield Evidence(dataset, text, speaks, earlier=Earlier(ours, other, ratio))


def _median(needed: pl.DataFrame) -> str:
    middle = float(np.median(needed["needed"].cast(pl.Float64).fill_null(np.inf).to_numpy()))
    return f"{middle:.0f}" if np.isfinite(middle) else f"more than {int(needed['most'].to_numpy().max())}"


def _against_miml_al(rows: pl.DataFrame, title: str) -> Iterable[Evidence]:
    for part, note in (("start", " at query 0"), ("area", "")):
        for one in differences_of(rows, PRIMARY, [(BAG_THEN_CLASS, title)], part):
            yield _compared(one, note=note)


def _against_mimlsvm_al(rows: pl.DataFrame, title: str) -> Iterable[Evidence]:
    letters = pl.col("dataset").is_in(DRAWN)
    pair = [(WHOLE_BAGS, title)]
    for one in differences_of(rows.filter(letters), PRIMARY, pair):
        yield _compared(one)
    behind = {**SPEAKS, SUPERIOR: "against", INFERIOR: "for"}
    for one in differences_of(rows.filter(~letters), PRIMARY, pair, "early"):
        yield _compared(one, behind, " in the first tenth")
    for one in differences_of(rows.filter(~letters), PRIMARY, pair, "final"):
        yield _compared(one, note=" at the end")


def _norms(full_data: pl.DataFrame) -> Iterable[Evidence]:
    ours = full_data.filter(pl.col("strategy").str.starts_with(MARGINAL))
    share = ours.group_by("dataset", maintain_order=True).agg(
        (pl.col("weights_norm") / pl.col("norm_bound")).max(), pl.len()
    )
    for dataset, largest, count in share.iter_rows():
        yield Evidence(dataset, f"largest norm over its bound in {count} fits: {largest:.3f}", _judged(largest <= 1))


def _growth(growth: Sequence[Growth]) -> Iterable[Evidence]:
    for one in growth:
        text = f"{one.criterion}, {one.size} from {one.sizes[0]} to {one.sizes[-1]}: slope {one.slope:.2f}"
        yield Evidence("drawn pools", text, _judged(one.slope <= LINEAR))
