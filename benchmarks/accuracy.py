"""10-fold cross validation on all labels with L-BFGS: bag accuracy and average precision, and the expected values.

    python benchmarks/accuracy.py [--draws 5] [--out benchmarks/results/accuracy.json]

Letters are averaged over independent random draws of the letters (seeds 0, 1, ...); folds are shuffled with the seed.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bagwise import MIMLClassifier, datasets
from bagwise.data import metrics
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.research.experiments.simulation import split

EXPECTED = {
    ("frost", False): (0.63, 0.82),
    ("carroll", False): (0.61, 0.82),
    ("hja", False): (0.65, 0.95),
    ("frost", True): (None, None),
    ("carroll", True): (None, None),
    ("hja", True): (0.80, 0.95),
    ("hja_full", True): (0.70, 0.93),
}
FOLDS = 10
DRAWN = ("frost", "carroll")
REGULARISATION = {"penalty 1e-4": {"penalty": 1e-4}, "prior 1 (default)": {}}


def cross_validate(name, background, regularisation, seed):
    data = datasets.load(name, seed)
    scores = []
    for fold in range(FOLDS):
        training, held_out = split(data, FOLDS, fold, seed)
        model = MIMLClassifier(background=background, **REGULARISATION[regularisation])
        probability = model.fit(training.bags, training.labels).predict_proba(held_out.bags)
        truth = held_out.labels.value
        scores.append([metrics.bag_accuracy(truth, probability), metrics.average_precision(truth, probability)])
    return np.mean(scores, axis=0).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/accuracy.json"))
    options = parser.parse_args()
    runs = [
        (name, background, regularisation, seed)
        for regularisation in REGULARISATION
        for name, background in EXPECTED
        for seed in range(options.draws if name in DRAWN else 1)
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=use_one_thread) as pool:
        futures = [pool.submit(cross_validate, *run) for run in runs]
        results = [future.result() for future in track(futures, "cross validation")]
    table = Table("data set", "background", "prior", "draws", "bag accuracy", "average precision", "at least")
    report = []
    for regularisation in REGULARISATION:
        for (name, background), expected in EXPECTED.items():
            key = (name, background, regularisation)
            scores = np.array([result for run, result in zip(runs, results, strict=True) if run[:3] == key])
            accuracy, precision = scores.mean(axis=0)
            spread = scores.std(axis=0, ddof=1)[0] / np.sqrt(len(scores)) if len(scores) > 1 else None
            limit = "/".join(map(str, expected)) if expected[0] and "penalty" in regularisation else ""
            error = f" ± {spread:.3f}" if spread else ""
            table.add_row(
                name,
                str(background),
                regularisation,
                str(len(scores)),
                f"{accuracy:.3f}{error}",
                f"{precision:.3f}",
                limit,
            )
            report.append(
                {
                    "dataset": name,
                    "background": background,
                    "regularisation": regularisation,
                    "draws": len(scores),
                    "bag_accuracy": round(accuracy, 4),
                    "standard_error_over_draws": None if spread is None else round(spread, 4),
                    "average_precision": round(precision, 4),
                    "expected_at_least": expected if "penalty" in regularisation else None,
                }
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    Console().print(table)


if __name__ == "__main__":
    main()
