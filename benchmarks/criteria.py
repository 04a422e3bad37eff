"""Criteria that were tried against balanced uncertainty, on folds that nothing else has used.

    python benchmarks/criteria.py [--runs results/criteria] [--out benchmarks/results/criteria.json]

A twentieth of the bags is labelled at the start, then questions are asked one by one, a tenth of them audits. Dear
criteria get fewer folds and questions and are compared on those. Writes the figures to --out and the table of
docs/criteria.md. About ten minutes of one core; it resumes where it was interrupted.
"""

import argparse
import json
import re
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import tried
from rich.progress import Progress
from scipy.stats import t as student
from tried._bandit import BanditLearner

from bagwise import MIMLClassifier, criteria, datasets
from bagwise.experiments import systems
from bagwise.experiments.runner import run_all
from bagwise.experiments.simulation import Simulation, first_labelled, split
from bagwise.experiments.statistics import compare_pairs, run_values
from bagwise.kernels.blocks import use_one_thread

ROOT = Path(__file__).parents[1]
DATASETS = ("carroll", "frost", "hja", "birds", "digits", "rare")
SEED, FOLDS, EVERY = 202, 10, 25
BASELINE = "balanced_uncertainty"
BANDIT = "bandit"
YARDSTICK = "random"
NEEDED_SETS = 2
TIMED_ON, TIMES = "hja", 5


@dataclass(frozen=True)
class Size:
    """Folds that are run, of `FOLDS`, and questions of each."""

    folds: int
    queries: int


USUAL, DEAR = Size(5, 500), Size(3, 300)
ARMS = {
    "own_gradient_length": USUAL,
    "balanced_own_gradient_length": USUAL,
    "block_information_gain": USUAL,
    "balanced_block_information_gain": USUAL,
    BANDIT: USUAL,
    YARDSTICK: USUAL,
    "committee": DEAR,
    "balanced_committee": DEAR,
    "expected_error_reduction": DEAR,
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
    arms = {BASELINE: USUAL} | ARMS
    plan = [
        simulation(dataset, arm, fold, size.queries)
        for arm, size in arms.items()
        for dataset in DATASETS
        for fold in range(size.folds)
    ]
    with Progress() as bar:
        task = bar.add_task("simulating", total=sum(one.steps for one in plan))
        return run_all(plan, runs, lambda steps: bar.advance(task, steps))


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


def compared(rows, arm):
    """The arm against the baseline on every data set, as far as the arm was run."""
    size = ARMS[arm]
    same = rows.filter(
        pl.col("strategy").is_in([arm, BASELINE]) & (pl.col("fold") < size.folds) & (pl.col("asked") <= size.queries)
    )
    areas = run_values(same, "bag_accuracy").pivot("strategy", index=["dataset", "fold"], values="value")
    found = []
    for difference in compare_pairs(same, "bag_accuracy", [(arm, BASELINE)]):
        here = areas.filter(pl.col("dataset") == difference.dataset)
        low, high = interval((here[arm] - here[BASELINE]).to_numpy())
        bootstrap = {"bootstrap_low": difference.low, "bootstrap_high": difference.high}
        means = {"area": here[arm].mean(), "baseline_area": here[BASELINE].mean()}
        found.append({**asdict(difference), **bootstrap, "low": low, "high": high, **means})
    return found


def interval(gaps):
    """95 % Student interval, widened for folds that share their training bags: a bootstrap of 3 or 5 is too narrow."""
    half = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) * np.sqrt(1 / len(gaps) + 1 / (FOLDS - 1))
    return float(gaps.mean() - half), float(gaps.mean() + half)


def summary(rows, arm):
    """What is said of an arm."""
    found = compared(rows, arm)
    told = "yardstick" if arm == YARDSTICK else verdict(found)
    cost = None if arm == BANDIT else seconds(arm)
    return {**asdict(ARMS[arm]), "seconds": cost, "verdict": told, "differences": found}


def verdict(found):
    """Kept where clearly better on two sets and clearly worse on none."""
    better = [one["dataset"] for one in found if one["low"] > 0]
    worse = [one["dataset"] for one in found if one["high"] < 0]
    told = "kept" if len(better) >= NEEDED_SETS and not worse else "not kept"
    reasons = [f"better on {', '.join(better)}"] * bool(better) + [f"worse on {', '.join(worse)}"] * bool(worse)
    return f"{told}: {'; '.join(reasons) or 'no clear difference'}"


def table(report, size, baseline_seconds):
    head = ["criterion", "what it is", "ms", *DATASETS, "mean", "verdict"]
    shown = {name: one for name, one in report.items() if ARMS[name] == size}
    areas = [gap["baseline_area"] for gap in next(iter(shown.values()))["differences"]]
    first = [f"`{BASELINE}`", "its areas", f"{baseline_seconds * 1000:.1f}", *(f"{area:.3f}" for area in areas)]
    lines = [head, ["---"] * len(head), [*first, f"{np.mean(areas):.3f}", ""]]
    for name, one in shown.items():
        mean = f"{np.mean([gap['mean'] for gap in one['differences']]):+.3f}"
        cost = "" if one["seconds"] is None else f"{one['seconds'] * 1000:.1f}"
        cells = [cell(gap) for gap in one["differences"]]
        lines.append([f"`{name}`", FORMULAS[name], cost, *cells, mean, one["verdict"]])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(gap):
    """The difference and half its interval; bold where that excludes 0."""
    text = f"{gap['mean']:+.3f} ± {(gap['high'] - gap['low']) / 2:.3f}"
    return f"**{text}**" if gap["low"] > 0 or gap["high"] < 0 else text


def write_page(tables):
    page = ROOT / "docs" / "criteria.md"
    text = page.read_text()
    for name, content in tables.items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{content}\n\g<2>", text, flags=re.DOTALL)
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "criteria")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "criteria.json")
    options = parser.parse_args()
    use_one_thread()
    register()
    rows = run(options.runs)
    report = {arm: summary(rows, arm) for arm in ARMS}
    baseline = {"baseline": BASELINE, "baseline_seconds": seconds(BASELINE)}
    options.out.write_text(json.dumps({"seed": SEED, **baseline, "tried": report}, indent=1) + "\n")
    sizes = {"usual": USUAL, "dear": DEAR}
    write_page({name: table(report, size, baseline["baseline_seconds"]) for name, size in sizes.items()})


if __name__ == "__main__":
    main()
