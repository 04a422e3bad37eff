"""Where the default rule would have stopped, and whether calibrated decisions help, on simulated projects.

    python benchmarks/stopping.py [--budget 600] [--folds 2] [--out benchmarks/results/stopping.json]

Answers come from the known labels of every data set; a held-out tenth are the new bags. At every point the quality is
estimated from the answers alone; a run stops at the first point where the rule is met.
"""

import argparse
import json
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bagwise import ActiveLearner, MIMLClassifier, datasets, evaluation
from bagwise.data import metrics
from bagwise.evaluation import thresholds
from bagwise.evaluation.forecast import Point
from bagwise.evaluation.stopping import Evidence, Goal, decide
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.research.experiments.curves import save_figure
from bagwise.research.experiments.simulation import first_labelled, split

DATASETS = ("carroll", "frost", "hja", "birds", "digits", "synthetic")
PARTS = 10
INITIAL = 0.05
FINE, COARSE = range(50, 200, 50), range(200, 10**6, 100)
BINS = np.linspace(0, 1, 11)


def points_until(budget):
    return [*(n for n in (*FINE, *range(COARSE.start, budget, COARSE.step)) if n < budget), budget]


def run(name, fold, budget, seed=100):
    """Rows (answers, estimate, truth, verdict) of one project, and its final predictions on the new bags."""
    training, new = split(datasets.load(name, seed), PARTS, fold, seed)
    known = training.labels.hide(
        np.setdiff1d(np.arange(len(training.bags)), first_labelled(training.labels, INITIAL, seed))
    )
    budget = min(budget, int((~known.known).sum()))
    model = MIMLClassifier(transformer=training.transformer)
    learner = ActiveLearner(training.bags, training.classes, known, model, update="replay", random_state=seed)
    audit, belief = np.zeros(known.known.shape, bool), np.full(known.known.shape, np.nan)
    rows, points = [], []
    for answers in points_until(budget):
        while len(learner.answers) < answers:
            question = learner.ask()
            pair = question.bag, question.classes[0]
            audit[pair], belief[pair] = question.audit, question.belief[0]
            learner.tell(question, bool(training.labels.value[pair]))
        fitted = MIMLClassifier(transformer=training.transformer).fit(training.bags, learner.labels)
        present = fitted.predict_proba(training.bags)
        out_of_fold = evaluation.crossfit(fitted, training.bags, learner.labels)
        before = np.where(learner.labels.known, belief, present)
        found = evaluation.estimate(out_of_fold, learner.labels, audit, belief=before)
        points.append(Point(answers, found.metrics["bag_accuracy"]))
        truth = metrics.bag_accuracy(new.labels.value, fitted.predict_proba(new.bags))
        verdict = decide(Evidence(answers, tuple(points)), Goal())
        rows.append({"answers": answers, "true": truth, **vars(found.metrics["bag_accuracy"]), "stop": verdict.stop})
    made = thresholds.learn(present, out_of_fold, learner.labels, audit)
    return rows, new.labels.value, fitted.predict_proba(new.bags), made


def calibration_error(truth, probability):
    """Mean distance of belief and frequency, over ten bins."""
    at = np.digitize(probability, BINS[1:-1])
    gaps = [
        abs(truth[at == i].mean() - probability[at == i].mean()) * (at == i).mean()
        for i in range(10)
        if (at == i).any()
    ]
    return float(sum(gaps))


def stopped(rows):
    """Where it stopped, what that saved and what it lost against the full budget."""
    last = rows[-1]
    first = next((row for row in rows if row["stop"]), last)
    return {
        "stopped_at": first["answers"],
        "budget": last["answers"],
        "saved": 1 - first["answers"] / last["answers"],
        "bag_accuracy_there": first["true"],
        "bag_accuracy_in_the_end": last["true"],
        "lost": last["true"] - first["true"],
        "held": float(np.mean([row["low"] <= row["true"] <= row["high"] for row in rows])),
    }


def decided(truth, probability, made):
    """Calibration error and bag accuracy before and after."""
    after = made.probabilities(probability)
    return {
        "calibration_error_before": calibration_error(truth, probability),
        "calibration_error_after": calibration_error(truth, after),
        "bag_accuracy_before": metrics.bag_accuracy(truth, probability),
        "bag_accuracy_calibrated": metrics.bag_accuracy(truth, after),
        "bag_accuracy_with_threshold": metrics.bag_accuracy(truth, made.predict(probability).astype(float)),
        "threshold": made.threshold,
    }


def reliability(kept):
    """Belief against frequency, before and after calibration, a panel for every data set."""
    rows = [
        {
            "dataset": name,
            "which": which,
            "belief": p[at == i].mean(),
            "frequency": truth[at == i].mean(),
            "pairs": int((at == i).sum()),
        }
        for name, truth, probability, made in kept
        for which, p in (("model", probability), ("calibrated", made.probabilities(probability)))
        for at in [np.digitize(p, BINS[1:-1])]
        for i in np.unique(at)
    ]
    frame = pl.DataFrame(rows).group_by("dataset", "which", pl.col("belief").round(1).alias("bin")).agg(
        *((pl.col(c) * pl.col("pairs")).sum() / pl.col("pairs").sum() for c in ("belief", "frequency"))
    )  # fmt: skip
    scale = alt.Scale(domain=[0, 1])
    charts = []
    for name in DATASETS:
        base = alt.Chart(frame.filter(pl.col("dataset") == name).sort("belief"), title=name)
        lines = base.mark_line(point=True).encode(
            x=alt.X("belief:Q", scale=scale),
            y=alt.Y("frequency:Q", scale=scale),
            color=alt.Color("which:N", title=None),
        )
        charts.append(lines.properties(width=180, height=180))
    return alt.concat(*charts, columns=3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=600)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/stopping.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/reliability"))
    options = parser.parse_args()
    use_one_thread()
    report, kept = [], []
    for name in track(DATASETS, "data sets"):
        runs = [run(name, fold, options.budget) for fold in range(options.folds)]
        kept += [(name, *rest) for _, *rest in runs]
        figures = [{**stopped(rows), **decided(*rest)} for rows, *rest in runs]
        report.append({"dataset": name, **{key: float(np.mean([one[key] for one in figures])) for key in figures[0]}})
        report[-1]["runs"] = [rows for rows, *_ in runs]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    save_figure(reliability(kept), options.figure, page=False)
    shown = [key for key in report[0] if key not in ("dataset", "runs")]
    table = Table("data set", *(key.replace("_", " ") for key in shown))
    for one in report:
        table.add_row(one["dataset"], *(f"{one[key]:.3f}" if one[key] < 10 else f"{one[key]:.0f}" for key in shown))
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
