"""Robustness curves: what wrong answers cost, and what knowing about them saves.

    python benchmarks/noise.py [--folds 3] [--draws 2] [--runs results/noise] [--out benchmarks/results/noise.json]

Simulated people give 0, 5, 10 or 20 % wrong answers; the bags labelled at the start are right. Writes the figures to
--out, and with --docs the figure and the tables of docs/noise.md. About ten minutes on two cores.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
from rich.progress import Progress

from bagwise.experiments.runner import run_all
from bagwise.experiments.simulation import Simulation

DATASETS = ("frost", "hja", "digits")
WRONG = (0.0, 0.05, 0.10, 0.20)
ASSUMED_ON_CLEAN = 0.05
ARMS = ("plain", "given", "estimate", "estimate, again")
QUERIES, EVERY = 600, 50
INITIAL = {"digits": 3}
FIRST_SEED = 100


def simulation(dataset, wrong, arm, folds, fold, seed):
    noise = {"plain": 0.0, "given": wrong or ASSUMED_ON_CLEAN}.get(arm, "estimate")
    return Simulation(
        dataset,
        update="replay",
        queries=QUERIES,
        evaluate_every=EVERY,
        initial=INITIAL.get(dataset, 0.05),
        folds=folds,
        fold=fold,
        seed=seed,
        wrong=wrong,
        noise=noise,
        again=arm.endswith("again"),
    )


def run(folds, draws, runs, arms):
    places = [(fold, FIRST_SEED + draw) for draw in range(draws) for fold in range(folds)]
    keys = [(d, w, arm, *place) for d in DATASETS for w in WRONG for arm in arms for place in places]
    specifications = [simulation(d, w, arm, folds, fold, seed) for d, w, arm, fold, seed in keys]
    with Progress() as bar:
        task = bar.add_task("simulating", total=QUERIES * len(keys))
        rows = run_all(specifications, runs, lambda steps: bar.advance(task, steps))
    points = len(rows) // len(keys)
    names = [name for name in keys for _ in range(points)]
    return pl.DataFrame(
        {
            "dataset": [name[0] for name in names],
            "wrong": [name[1] for name in names],
            "likelihood": [name[2] for name in names],
            "fold": [str(name[3:]) for name in names],
            "asked": rows["asked"],
            "bag_accuracy": rows["bag_accuracy"],
        }
    )


def table(rows):
    """Area under the curve of every arm, and its paired difference from plain with a 95 % interval over folds."""
    area = rows.group_by("dataset", "wrong", "likelihood", "fold", maintain_order=True).agg(
        pl.col("bag_accuracy").mean().alias("area"), pl.col("bag_accuracy").last().alias("last")
    )
    plain = area.filter(pl.col("likelihood") == "plain").rename({"area": "plain_area"})
    joined = area.join(plain.select("dataset", "wrong", "fold", "plain_area"), on=["dataset", "wrong", "fold"])
    found = []
    for (dataset, wrong, arm), group in joined.group_by("dataset", "wrong", "likelihood", maintain_order=True):
        gain = (group["area"] - group["plain_area"]).to_numpy()
        found.append(
            {
                "dataset": dataset,
                "wrong": wrong,
                "likelihood": arm,
                "area": round(float(group["area"].mean()), 4),
                "at_the_end": round(float(group["last"].mean()), 4),
                "gain_in_area": round(float(gain.mean()), 4),
                "standard_error": round(float(gain.std(ddof=1) / np.sqrt(len(gain))), 4),
            }
        )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=Path("results/noise"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/noise.json"))
    parser.add_argument("--arms", nargs="+", default=ARMS)
    options = parser.parse_args()
    rows = run(options.folds, options.draws, options.runs, options.arms)
    found = table(rows)
    curves = rows.group_by("dataset", "wrong", "likelihood", "asked", maintain_order=True).agg(
        pl.col("bag_accuracy").mean().round(4)
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps({"runs": options.folds * options.draws, "areas": found, "curves": curves.to_dicts()}, indent=1)
    )
    for one in found:
        print(*one.values(), sep="\t")


if __name__ == "__main__":
    main()
