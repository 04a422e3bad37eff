"""How far a classifier's scores should be trusted: the same labels, learned with slopes of several prior means.

    python benchmarks/score_trust.py [--sets soundscapes hja] [--seeds 7 11] [--folds 3] [--means 1 0.5 0.25]

Scores and splits are those of `scores.py`, with a third of the bags that are not elsewhere held out where scores are
simulated. A learner without scores asks 300 questions; at each of `POINTS` a model is fitted from scratch to the labels
known by then, without scores, with slopes of each prior mean, and with that of `model.usefulness` ("now"). Figures are
bag accuracy of the held-out bags, and the difference to no scores with its standard error over the folds.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rich.progress import track
from scores import opinions, split_bags

from bagwise import ActiveLearner, MIMLClassifier, Scores, datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.model import classifier

POINTS = (25, 50, 100, 200, 300)
NOW = classifier.slope_mean


def accuracies(data, fold, seed, means):
    """Return found[kind][point] of one fold."""
    rng = np.random.default_rng([seed, fold])
    elsewhere, asked, held_out = split_bags(data, fold, rng)
    if data.scores is None:
        rest = rng.permutation(np.concatenate([asked, held_out]))
        asked, held_out = np.sort(rest[len(rest) // 3 :]), np.sort(rest[: len(rest) // 3])
    else:
        held_out = np.union1d(held_out, elsewhere)
    thinks = opinions(data, data.select(elsewhere), rng)
    asked, held_out = data.select(asked), data.select(held_out)
    ours, theirs = (Scores(of_instances=thinks(some)) for some in (asked, held_out))
    model = MIMLClassifier(transformer=data.transformer)
    learner = ActiveLearner(asked.bags, data.classes, model=model, random_state=fold)
    found = {}
    for number in range(1, max(POINTS) + 1):
        question = learner.ask()
        learner.tell(question, [bool(asked.labels.value[question.bag, c]) for c in question.classes])
        if number in POINTS:
            for kind in ("none", *means, "now"):
                scores = (None, None) if kind == "none" else (ours, theirs)
                classifier.slope_mean = NOW if kind in ("none", "now") else lambda *_, mean=kind: mean
                fitted = MIMLClassifier(transformer=data.transformer).fit(asked.bags, learner.labels, scores=scores[0])
                predicted = fitted.predict_proba(held_out.bags, scores=scores[1]) > 0.5
                found.setdefault(str(kind), {})[number] = bag_accuracy(held_out.labels.value, predicted)
            classifier.slope_mean = NOW
    return found


def summary(runs):
    """Return mean, difference to no scores and its standard error for every kind and point."""
    figures = {}
    for kind in runs[0]:
        for point in POINTS:
            values, before = (np.array([run[one][point] for run in runs]) for one in (kind, "none"))
            gap = values - before
            figures.setdefault(kind, {})[point] = {
                "mean": round(float(values.mean()), 3),
                "above none": round(float(gap.mean()), 3),
                "standard error": round(float(gap.std(ddof=1) / np.sqrt(len(gap))), 3) if len(gap) > 1 else None,
            }
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["soundscapes", "hja"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[7, 11])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--means", nargs="+", type=float, default=[1.0, 0.5, 0.25])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    use_one_thread()
    report = {}
    for name in given.sets:
        plan = [(seed, fold) for seed in given.seeds for fold in range(given.folds)]
        runs = [accuracies(datasets.load(name, seed), fold, seed, given.means) for seed, fold in track(plan, name)]
        report[name] = summary(runs)
    print(json.dumps(report, indent=1))
    if given.out:
        given.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
