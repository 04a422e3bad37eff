"""What else was tried where features are embeddings: other criteria and other first questions, from nothing.

    python benchmarks/embedded_criteria.py [--sets manuals soundscapes scenes] [--seeds 7 11] [--folds 3] [--arms ...]

Every arm runs on the same folds, of five, with the same model as the default; the figure is the area under the curve of
held-out bag accuracy over 300 questions, with the difference to the default and its standard error over the folds. A
fifth of the bags is held out, not a tenth as in `bagwise compare --suite embedded`: differences are seen sooner.
Without --arms, all of `TRIED` are run on their sets, and the figures written to --out and to docs/criteria.md.
"""

import argparse
import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import tried
from marked import rewrite, table
from rich.progress import Progress

from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.learning import active_search, criteria
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.learner import ActiveLearner
from bagwise.research.experiments import systems
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation
from bagwise.research.experiments.statistics import run_values

ROOT = Path(__file__).parents[1]
FOLDS, QUESTIONS, EVERY = 5, 300, 25
POINTS = (25, 50, 75, 100, 150, 200, 300)
DEFAULT, RANDOM = "default", "random"
USUAL = "widening_uncertainty"
METRIC = "bag_accuracy"


@dataclass(frozen=True)
class FirstBy(ColdStart):
    """A cold start whose first questions, so many for each class, are chosen by a criterion."""

    first: str = USUAL
    until: int = 6

    def criterion(self, pool, _discover):
        """Return the criterion while few labels are known."""
        few = pool.label_counts.n_known < self.until * pool.shape[1]
        return criteria.get(self.first) if few else None


@dataclass(frozen=True)
class MoreLikeFound(ColdStart):
    """The usual cold start, in which some questions are about the likeliest bag of a class that was found once."""

    wanted: int = 3
    every: int = 2

    def criterion(self, pool, discover):
        """Return what scores pairs of classes with a yes, else the usual criterion."""
        counts = pool.label_counts
        found = (counts.present > 0) & (counts.present < self.wanted)
        if counts.n_known % self.every == self.every - 1 and found.any():
            return partial(active_search.scores, classes=found)
        return super().criterion(pool, discover)


ARMS = {
    DEFAULT: (USUAL, ColdStart(3, 6)),
    RANDOM: ("random", None),
    "EPIG": ("predictive_information_gain", None),
    "EPIG after the cold start": ("predictive_information_gain", ColdStart(3, 6)),
    "A-optimal": ("a_optimal", None),
    "A-optimal after the cold start": ("a_optimal", ColdStart(3, 6)),
    "farthest mismatch for the first 6C": (USUAL, FirstBy(first="farthest_mismatch")),
    "most likely first around a positive": (USUAL, MoreLikeFound(3, 6)),
    "the same to 5": (USUAL, MoreLikeFound(3, 6, wanted=5)),
    "the same to 5, every question": (USUAL, MoreLikeFound(3, 6, wanted=5, every=1)),
    "the same to 5, then A-optimal": ("a_optimal", MoreLikeFound(3, 6, wanted=5)),
}
"""Criterion and cold start, by the title that runs on disk have."""
WHAT = {
    DEFAULT: ("the default", "widening uncertainty after a cold start of 3 and 6 labels per class"),
    RANDOM: ("random pairs", "the yardstick"),
    "EPIG": ("`predictive_information_gain`", "what an answer tells of other answers (EPIG), no cold start"),
    "EPIG after the cold start": ("the same", "after the cold start"),
    "A-optimal": ("`a_optimal`", "by how much it lowers the variance of predictions, no cold start"),
    "A-optimal after the cold start": ("the same", "after the cold start"),
    "farthest mismatch for the first 6C": (
        "`farthest_mismatch`",
        "for the first 6 questions per class: where model and nearest labelled bag disagree, far from labelled bags",
    ),
    "most likely first around a positive": (
        "most likely first",
        "every second question about the likeliest bag of a class with a yes, until it has 3",
    ),
    "the same to 5": ("the same", "until it has 5"),
    "the same to 5, every question": ("the same", "until it has 5, with every question"),
    "the same to 5, then A-optimal": ("the same", "until it has 5, then `a_optimal`"),
}
ON_SCENES = (DEFAULT, RANDOM, "the same to 5")
TRIED = {"manuals": tuple(ARMS), "soundscapes": tuple(ARMS)[:-2], "scenes": ON_SCENES}


def register():
    """Let simulations find criteria by their names, and cold starts by that of the arm."""
    criteria.available().update(tried.available())
    for arm, (_, cold_start) in ARMS.items():
        systems.SYSTEMS[arm] = replace(systems.get("bagwise"), title=arm, learner=_with(cold_start))


def _with(cold_start):
    def learner(data, labels, model, how, seed):
        given = (data.bags, data.classes, labels, model, how.criterion, how.granularity, how.update, how.audit, seed)
        return ActiveLearner(*given, cold_start=cold_start or False)

    return learner


def simulation(dataset, arm, seed, fold):
    """Return one run of an arm."""
    return Simulation(
        dataset,
        criterion=ARMS[arm][0],
        system=arm,
        update="replay",
        audit=0.0 if arm == RANDOM else 0.1,
        initial=0.0,
        queries=QUESTIONS,
        evaluate_every=EVERY,
        folds=FOLDS,
        fold=fold,
        seed=seed,
        title=arm,
    )


def figures(rows):
    """Return area, difference to the default and curve of every arm."""
    areas = run_values(rows, METRIC).pivot("strategy", index=["seed", "fold"], values="value").drop_nulls()
    found = {}
    for arm in areas.columns[2:]:
        gap = (areas[arm] - areas[DEFAULT]).to_numpy()
        curve = rows.filter(strategy=arm).group_by("asked").agg(pl.col(METRIC).mean())
        found[arm] = {
            "area": round(float(areas[arm].mean()), 3),
            "above default": round(float(gap.mean()), 3),
            "standard error": round(float(gap.std(ddof=1) / np.sqrt(len(gap))), 3),
            "runs": len(gap),
            "curve": {point: round(curve.filter(asked=point)[METRIC].item(), 3) for point in POINTS},
        }
    return found


def table_of(report):
    """Return the table of docs/criteria.md; a difference of more than two standard errors is bold."""
    rows = [
        [*WHAT[arm], *(cell(found[arm], arm) if arm in found else "" for found in report.values())]
        for arm in dict.fromkeys(arm for found in report.values() for arm in found)
    ]
    return table(["tried", "what it is", *report], rows)


def cell(found, arm):
    """The area, and by how much it is above the default."""
    if arm == DEFAULT:
        return f"{found['area']:.3f}"
    gap, error = found["above default"], found["standard error"]
    text = f"{gap:+.3f} ± {error:.3f}"
    return f"{found['area']:.3f} (**{text}**)" if abs(gap) > 2 * error else f"{found['area']:.3f} ({text})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(TRIED))
    parser.add_argument("--seeds", nargs="+", type=int, default=[7, 11])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=ARMS)
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "embedded")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "embedded_criteria.json")
    given = parser.parse_args()
    use_one_thread()
    register()
    arms = {name: dict.fromkeys([DEFAULT, *(given.arms or TRIED[name])]) for name in given.sets}
    report = {}
    with Progress() as progress:
        runs = sum(map(len, arms.values())) * len(given.seeds) * given.folds
        task = progress.add_task("simulating", total=runs * QUESTIONS)
        for name in given.sets:
            plan = [
                simulation(name, arm, seed, fold)
                for seed in given.seeds
                for fold in range(given.folds)
                for arm in arms[name]
            ]
            rows = run_all(plan, given.runs, lambda steps: progress.advance(task, steps), one_by_one=True)
            report[name] = figures(rows)
    print(json.dumps(report, indent=1))
    if not given.arms:
        given.out.write_text(json.dumps({"seeds": given.seeds, "folds": given.folds, **report}, indent=1) + "\n")
        rewrite(ROOT / "docs" / "criteria.md", {"embedded": table_of(report)})


if __name__ == "__main__":
    main()
