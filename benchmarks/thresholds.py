"""Do learned thresholds make better label sets? A half, one threshold for all classes, and one for each.

    python benchmarks/thresholds.py [--known 0.3] [--folds 3]

A share of the labels of the training bags is known, at random; metrics are those of the held-out bags. Each threshold
is learned for the metric of its table.
"""

import argparse
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from bagwise import Labels, MIMLClassifier, datasets, evaluation
from bagwise.data import metrics
from bagwise.evaluation import thresholds
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.research.experiments.simulation import split

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--known", type=float, default=0.3)
    parser.add_argument("--folds", type=int, default=3)
    asked = parser.parse_args()
    use_one_thread()
    table = Table("metric", "data set", "a half", "one threshold", "one for each class")
    runs = {name: [run(name, fold, asked.known) for fold in range(asked.folds)] for name in DATASETS}
    for metric in METRICS:
        for name, of_folds in runs.items():
            means = np.mean([found[metric] for found in of_folds], axis=0)
            table.add_row(metric, name, *(f"{mean:.3f}" for mean in means))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
