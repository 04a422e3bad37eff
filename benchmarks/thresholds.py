"""Do learned thresholds make better label sets? A half, one threshold for all classes, and one for each.

    python -m benchmarks.thresholds [--known 0.3] [--folds 3]
    python -m benchmarks.thresholds --replays build/coverage

A share of the labels of the training bags is known, at random; metrics are those of the held-out bags. Each threshold
is learned for the metric of its table. With `--replays`, thresholds are learned from the answers and audits of the
projects that `benchmarks/coverage.py` simulated, and judged by all labels of their bags, for a model that has not seen
the answers about the bag.
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bagwise import Labels, MIMLClassifier, datasets, evaluation
from bagwise.data import metrics
from bagwise.evaluation import thresholds
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.research.experiments.simulation import split
from benchmarks import coverage

DATASETS = ("hja", "birds", "frost", "digits")
SEED, PARTS = 303, 10


def f1(truth, predicted):
    """Of each class that a held-out bag has, averaged."""
    hits, said, so = (truth & predicted).sum(axis=0), predicted.sum(axis=0), truth.sum(axis=0)
    return float(np.mean((2 * hits / np.maximum(said + so, 1))[so > 0]))


METRICS = {"f1": f1, "bag_accuracy": lambda truth, predicted: metrics.bag_accuracy(truth, predicted.astype(float))}


def run(name, fold, known):
    """The metric's value with a half, with one threshold, with one for each class; for every metric."""
    training, held_out = split(datasets.load(name, SEED), PARTS, fold, SEED)
    drawn = np.random.default_rng([SEED, fold]).random(training.labels.known.shape) < known
    labels = Labels(training.labels.value, drawn)
    model = MIMLClassifier(transformer=training.transformer).fit(training.bags, labels)
    present, out_of_fold = model.predict_proba(training.bags), evaluation.crossfit(model, training.bags, labels)
    probability, truth = model.predict_proba(held_out.bags), held_out.labels.value
    found = {}
    for metric, value in METRICS.items():
        made = thresholds.learn(present, out_of_fold, labels, drawn, metric)
        ways = (thresholds.Decisions(), replace(made, of_classes=()), made)
        found[metric] = [value(truth, way.predict(probability)) for way in ways]
    return found


def of_replays(folder):
    """By source: every metric's gain over a half of one threshold, and of one for each class, at every stop."""
    found = defaultdict(list)
    for path in sorted(folder.glob("*-uniform.npz")):
        source, seed, design = path.stem.split("-")
        for stage in coverage.kept_stages(folder, source, int(seed), design):
            gains = []
            for metric, value in METRICS.items():
                made = thresholds.learn(stage.out_of_fold, stage.out_of_fold, stage.labels, stage.audit, metric)
                ways = (thresholds.Decisions(), replace(made, of_classes=()), made)
                half, *others = (value(stage.truth, way.predict(stage.out_of_fold)) for way in ways)
                gains += [half, *(other - half for other in others)]
            found[source].append(gains)
    return found


def print_replays(folder):
    """Print the table of gains, each with its standard error."""
    head = [f"{metric}: {way}" for metric in METRICS for way in ("a half", "one threshold", "one for each class")]
    table = Table("source", "projects", *head)
    for source, gains in of_replays(folder).items():
        # The two stops of a project are one observation.
        by_project = np.array(gains).reshape(-1, len(coverage.STOPS), len(head)).mean(axis=1)
        mean, error = by_project.mean(axis=0), by_project.std(axis=0) / np.sqrt(len(by_project))
        cells = [
            f"{m:.3f}" if place % 3 == 0 else f"{m:+.3f} ± {e:.3f}"
            for place, (m, e) in enumerate(zip(mean, error, strict=True))
        ]
        table.add_row(source, str(len(by_project)), *cells)
    Console(width=160).print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replays", type=Path)
    parser.add_argument("--known", type=float, default=0.3)
    parser.add_argument("--folds", type=int, default=3)
    asked = parser.parse_args()
    use_one_thread()
    if asked.replays is not None:
        print_replays(asked.replays)
        return
    table = Table("metric", "data set", "a half", "one threshold", "one for each class")
    runs = {name: [run(name, fold, asked.known) for fold in range(asked.folds)] for name in DATASETS}
    for metric in METRICS:
        for name, of_folds in runs.items():
            means = np.mean([found[metric] for found in of_folds], axis=0)
            table.add_row(metric, name, *(f"{mean:.3f}" for mean in means))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
