"""Accuracy per second of answering: pairs, whole bags, or whichever has more value per second.

Two simulated people: one who must listen (a bag costs most, further questions about it little) and one who reads at
a glance (every class costs about the same). Bag accuracy on held-out bags, mean over the seconds spent.
"""

import json
from pathlib import Path

import numpy as np

from bagwise import ActiveLearner, MIMLClassifier, datasets
from bagwise.data.metrics.bag_accuracy import bag_accuracy
from bagwise.kernels.arithmetic.blocks import use_one_thread
from bagwise.learning.granularity import Seconds
from bagwise.research.experiments.simulation import first_labelled, split

RESULTS = Path(__file__).parent / "results" / "costs.json"
SETS = ("digits", "frost", "hja")
FOLDS, SEED, PAIRS, POINTS = 3, 303, 400, 16


def people(classes: int) -> dict[str, Seconds]:
    """Return the seconds of an answer for both people."""
    return {
        "listens": Seconds(pair=10, again=3, bag=10 + 0.5 * classes),
        "glances": Seconds(pair=2, again=1.5, bag=1 + 1.5 * classes),
    }


def mean_accuracy(name: str, fold: int, granularity: str, seconds: Seconds) -> float:
    """Return the mean accuracy of one run that takes as many seconds as `PAIRS` pairs."""
    data = datasets.load(name, SEED)
    training, held_out = split(data, 10, fold, SEED)
    labelled = first_labelled(training.labels, 0.05, SEED + fold)
    known = training.labels.hide(np.setdiff1d(np.arange(len(training.bags)), labelled))
    model = MIMLClassifier(transformer=training.transformer)
    learner = ActiveLearner(
        training.bags, training.classes, known, model, granularity=granularity, random_state=fold, seconds=seconds
    )
    budget, spent, last = PAIRS * seconds.pair, 0.0, None
    due = iter(np.linspace(0, budget, POINTS))
    point = next(due)
    accuracies = []
    while len(accuracies) < POINTS and not learner.exhausted:
        question = learner.ask()
        cost = seconds.of(question.bag, len(question.classes), last)
        while len(accuracies) < POINTS and point < spent + cost:
            accuracies.append(bag_accuracy(held_out.labels.value, learner.predict_proba(held_out.bags)))
            point = next(due, np.inf)
        learner.tell(question, [bool(training.labels.value[question.bag, c]) for c in question.classes])
        spent, last = spent + cost, question.bag
    final = bag_accuracy(held_out.labels.value, learner.predict_proba(held_out.bags))
    return float(np.mean(accuracies + [final] * (POINTS - len(accuracies))))


def main() -> None:
    """Run all, print the rows and write them to RESULTS."""
    use_one_thread()
    found = []
    for name in SETS:
        for person, seconds in people(len(datasets.load(name, SEED).classes)).items():
            row = {"dataset": name, "person": person, "seconds": vars(seconds)}
            for granularity in ("pair", "bag", "best_value"):
                row[granularity] = float(
                    np.mean([mean_accuracy(name, fold, granularity, seconds) for fold in range(FOLDS)])
                )
            print(row, flush=True)
            found.append(row)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
