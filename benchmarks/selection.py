"""Cost of an answer without scoring the whole pool: tell + ask relative to the bare product X @ W.T, in one run.

    python benchmarks/selection.py [--bags 10000] [--answers 150] [--out benchmarks/results/selection.json]

Goals of the project's seventh issue, medians after the first 50 answers with `bag_sgd`: uncertainty at most 0.5, EGL at
most 1.5 times the product. The product is made between the answers, with all threads that BLAS has.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bagwise import ActiveLearner, MIMLClassifier
from bagwise.learning import criteria, granularity
from bagwise.research.bench.pools import STANDARD, PoolSize, RandomPool

INSTANCES, FEATURES, CLASSES = STANDARD.instances, STANDARD.features, STANDARD.classes
REST = 0.12
FIRST = 50
LIMITS = {("uncertainty", "bag_sgd"): 0.5, ("expected_gradient_length", "bag_sgd"): 1.5}
CASES = [
    ("uncertainty", "bag_sgd"),
    ("balanced_uncertainty", "bag_sgd"),
    ("expected_gradient_length", "bag_sgd"),
    ("uncertainty", "pair_sgd"),
    ("uncertainty", "replay"),
    ("uncertainty", "lbfgs"),
]


def a_learner(count, criterion, update):
    pool = RandomPool(PoolSize(count))
    model = MIMLClassifier(max_iter=3)
    learner = ActiveLearner(pool.bags, pool.classes, pool.labels(), model, criterion, update=update, audit=0)
    return learner, pool.truth


def timed(work):
    # After a product idle BLAS threads spin for about 0.1 s and would slow down whatever comes next.
    time.sleep(REST)
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measure(count=10_000, answers=150, criterion="uncertainty", update="bag_sgd", checked=5):
    """Medians in milliseconds, their ratio, the share of the pool looked at, and whether every choice was right."""
    learner, truth = a_learner(count, criterion, update)
    weights = learner.model.weights_[:CLASSES, :FEATURES].astype(np.float32)
    question, spent, products, wrong = learner.ask(), [], [], 0

    def tell_and_ask():
        learner.tell(question, bool(truth[question.bag, question.classes[0]]))
        return learner.ask()

    for number in range(answers):
        seconds, question = timed(tell_and_ask) if number >= FIRST else (0.0, tell_and_ask())
        if number >= FIRST:
            spent.append(seconds)
            products.append(timed(lambda: learner.bags.instances @ weights.T)[0])
        if number % max(1, answers // checked) == 0:
            pool = learner.pool()
            best = granularity.pair(pool, criteria.get(criterion)(pool), 1)[0]
            wrong += (best.bag, best.classes, best.score) != (question.bag, question.classes, question.score)
    statistics = learner.statistics
    return {
        "tell + ask, ms": round(1000 * float(np.median(spent)), 2),
        "product, ms": round(1000 * float(np.median(products)), 2),
        "ratio": round(float(np.median(spent) / np.median(products)), 3),
        "ratio of the fastest": round(float(min(spent) / min(products)), 3),
        "share of the bags scored": round(float(np.median(statistics.looked_at[FIRST:])), 4),
        "questions": statistics.questions,
        "scans": statistics.scans,
        "logits computed anew": statistics.products,
        "other than a full pass": wrong,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/selection.json"))
    options = parser.parse_args()
    size = f"{options.bags} bags x {INSTANCES} instances x {FEATURES} features x {CLASSES} classes, float32"
    report = {"size": size, "machine": f"{platform.machine()}, {os.cpu_count()} cores", "cases": {}}
    table = Table("criterion", "update", "ratio", "limit", "bags scored", "scans", title=size)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for criterion, update in CASES:
        found = measure(options.bags, options.answers, criterion, update)
        report["cases"][f"{criterion}, {update}"] = found
        limit = LIMITS.get((criterion, update))
        over = limit is not None and found["ratio"] > limit
        row = [f"{found['share of the bags scored']:.1%}", f"{found['scans']} of {found['questions']}"]
        table.add_row(criterion, update, f"{'[red]' if over else ''}{found['ratio']:.2f}", str(limit or ""), *row)
        options.out.write_text(json.dumps(report, indent=2) + "\n")
    Console().print(table)


if __name__ == "__main__":
    main()
