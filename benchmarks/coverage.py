"""Do the intervals of the estimated quality hold the truth? Simulated projects, of which all labels are known.

    python benchmarks/coverage.py [--projects 1000] [--seed 20000] [--design uniform] [--replays build/coverage]

Every project draws 60 to 250 bags from one of 13 sources and asks 100 to 300 questions as a project does (10 % of
them audits), every second project after a twentieth of its bags was labelled. When half of the questions and when all
are answered, the model is fitted and its quality estimated. The truth is what its out-of-fold predictions are worth on
all bags of the project. The naive estimate counts all answers alike. The first 200 projects of each source are also
judged without what the model believed when it asked; beside the coverage and half-width of all projects stand the
coverage of these, and how many times as wide as without it is. `--design balanced` draws audits by design.

Seeds from 20,000 on are for the committed figures alone: no prior was set on projects with these seeds.

What was simulated is kept in the folder of `--replays`, one file for each project, and is not simulated again: the
command can be interrupted and goes on, and `--minutes 0` only estimates again, of the projects that there are.
"""

import argparse
import json
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
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
from bagwise.learning.audits import DESIGNS

NEW_BAGS = 1500
INITIAL = 0.05
STOPS = (0.5, 1.0)
ALSO_WITHOUT_BELIEF = 200
ROUNDING = 1e-9


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
    """Strips of handwritten digits; where there are more than `NEW_BAGS`, the images of these are in no other strip."""
    images, target = _digits()
    order = rng.permutation(len(target))
    sizes = rng.integers(2, 6, count)
    own = int(sizes[: count - NEW_BAGS if count > NEW_BAGS else count].sum())
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


def of_data_set(name):
    """Bags of a data set, drawn without replacement."""

    def draw(rng, count):
        data = datasets.load(name)
        bags = np.sort(rng.permutation(len(data.bags))[:count])
        return Drawn(data.bags.select(bags), data.labels.value[bags], data.transformer)

    return draw


UNLIMITED = {source.__name__: source for source in (synthetic, background, digits, letters)}
LIMITED = ("hja", "birds", "scarce", "crowded", "rare", "hja_full", "manuals", "scenes", "soundscapes")
SOURCES = {**UNLIMITED, **{name: of_data_set(name) for name in LIMITED}}


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


@dataclass(frozen=True)
class Stage:
    """A project when some of its questions are answered: what estimates are made of, and the truth."""

    truth: np.ndarray
    known: np.ndarray
    order: np.ndarray
    audit: np.ndarray
    probability: np.ndarray
    belief: np.ndarray
    out_of_fold: np.ndarray

    @property
    def labels(self):
        return Labels(self.truth & self.known, self.known)


def replay(source, seed, design="uniform"):
    """One project: a `Stage` for each of its stops."""
    rng = np.random.default_rng([seed, list(SOURCES).index(source)])
    pool, questions = int(rng.integers(60, 250)), int(rng.integers(100, 301))
    drawn = SOURCES[source](rng, pool)
    bags, truth = drawn.bags, drawn.truth[:, drawn.truth.any(axis=0)]
    first = _first_labels(truth, rng) if seed % 2 else Labels.unknown(*truth.shape)
    learner = ActiveLearner(
        bags,
        [str(c) for c in range(truth.shape[1])],
        first if seed % 2 else None,
        MIMLClassifier(transformer=drawn.transformer, tol=1e-4),
        random_state=seed,
        audit_design=design,
    )
    audit, order = np.zeros(truth.shape, bool), np.where(first.known, -np.inf, np.inf)
    probability, belief = np.full((2, *truth.shape), np.nan)
    questions, stages = min(questions, truth.size // 2), []
    for stop in STOPS:
        while len(learner.answers) < int(stop * questions):
            question = learner.rank(1)[0]  # the same as `ask`, without evidence
            pair = question.bag, question.classes[0]
            audit[pair], order[pair] = question.audit, len(learner.answers)
            probability[pair] = question.probability
            belief[pair] = learner.predict_proba(bags.select([question.bag]))[0, question.classes[0]]
            learner.tell(question, bool(truth[pair]))
        model = MIMLClassifier(transformer=drawn.transformer, tol=1e-4).fit(bags, learner.labels)
        out_of_fold = evaluation.crossfit(model, bags, learner.labels)
        known = learner.labels.known
        before = np.where(known, belief, model.predict_proba(bags))
        stages.append(Stage(truth, known.copy(), order.copy(), audit.copy(), probability.copy(), before, out_of_fold))
    return stages


def simulate(source, seed, design="uniform"):
    """One project: (quantity, truth, interval, naive estimate) of everything that is estimated."""
    return [one for stage in replay(source, seed, design) for one in judged(stage)]


def judged(stage, with_belief=True):
    """(quantity, truth, interval, naive estimate) of everything that is estimated at one stop."""
    belief = stage.belief if with_belief else None
    estimated = evaluation.estimate(stage.out_of_fold, stage.labels, stage.audit, belief=belief)
    yield from _judged(estimated, stage.truth, stage.labels, stage.out_of_fold)


def replay_file(folder, source, seed, design):
    return folder / f"{source}-{seed}-{design}.npz"


def keep_replay(folder, source, seed, design):
    """Simulate a project, unless its file exists, and write the file."""
    path = replay_file(folder, source, seed, design)
    if path.exists():
        return
    stages = replay(source, seed, design)
    arrays = {f"{name}-{number}": value for number, one in enumerate(stages) for name, value in vars(one).items()}
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)
    unfinished.replace(path)


def kept_stages(folder, source, seed, design):
    with np.load(replay_file(folder, source, seed, design)) as arrays:
        return [
            Stage(**{field.name: arrays[f"{field.name}-{number}"] for field in fields(Stage)})
            for number in range(len(STOPS))
        ]


def _first_labels(truth, rng):
    first = np.zeros(truth.shape, bool)
    first[rng.permutation(len(truth))[: max(2, int(INITIAL * len(truth)))]] = True
    return Labels(truth & first, first)


def _judged(estimated, truth, labels: Labels, out_of_fold):
    predicted, known, value = out_of_fold > metrics.THRESHOLD, labels.known, labels.value & labels.known
    labelled = known.any(axis=1)
    for name, metric in metrics.estimable().items():
        of_pairs = metric.resolution == "pairs"
        rows = (
            (value[known][None], predicted[known][None])
            if of_pairs
            else (value[labelled], (predicted & known)[labelled])
        )
        yield metric.title, metric(truth, out_of_fold), estimated.metrics[name], metric(*rows)
    for c, one in enumerate(estimated.classes):
        hits, hits_known = (predicted & truth)[:, c].sum(), (predicted & value)[:, c].sum()
        if one.precision is not None:
            naive = hits_known / max((predicted & known)[:, c].sum(), 1)
            yield "precision", hits / predicted[:, c].sum(), one.precision, naive
        if one.recall is not None:
            yield "recall", hits / truth[:, c].sum(), one.recall, hits_known / max(value[:, c].sum(), 1)
        naive = value[:, c].sum() / max(known[:, c].sum(), 1)
        yield "prevalence", truth[:, c].mean(), one.prevalence, naive


def summary(judged):
    """Coverage, error and width of one quantity over many projects."""
    inside = np.array([interval.low - ROUNDING <= truth <= interval.high + ROUNDING for truth, interval, _ in judged])
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
    """(source, seed) of so many projects of each source."""
    return [(source, seed + number) for number in range(projects) for source in SOURCES]


def collect(found, source, judged):
    """Sort what came of one project by quantity, for its source and for all of them."""
    for quantity, *rest in judged:
        found[source, quantity].append(rest)
        found["all", quantity].append(rest)


def report_of(found, compared, projects, seed, design):
    """A row for each source and quantity; `compared` has the same projects with and without beliefs."""
    results = []
    for source, quantity in sorted(found, key=lambda key: (key[1], key[0])):
        row = {"quantity": quantity, "source": source, **summary(found[source, quantity])}
        if (source, quantity) in compared["without"]:
            same, without = (summary(compared[name][source, quantity]) for name in ("with", "without"))
            row |= {
                "estimates_without_belief": without["estimates"],
                "coverage_without_belief": without["coverage"],
                "times_width_without_belief": round(same["mean_width"] / without["mean_width"], 3),
            }
        results.append(row)
    return {"projects": projects, "seed": seed, "design": design, "results": results}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=1000, help="of each source")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20000)
    parser.add_argument("--design", default="uniform", choices=DESIGNS, help="how audits are drawn")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no project after so many")
    parser.add_argument("--replays", type=Path, default=Path("build/coverage"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/coverage.json"))
    options = parser.parse_args()
    for folder in (options.replays, options.out.parent):
        folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * options.minutes
    todo = specified(options.projects, options.seed)
    found, compared, done = defaultdict(list), {"with": defaultdict(list), "without": defaultdict(list)}, 0
    with ProcessPoolExecutor(options.processes, get_context("spawn"), use_one_thread) as pool:
        futures = [
            pool.submit(
                _kept_and_judged,
                options.replays,
                *one,
                options.design,
                until,
                one[1] < options.seed + ALSO_WITHOUT_BELIEF,
            )
            for one in todo
        ]
        for (source, _), future in track(list(zip(todo, futures, strict=True)), "projects"):
            if (of_project := future.result()) is None:
                continue
            done += 1
            with_belief, without = of_project
            collect(found, source, with_belief)
            if without is not None:
                collect(compared["with"], source, with_belief)
                collect(compared["without"], source, without)
    report = report_of(found, compared, done, options.seed, options.design)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    head = (
        "quantity",
        "source",
        "estimates",
        "coverage",
        "without beliefs",
        "half-width",
        "times without",
        "mean error",
    )
    table = Table(*head, "naive")
    for one in report["results"]:
        error = f"{one['mean_error']:+.3f} ± {one['standard_error']:.3f}"
        widths = f"{one['mean_width'] / 2:.3f}", f"{one.get('times_width_without_belief', float('nan')):.2f}"
        covered = f"{one['coverage']:.1%}", f"{one.get('coverage_without_belief', float('nan')):.1%}"
        cells = *covered, *widths, error, f"{one['naive_mean_error']:+.3f}"
        table.add_row(one["quantity"], one["source"], str(one["estimates"]), *cells)
    Console().print(table)


def _kept_and_judged(folder, source, seed, design, until, also_without):
    """What came of a project, and the same without beliefs; None where there was no time to simulate it."""
    if not replay_file(folder, source, seed, design).exists():
        if time.monotonic() > until:
            return None
        keep_replay(folder, source, seed, design)
    stages = kept_stages(folder, source, seed, design)
    found = [one for stage in stages for one in judged(stage)]
    return found, [one for stage in stages for one in judged(stage, False)] if also_without else None


if __name__ == "__main__":
    main()
