"""Criteria that were tried against balanced uncertainty, on folds that nothing else has used.

    python benchmarks/criteria.py [--runs results/criteria] [--out benchmarks/results/criteria.json]

A twentieth of the bags is labelled at the start, then questions are asked one by one, a tenth of them audits. Expensive
criteria get fewer folds and questions and are compared on those; the one that looked best is run again on the folds
that were left. Writes the figures to --out and the tables of docs/criteria.md. About fifteen minutes of one core; it
resumes where it was interrupted.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import tried
from marked import rewrite, table
from rich.progress import Progress
from tried._bandit import BanditLearner

from bagwise import MIMLClassifier, datasets
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.learning import criteria
from bagwise.research.experiments import systems
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation, first_labelled, split
from bagwise.research.experiments.statistics import compare_pairs, run_values

ROOT = Path(__file__).parents[1]
DATASETS = ("carroll", "frost", "hja", "birds", "digits", "rare")
SEED, FOLDS, EVERY = 202, 10, 25
BASELINE = "balanced_uncertainty"
BANDIT = "bandit"
YARDSTICK = "random"
NEEDED_SETS = 2
TIMED_ON, TIMES = "hja", 5


@dataclass(frozen=True)
class Stage:
    """What is compared with the baseline, on which folds of `FOLDS`, over how many questions."""

    arms: tuple[str, ...]
    folds: range
    queries: int


STAGES = {
    "usual": Stage(
        (
            "own_gradient_length",
            "balanced_own_gradient_length",
            "block_information_gain",
            "balanced_block_information_gain",
            BANDIT,
            YARDSTICK,
        ),
        range(5),
        500,
    ),
    "dear": Stage(("committee", "balanced_committee", "expected_error_reduction"), range(3), 300),
    "again": Stage(("expected_error_reduction",), range(5, 10), 500),
}
FORMULAS = {
    "own_gradient_length": "expected gradient length by the weights of the asked class alone",
    "balanced_own_gradient_length": "the same over √(1 + questions spent on the class)",
    "block_information_gain": "information gain with one Fisher matrix per class",
    "balanced_block_information_gain": "the same over √(1 + questions spent on the class)",
    BANDIT: "EXP3 over balanced uncertainty, both balanced forms above and random, paid when "
    "audit answers are foreseen better",
    YARDSTICK: "pairs at random, to see how large a difference is",
    "committee": "mutual information of 5 members, 4 L-BFGS iterations each on bootstrap samples of the labelled bags",
    "balanced_committee": "the same over √(1 + questions spent on the class)",
    "expected_error_reduction": "of the 15 best pairs of balanced uncertainty, the one after whose answer the fewest "
    "errors are expected in 100 bags, one Fisher step per answer",
}


def register():
    """Let simulations find what was tried by its name."""
    criteria.available().update(tried.available())
    systems.SYSTEMS[BANDIT] = replace(systems.get("bagwise"), title="Bandit", learner=_bandit)


def _bandit(data, labels, model, how, seed):
    same = model.set_params(random_state=SEED)
    given = (data.bags, data.classes, labels, same, how.criterion, how.granularity, how.update, how.audit, seed)
    return BanditLearner(*given)


def simulation(dataset, arm, fold, queries):
    how = {"system": BANDIT} if arm == BANDIT else {"criterion": arm}
    return Simulation(
        dataset,
        update="replay",
        queries=queries,
        evaluate_every=EVERY,
        folds=FOLDS,
        fold=fold,
        seed=SEED,
        title=arm,
        **how,
    )


def run(runs):
    stages = sorted(STAGES.values(), key=lambda stage: stage.queries)
    longest = {fold: stage.queries for stage in stages for fold in stage.folds}
    plan = [simulation(dataset, BASELINE, fold, longest[fold]) for dataset in DATASETS for fold in longest]
    plan += [
        simulation(dataset, arm, fold, stage.queries)
        for stage in stages
        for arm in stage.arms
        for dataset in DATASETS
        for fold in stage.folds
    ]
    with Progress() as bar:
        task = bar.add_task("simulating", total=sum(one.steps for one in plan))
        return run_all(plan, runs, lambda steps: bar.advance(task, steps))


@cache
def seconds(name):
    """Median CPU time of scoring all pairs of one data set once, with a third of its labels known."""
    training, _ = split(datasets.load(TIMED_ON, SEED), FOLDS, 0, SEED)
    labelled = first_labelled(training.labels, 1 / 3, SEED)
    known = training.labels.hide(np.setdiff1d(np.arange(len(training.bags)), labelled))
    model = MIMLClassifier(transformer=training.transformer).fit(training.bags, known)
    spent = []
    for _ in range(TIMES + 1):
        pool = model.pool(training.bags, known)
        start = time.process_time()
        criteria.get(name)(pool)
        spent.append(time.process_time() - start)
    return float(np.median(spent[1:]))


def compared(rows, arm, stage):
    """The arm against the baseline on every data set."""
    same = rows.filter(
        pl.col("strategy").is_in([arm, BASELINE])
        & pl.col("fold").is_in(list(stage.folds))
        & (pl.col("asked") <= stage.queries)
    )
    areas = run_values(same, "bag_accuracy").pivot("strategy", index=["dataset", "fold"], values="value")
    found = []
    for difference in compare_pairs(same, "bag_accuracy", [(arm, BASELINE)]):
        here = areas.filter(pl.col("dataset") == difference.dataset)
        means = {"area": here[arm].mean(), "baseline_area": here[BASELINE].mean()}
        found.append({**asdict(difference), **means})
    return found


def summary(rows, arm, stage):
    """What is said of an arm."""
    found = compared(rows, arm, stage)
    told = "yardstick" if arm == YARDSTICK else verdict(found)
    return {"seconds": None if arm == BANDIT else seconds(arm), "verdict": told, "differences": found}


def verdict(found):
    """Kept where clearly better on two sets and clearly worse on none."""
    better = [one["dataset"] for one in found if one["low"] > 0]
    worse = [one["dataset"] for one in found if one["high"] < 0]
    told = "kept" if len(better) >= NEEDED_SETS and not worse else "not kept"
    reasons = [f"better on {', '.join(better)}"] * bool(better) + [f"worse on {', '.join(worse)}"] * bool(worse)
    return f"{told}: {'; '.join(reasons) or 'no clear difference'}"


def compared_table(report):
    head = ["criterion", "what it is", "ms", *DATASETS, "mean", "verdict"]
    areas = [gap["baseline_area"] for gap in next(iter(report.values()))["differences"]]
    first = [f"`{BASELINE}`", "its areas", f"{seconds(BASELINE) * 1000:.1f}", *(f"{area:.3f}" for area in areas)]
    rows = [[*first, f"{np.mean(areas):.3f}", ""]]
    for name, one in report.items():
        mean = f"{np.mean([gap['mean'] for gap in one['differences']]):+.3f}"
        cost = "" if one["seconds"] is None else f"{one['seconds'] * 1000:.1f}"
        cells = [cell(gap) for gap in one["differences"]]
        rows.append([f"`{name}`", FORMULAS[name], cost, *cells, mean, one["verdict"]])
    return table(head, rows)


def cell(gap):
    """The difference and half its interval; bold where that excludes 0."""
    text = f"{gap['mean']:+.3f} ± {(gap['high'] - gap['low']) / 2:.3f}"
    return f"**{text}**" if gap["low"] > 0 or gap["high"] < 0 else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "criteria")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "criteria.json")
    options = parser.parse_args()
    use_one_thread()
    register()
    rows = run(options.runs)
    report = {name: {arm: summary(rows, arm, stage) for arm in stage.arms} for name, stage in STAGES.items()}
    baseline = {"baseline": BASELINE, "baseline_seconds": seconds(BASELINE)}
    options.out.write_text(json.dumps({"seed": SEED, **baseline, **report}, indent=1) + "\n")
    rewrite(ROOT / "docs" / "criteria.md", {name: compared_table(found) for name, found in report.items()})


if __name__ == "__main__":
    main()
