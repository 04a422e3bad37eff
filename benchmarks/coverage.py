"""Do the intervals of the estimated quality hold the truth? A thousand simulated projects, judged on new bags.

    python benchmarks/coverage.py [--projects 1000] [--seed 1000] [--out benchmarks/results/coverage.json]

Every project draws its own bags from one of four sources, asks 100 to 300 questions as a project does (10 % of them
audits), fits its model and estimates its quality. The truth is that model's value on 1,500 new bags of the same source.
The naive estimate counts all answers alike.
"""

import argparse
import json
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from bagwise import ActiveLearner, Bags, Labels, MIMLClassifier, datasets, evaluation
from bagwise.data import metrics
from bagwise.datasets._letters import _uci_letters, words_of
from bagwise.datasets._types import union_of_instances
from bagwise.datasets.carroll import POEM
from bagwise.kernels.arithmetic.blocks import use_one_thread

NEW_BAGS = 1500
FEWEST_PREDICTED = 5
WRITE_EVERY = 20


class Drawn(NamedTuple):
    bags: Bags
    truth: np.ndarray
    transformer: object = "standardise"


def synthetic(rng, count):
    """Drawn from the model itself."""
    classes, features = int(rng.integers(3, 7)), int(rng.integers(4, 11))
    seed = int(rng.integers(1 << 31))
    data = datasets.load("synthetic", seed, bags=count, features=features, classes=classes, instances=4, separation=4.0)
    return Drawn(data.bags, data.labels.value)


def background(rng, count):
    """The same with nine classes of which only four are asked about."""
    seed = int(rng.integers(1 << 31))
    data = datasets.load("synthetic", seed, bags=count, features=8, classes=9, instances=3, separation=5.0)
    return Drawn(data.bags, data.labels.value[:, :4])


def digits(rng, count):
    """Strips of handwritten digits; no image of the project is among the new bags."""
    images, target = _digits()
    order = rng.permutation(len(target))
    sizes = rng.integers(2, 6, count)
    own = int(sizes[: count - NEW_BAGS].sum())
    rows = np.concatenate([order[:own], rng.choice(order[own:], int(sizes.sum()) - own)])
    return _from_instances(images[rows], target[rows], sizes, 10, StandardScaler(with_std=False))


def letters(rng, count):
    """Words of a poem, every letter a row of UCI Letter."""
    features, words, alphabet, rows = _letters()
    chosen = [words[i] for i in rng.integers(len(words), size=count)]
    text = "".join(chosen)
    drawn = [rows[letter][int(u * len(rows[letter]))] for letter, u in zip(text, rng.random(len(text)), strict=True)]
    target = np.searchsorted(alphabet, list(text))
    return _from_instances(features[drawn], target, [len(word) for word in chosen], len(alphabet))


SOURCES = {source.__name__: source for source in (synthetic, background, digits, letters)}


@cache
def _digits():
    data = load_digits()
    return data.data / 16, data.target


@cache
def _letters():
    features, target = _uci_letters()
    words = words_of(POEM)
    alphabet = sorted(set("".join(words)))
    return features, words, alphabet, {letter: np.flatnonzero(target == letter) for letter in alphabet}


def _from_instances(x, target, sizes, classes, transformer="standardise"):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Drawn(Bags(x, offsets), union_of_instances(target, offsets, classes).value, transformer)


def simulate(source, seed):
    """One project: (quantity, truth, interval, naive estimate) of everything that is estimated."""
    rng = np.random.default_rng([seed, list(SOURCES).index(source)])
    pool, questions = int(rng.integers(60, 250)), int(rng.integers(100, 301))
    drawn = SOURCES[source](rng, pool + NEW_BAGS)
    bags, new = drawn.bags.select(np.arange(pool)), drawn.bags.select(np.arange(pool, pool + NEW_BAGS))
    truth = drawn.truth[:pool]
    model = MIMLClassifier(transformer=drawn.transformer, tol=1e-4)
    names = [str(c) for c in range(truth.shape[1])]
    learner = ActiveLearner(bags, names, model=model, update="replay", random_state=seed)
    audit = np.zeros(truth.shape, bool)
    for _ in range(min(questions, truth.size // 2)):
        question = learner.ask()
        pair = question.bag, question.classes[0]
        audit[pair] = question.audit
        learner.tell(question, bool(truth[pair]))
    model = model.fit(bags, learner.labels)
    out_of_fold = evaluation.crossfit(model, bags, learner.labels)
    estimated = evaluation.estimate(model.predict_proba(bags), out_of_fold, learner.labels, audit)
    return list(_judged(estimated, drawn.truth[pool:], model.predict_proba(new), learner.labels, out_of_fold))


def _judged(estimated, truth, probability, labels: Labels, out_of_fold):
    predicted = probability > metrics.THRESHOLD
    guessed, known, value = out_of_fold > metrics.THRESHOLD, labels.known, labels.value
    labelled = known.any(axis=1)
    for name, metric in metrics.estimable().items():
        of_pairs = metric.resolution == "pairs"
        rows = (
            (value[known][None], guessed[known][None]) if of_pairs else (value[labelled], (guessed & known)[labelled])
        )
        yield metric.title, metric(truth, probability), estimated.metrics[name], metric(*rows)
    for c, one in enumerate(estimated.classes):
        hits = (predicted & truth)[:, c].sum()
        hits_known = (guessed & value & known)[:, c].sum()
        if one.precision is not None and predicted[:, c].sum() >= FEWEST_PREDICTED:
            naive = hits_known / max((guessed & known)[:, c].sum(), 1)
            yield "precision", hits / predicted[:, c].sum(), one.precision, naive
        if one.recall is not None and truth[:, c].any():
            yield "recall", hits / truth[:, c].sum(), one.recall, hits_known / max(value[:, c].sum(), 1)


def summary(judged):
    """Coverage, error and width of one quantity over many projects."""
    inside = np.array([truth in interval for truth, interval, _ in judged])
    errors = np.array([interval.value - truth for truth, interval, _ in judged])
    naive = np.array([naive - truth for truth, _, naive in judged])
    return {
        "estimates": len(judged),
        "coverage": round(float(inside.mean()), 4),
        "mean_width": round(float(np.mean([interval.high - interval.low for _, interval, _ in judged])), 4),
        "mean_error": round(float(errors.mean()), 4),
        "standard_error": round(float(errors.std() / np.sqrt(len(errors))), 4),
        "naive_mean_error": round(float(naive.mean()), 4),
    }


def specified(projects, seed):
    """(source, seed) of every project, as many of each source."""
    return [(list(SOURCES)[number % len(SOURCES)], seed + number // len(SOURCES)) for number in range(projects)]


def collect(found, source, judged):
    """Sort what came of one project by quantity, for its source and for all of them."""
    for quantity, *rest in judged:
        found[source, quantity].append(rest)
        found["all", quantity].append(rest)


def report_of(found, projects, seed):
    results = [
        {"quantity": quantity, "source": source, **summary(found[source, quantity])}
        for source, quantity in sorted(found, key=lambda key: (key[1], key[0]))
    ]
    return {"projects": projects, "seed": seed, "results": results}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/coverage.json"))
    options = parser.parse_args()
    found, done = defaultdict(list), 0
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.processes, get_context("spawn"), use_one_thread) as pool:
        todo = specified(options.projects, options.seed)
        futures = [pool.submit(simulate, *one) for one in todo]
        for (source, _), future in track(list(zip(todo, futures, strict=True)), "projects"):
            collect(found, source, future.result())
            done += 1
            if done % WRITE_EVERY == 0 or done == len(todo):
                report = report_of(found, done, options.seed)
                options.out.write_text(json.dumps(report, indent=2) + "\n")
    table = Table("quantity", "source", "estimates", "coverage", "width", "mean error", "naive")
    for one in report["results"]:
        error = f"{one['mean_error']:+.3f} ± {one['standard_error']:.3f}"
        cells = f"{one['coverage']:.1%}", f"{one['mean_width']:.2f}", error, f"{one['naive_mean_error']:+.3f}"
        table.add_row(one["quantity"], one["source"], str(one["estimates"]), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
