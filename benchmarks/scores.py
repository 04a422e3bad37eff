"""What a classifier's scores are worth as a head start, and what useless ones cost.

    python benchmarks/scores.py [--sets hja frost soundscapes] [--folds 10] [--questions 300] [--seed 505] [--out FILE]

A third of the bags of a data set are *elsewhere*: a classifier learns all labels of them, and its probabilities of the
other instances, with normal noise of deviation NOISE added to their logits, are the scores. Of the other bags a tenth
is held out; questions about the rest start from nothing. A data set that has scores, as `soundscapes` has BirdNET's, is
used with those, and the bags elsewhere, of which nothing is learned then, are held out as well. Arms: without scores;
with scores of instances; with scores of bags only; with the scores of instances shuffled, which say nothing; and with
scores of instances whose slopes have the prior mean 1 however much is known (`model.usefulness`). Figures are bag
accuracy of the held-out bags, and its mean over the questions (area), averaged over the folds with the standard error
of the difference to no scores.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rich.progress import Progress

from bagwise import ActiveLearner, MIMLClassifier, datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.data.scores import Scores
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.kernels.arithmetic.elementary import expit, logit
from bagwise.model import usefulness

NOISE = 1.5
SEED = 505
EVERY = 10
POINTS = (0, 50, 300)
ARMS = ("none", "instances", "bags", "shuffled", "trusted")
LABELS_PER_CLASS = usefulness.LABELS_PER_CLASS


def split_bags(data, fold, rng):
    """Return the positions of the bags elsewhere, asked about, and held out."""
    order = rng.permutation(len(data.bags))
    third = len(order) // 3
    rest = order[third:]
    held_out = rest[fold % 10 :: 10]
    return np.sort(order[:third]), np.sort(np.setdiff1d(rest, held_out)), np.sort(held_out)


def opinions(data, elsewhere, rng):
    """Return a function of some bags of the data set: what the classifier thinks of their instances."""
    if data.scores is not None:
        return lambda some: some.scores
    classifier = MIMLClassifier(transformer=data.transformer).fit(elsewhere.bags, elsewhere.labels)

    def noisy(some):
        probability = np.clip(classifier.predict_instance_proba(some.bags), 1e-6, 1 - 1e-6)
        return expit(logit(probability) + NOISE * rng.standard_normal(probability.shape))

    return noisy


def scores_of(arm, probability, bags, rng):
    """Return the scores of an arm from those of the instances of some bags; None without scores."""
    if arm == "none":
        return None
    if arm == "bags":
        absent = np.add.reduceat(np.log1p(-np.clip(probability, 0, 1 - 1e-6)), bags.offsets[:-1], axis=0)
        return Scores(of_bags=-np.expm1(absent))
    return Scores(of_instances=rng.permuted(probability, axis=0) if arm == "shuffled" else probability)


def curve(data, arm, fold, questions, advance, seed=SEED):
    """Return bag accuracy of the held-out bags after every `EVERY` answers."""
    rng = np.random.default_rng([seed, fold])
    elsewhere, asked, held_out = split_bags(data, fold, rng)
    if data.scores is not None:
        held_out = np.union1d(held_out, elsewhere)
    elsewhere, asked, held_out = (data.select(some) for some in (elsewhere, asked, held_out))
    thinks = opinions(data, elsewhere, rng)
    usefulness.LABELS_PER_CLASS = np.inf if arm == "trusted" else LABELS_PER_CLASS
    ours, theirs = (scores_of(arm, thinks(some), some.bags, rng) for some in (asked, held_out))
    learner = ActiveLearner(
        asked.bags,
        data.classes,
        model=MIMLClassifier(transformer=data.transformer),
        random_state=fold,
        scores=ours,
    )
    found = []
    for number in range(questions + 1):
        if number % EVERY == 0:
            found.append(bag_accuracy(held_out.labels.value, learner.predict_proba(held_out.bags, theirs) > 0.5))
        if number < questions:
            question = learner.ask()
            learner.tell(question, [bool(asked.labels.value[question.bag, c]) for c in question.classes])
        advance()
    return found


def summary(curves):
    """Return the figures of every arm from curves[arm][fold]."""
    arrays = {arm: np.array(of_folds) for arm, of_folds in curves.items()}
    figures = {}
    for arm, found in arrays.items():
        reached = [point for point in POINTS if point // EVERY < found.shape[1]]
        rows = {f"after {point}": found[:, point // EVERY] for point in reached}
        rows |= {f"area to {point}": found[:, : point // EVERY + 1].mean(axis=1) for point in reached if point}
        base = arrays["none"]
        before = {f"after {point}": base[:, point // EVERY] for point in reached}
        before |= {f"area to {point}": base[:, : point // EVERY + 1].mean(axis=1) for point in reached if point}
        figures[arm] = {
            name: {
                "mean": round(float(values.mean()), 3),
                "above none": round(float((values - before[name]).mean()), 3),
                "standard error": round(float((values - before[name]).std(ddof=1) / np.sqrt(len(values))), 3)
                if len(values) > 1
                else None,
            }
            for name, values in rows.items()
        }
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["hja", "frost"])
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    use_one_thread()
    figures = {}
    with Progress() as progress:
        steps = len(given.sets) * len(given.arms) * given.folds * (given.questions + 1)
        task = progress.add_task("questions", total=steps)
        for name in given.sets:
            data = datasets.load(name, given.seed)
            curves = {
                arm: [
                    curve(data, arm, fold, given.questions, lambda: progress.advance(task), given.seed)
                    for fold in range(given.folds)
                ]
                for arm in given.arms
            }
            figures[name] = summary(curves)
    print(json.dumps(figures, indent=1))
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
