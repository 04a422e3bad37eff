"""Robustness curves: what wrong answers cost, and what knowing about them saves.

    python benchmarks/noise.py [--folds 3] [--draws 1] [--runs results/noise] [--out benchmarks/results/noise.json]

Simulated people give 0, 5, 10 or 20 % wrong answers; the bags labelled at the start are right. First 600 questions are
asked and learned one by one; then models are fitted to answers about every training pair. Writes
the figures to --out, and the picture and the tables of docs/noise.md. About ten minutes of one core.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from marked import rewrite
from rich.progress import Progress, track
from sklearn.base import clone

from bagwise import Labels, MIMLClassifier, datasets
from bagwise.data import metrics
from bagwise.evaluation.noise import PRIOR_RATE, Answers, beliefs, estimate
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation, split

ROOT = Path(__file__).parents[1]
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


def run(folds, draws, runs):
    places = [(fold, FIRST_SEED + draw) for draw in range(draws) for fold in range(folds)]
    keys = [(d, w, arm, *place) for d in DATASETS for w in WRONG for arm in ARMS for place in places]
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


def areas(rows, beside):
    """Area under the curve of every arm, and its paired difference from `beside` with its standard error."""
    area = rows.group_by("dataset", "wrong", "likelihood", "fold", maintain_order=True).agg(
        pl.col("bag_accuracy").mean().alias("value")
    )
    return summary(area, beside)


def everything(folds, runs):
    """Held-out accuracy of models fitted to answers about every training pair."""
    kept = runs / "everything.json"
    if not kept.exists():
        cells = [(d, w, fold) for d in DATASETS for w in WRONG for fold in range(folds)]
        with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=use_one_thread) as pool:
            futures = [pool.submit(of_everything, *cell, folds) for cell in cells]
            found = [row for future in track(futures, "fitting") for row in future.result()]
        kept.write_text(json.dumps(found))
    return summary(pl.DataFrame(json.loads(kept.read_text())), "plain")


def of_everything(dataset, wrong, fold, folds):
    training, held_out = split(datasets.load(dataset, FIRST_SEED), folds, fold, FIRST_SEED)
    shape = training.labels.value.shape
    mistaken = np.random.default_rng([FIRST_SEED, fold]).random(shape) < wrong
    said = Labels(training.labels.value ^ mistaken, np.ones(shape, bool))
    model = MIMLClassifier(transformer=training.transformer)
    belief = beliefs(model, training.bags, said.doubted(PRIOR_RATE), list(np.ndindex(shape)))
    answers = Answers(np.arange(belief.size), np.zeros(belief.size, np.int64), said.value.ravel())
    (estimated,) = estimate(answers, belief, belief.size, 1).rates
    rates = {"plain": 0.0, "given": wrong or ASSUMED_ON_CLEAN, "estimate": estimated.rate}
    rows = []
    for arm, rate in rates.items():
        fitted = clone(model).fit(training.bags, said.doubted(rate) if rate else said)
        value = metrics.bag_accuracy(held_out.labels.value, fitted.predict_proba(held_out.bags))
        rows.append({"dataset": dataset, "wrong": wrong, "likelihood": arm, "fold": fold, "value": value, "rate": rate})
    return rows


def summary(values, beside):
    keys = ["dataset", "wrong", "fold"]
    other = values.filter(pl.col("likelihood") == beside).select(*keys, pl.col("value").alias("other"))
    joined = values.join(other, on=keys, maintain_order="left")
    found = []
    for (dataset, wrong, arm), group in joined.group_by("dataset", "wrong", "likelihood", maintain_order=True):
        gain = (group["value"] - group["other"]).to_numpy()
        one = {"dataset": dataset, "wrong": wrong, "likelihood": arm}
        one |= {"bag_accuracy": round(float(group["value"].mean()), 4), "gain": round(float(gain.mean()), 4)}
        one |= {"standard_error": round(float(gain.std(ddof=1) / np.sqrt(len(gain))), 4)}
        if "rate" in group.columns:
            one["rates"] = [round(rate, 3) for rate in group["rate"]]
        found.append(one)
    return found


def picture(curves):
    """One panel for every data set and likelihood; a curve for every share of wrong answers."""
    shown = curves.filter(pl.col("likelihood").is_in(ARMS[:3])).with_columns(
        (pl.col("wrong") * 100).round().cast(pl.Int64).cast(pl.String).add(" %").alias("wrong answers")
    )
    base = alt.Chart(shown).mark_line(strokeWidth=2.5)
    lines = base.encode(
        x=alt.X("asked:Q", title="questions answered"),
        y=alt.Y("bag_accuracy:Q", title="bag accuracy", scale=alt.Scale(zero=False)),
        color=alt.Color("wrong answers:N", sort=["0 %", "5 %", "10 %", "20 %"]),
    ).properties(width=260, height=170)
    faceted = lines.facet(
        row=alt.Row("dataset:N", title=None), column=alt.Column("likelihood:N", title=None, sort=ARMS)
    )
    faceted.resolve_scale(y="independent").save(ROOT / "docs" / "images" / "noise.png", scale_factor=1)


def in_words(found, beside, arms):
    """A table of Markdown: accuracy of one, and what the others add to it."""
    head = ["data set", "wrong answers", beside, *(f"{arm}: gain" for arm in arms)]
    rows = [head, ["---"] * len(head)]
    cells = {(one["dataset"], one["wrong"], one["likelihood"]): one for one in found}
    for dataset, wrong in dict.fromkeys(key[:2] for key in cells):
        gains = [cells[dataset, wrong, arm] for arm in arms]
        texts = [f"{one['gain']:+.3f} ± {one['standard_error']:.3f}" for one in gains]
        rows.append([dataset, f"{wrong:.0%}", f"{cells[dataset, wrong, beside]['bag_accuracy']:.3f}", *texts])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def rates_in_words(found):
    rows = [["data set", *(f"{wrong:.0%} wrong" for wrong in WRONG)]]
    rows.append(["---"] * len(rows[0]))
    for dataset in DATASETS:
        shown = [one["rates"] for one in found if one["dataset"] == dataset and one["likelihood"] == "estimate"]
        rows.append([dataset, *(" / ".join(f"{rate:.1%}" for rate in rates) for rates in shown)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_page(found, again, whole):
    page = ROOT / "docs" / "noise.md"
    tables = {
        "areas": in_words(found, "plain", ARMS[1:3]),
        "again": in_words(again, "estimate", ARMS[3:]),
        "everything": in_words(whole, "plain", ARMS[1:3]),
        "rates": rates_in_words(whole),
    }
    rewrite(page, tables)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "noise")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "noise.json")
    options = parser.parse_args()
    rows = run(options.folds, options.draws, options.runs)
    alone = rows.filter(pl.col("likelihood") != ARMS[3])
    found, again = areas(alone, "plain"), areas(rows.filter(pl.col("likelihood").is_in(ARMS[2:])), "estimate")
    whole = everything(options.folds, options.runs)
    curves = rows.group_by("dataset", "wrong", "likelihood", "asked", maintain_order=True).agg(
        pl.col("bag_accuracy").mean().round(4)
    )
    report = {"runs": options.folds * options.draws, "areas": found, "again": again, "everything": whole}
    report["curves"] = curves.to_dicts()
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    picture(curves)
    write_page(found, again, whole)


if __name__ == "__main__":
    main()
