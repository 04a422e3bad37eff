"""What keeps the intervals of the estimated quality wide, measured on simulated projects.

    python benchmarks/coverage.py --seed 7000 --projects 40 --out build/development.json       # simulates them
    python -m benchmarks.audit_limits --seed 7000 --projects 40

First: by how much more or less often than chosen pairs tell are open pairs wrong (the *shift* of `open_pairs`, now from
all labels), and does anything that a project knows predict it on a source that it was not learned from? Each of the
candidates is fitted to the other sources; beside it stands the mean of these, the rule in use, and the mean of the
source itself, which no project knows.

Then: the first stop of every project with further audits, of single pairs or of whole bags, as many answers in both.
"""

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bagwise.data.metrics import THRESHOLD
from bagwise.evaluation import calibration, open_pairs
from bagwise.kernels.arithmetic.blocks import use_one_thread
from benchmarks import coverage

FURTHER = (20, 60, 120)
QUANTITIES = ("bag accuracy", "Hamming loss", "precision", "recall", "prevalence")
FEWEST_PAIRS = 10
SIDES = ("not predicted", "predicted")
SPREAD_OF_SHIFT, FIXED = 3.0, 1e9
"""Of the prior that keeps the shift of a project without a wrong pair finite; precision of what is not fitted."""


def shift_of(log_odds, wrong):
    """By how much the log-odds of errors are off."""
    design, weights = np.column_stack([np.ones(len(wrong)), log_odds]), np.ones(len(wrong))
    precision = np.array([SPREAD_OF_SHIFT**-2.0, FIXED])
    mode, _ = calibration.posterior_mode(design, wrong.astype(float), weights, np.array([0.0, 1.0]), precision)
    return float(mode[0])


def observed(stage, curve, predicted, logits):
    """What the project knows, by name."""
    known, still_open = stage.known, ~stage.known
    chosen = known & ~stage.audit
    return {
        "share of yes among chosen": open_pairs._log_odds(stage.truth[chosen]),
        "share predicted among open": open_pairs._log_odds(predicted[still_open]),
        "share predicted among chosen": open_pairs._log_odds(predicted[chosen]),
        "f: a": curve[0],
        "f: b": curve[1],
        "f: c": curve[2],
        "how sure of open": float(np.abs(logits[still_open]).mean()),
        "how sure of chosen": float(np.abs(logits[chosen]).mean()),
        "classes, log": float(np.log(predicted.shape[1])),
        "answers, log": float(np.log(known.sum())),
        "share known": float(known.mean()),
    }


def shifts(stage):
    """For each side: the shift, the median that the rule in use expects, and what the project knows."""
    labels, predicted = stage.labels, stage.out_of_fold > THRESHOLD
    logits = calibration.logits_of(stage.out_of_fold)
    believed = np.where(np.isnan(stage.belief), stage.out_of_fold, stage.belief)
    features, known = open_pairs._features(stage.out_of_fold, believed), stage.known
    precision = open_pairs.CURVE_SPREAD**-2.0
    value = labels.value[known].astype(float)
    curve, _ = calibration.posterior_mode(features[known], value, np.ones(len(value)), open_pairs.CURVE, precision)
    rules = open_pairs.SHIFT_OF_ABSENT, open_pairs._shift_of_predicted(predicted[~known])
    for side, sign in enumerate((1.0, -1.0)):
        pairs = ~known & (predicted == bool(side))
        if pairs.sum() >= FEWEST_PAIRS:
            shift = shift_of(sign * (features[pairs] @ curve), (stage.truth != predicted)[pairs])
            yield side, shift, rules[side], observed(stage, curve, predicted, logits)


def with_audits(stage, count, of_bags, rng):
    """The project after so many more audits, of random pairs or of random bags one after the other."""
    bags, classes = np.nonzero(~stage.known)
    order = rng.permutation(len(bags))
    if of_bags:
        order = np.argsort(rng.permutation(len(stage.known))[bags], kind="stable")
    drawn = np.zeros_like(stage.known)
    drawn[bags[order[:count]], classes[order[:count]]] = True
    audit = (stage.audit & stage.known) | drawn
    return replace(stage, known=stage.known | drawn, audit=audit)


def measured(folder, source, seed):
    """The shifts of one project, and every interval after further audits."""
    stages = coverage.kept_stages(folder, source, seed, "uniform")
    audited = []
    for count in FURTHER:
        for of_bags in (False, True):
            further = with_audits(stages[0], count, of_bags, np.random.default_rng([seed, count]))
            for quantity, truth, interval, _ in coverage.judged(further):
                if quantity in QUANTITIES:
                    audited.append((quantity, count, of_bags, truth, interval))
    return source, [one for stage in stages for one in shifts(stage)], audited


def table_of_shifts(rows, side):
    """Typical errors of what predicts the shift of one side in sources that it was not learned from."""
    sources = np.array([source for source, *_ in rows])
    shift, rule = (np.array([row[at] for row in rows]) for at in (1, 2))
    weight = 1 / np.unique(sources, return_counts=True)[1][np.searchsorted(np.unique(sources), sources)]

    def typical(error):
        return float(np.sqrt(weight @ error**2 / weight.sum()))

    def left_out(design):
        error = np.empty(len(shift))
        for source in np.unique(sources):
            own = sources == source
            root = np.sqrt(weight[~own])
            fitted = np.linalg.lstsq(root[:, None] * design[~own], root * shift[~own], rcond=None)[0]
            error[own] = shift[own] - design[own] @ fitted
        return typical(error)

    ones = np.ones(len(shift))
    own_mean = np.array([shift[sources == source].mean() for source in sources])
    table = Table(f"the class is {SIDES[side]}: predicted by", "typical error of the shift")
    table.add_row("the mean of the source itself", f"{typical(shift - own_mean):.2f}")
    table.add_row("the mean of the other sources", f"{left_out(ones[:, None]):.2f}")
    table.add_row("the rule in use, which was set on all", f"{typical(shift - rule):.2f}")
    for name in rows[0][3]:
        observable = np.array([known[name] for *_, known in rows])
        table.add_row(name, f"{left_out(np.column_stack([ones, observable])):.2f}")
    return table


def table_of_audits(audited):
    """Half-width, error and coverage after further audits of pairs and of bags."""
    table = Table("quantity", "further audits", "of", "half-width", "mean absolute error", "coverage")
    for (quantity, count, of_bags), rows in sorted(audited.items()):
        half = np.mean([interval.high - interval.low for _, interval in rows]) / 2
        error = np.mean([abs(interval.value - truth) for truth, interval in rows])
        inside = np.mean([truth in interval for truth, interval in rows])
        kind = "whole bags" if of_bags else "pairs"
        table.add_row(quantity, str(count), kind, f"{half:.3f}", f"{error:.3f}", f"{inside:.1%}")
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=40, help="of each source")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--replays", type=Path, default=Path("build/coverage"))
    options = parser.parse_args()
    todo = coverage.specified(options.projects, options.seed)
    by_side, audited = ([], []), defaultdict(list)
    with ProcessPoolExecutor(options.processes, get_context("spawn"), use_one_thread) as pool:
        futures = [pool.submit(measured, options.replays, *one) for one in todo]
        for future in track(futures, "projects"):
            source, of_shifts, of_audits = future.result()
            for side, *rest in of_shifts:
                by_side[side].append((source, *rest))
            for quantity, count, of_bags, *rest in of_audits:
                audited[quantity, count, of_bags].append(rest)
    for side, rows in enumerate(by_side):
        Console().print(table_of_shifts(rows, side))
    Console().print(table_of_audits(audited))


if __name__ == "__main__":
    main()
