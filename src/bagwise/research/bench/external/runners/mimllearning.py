"""The classifiers of mimllearning that its tutorials compare: seconds to fit, and what they tell of held-out bags."""

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from miml.classifier import (
    APRClassifier,
    MIMLtoMIBRClassifier,
    MIMLtoMILPClassifier,
    MIMLtoMLClassifier,
    MIWrapperClassifier,
)
from miml.data import Bag, Instance, MIMLDataset
from miml.transformation import ArithmeticTransformation, GeometricTransformation
from sklearn.ensemble import RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from .loop import Array


class Wrapped(MIWrapperClassifier):
    """With labels as numbers: NumPy no longer takes the arrays of one number that mimllearning hands over."""

    def fit(self, x_train: Array, y_train: Array, weight: int = 2) -> None:
        """As its own."""
        super().fit(x_train, np.ravel(y_train), weight)


class Rectangles(APRClassifier):
    """With an empty rectangle for a class of which no training bag has an instance: its own fit breaks off there."""

    def fit(self, x_train: Array, y_train: Array) -> None:
        """As its own."""
        if np.any(y_train == 1):
            super().fit(x_train, y_train)
        else:
            self.apr = [np.array(np.inf), np.array(-np.inf)]


def _scaled(classifier: Any) -> Any:
    return make_pipeline(StandardScaler(), classifier)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "apr": lambda: MIMLtoMIBRClassifier(Rectangles()),
    "wrapped_tree": lambda: MIMLtoMILPClassifier(Wrapped(DecisionTreeClassifier(random_state=0))),
    "neighbours": lambda: MIMLtoMLClassifier(_scaled(KNeighborsClassifier(3)), GeometricTransformation()),
    "tree": lambda: MIMLtoMLClassifier(DecisionTreeClassifier(random_state=0), ArithmeticTransformation()),
    "forest": lambda: MIMLtoMLClassifier(RandomForestClassifier(random_state=0), ArithmeticTransformation()),
    "svc": lambda: MIMLtoMLClassifier(OneVsRestClassifier(_scaled(SVC())), ArithmeticTransformation()),
}


def dataset(x: Array, offsets: Array, labels: Array) -> MIMLDataset:
    """The bags as mimllearning keeps them."""
    made = MIMLDataset()
    made.set_name("task")
    made.set_features_name([f"f{j}" for j in range(x.shape[1])])
    made.set_labels_name([f"c{c}" for c in range(labels.shape[1])])
    for b, (first, last) in enumerate(pairwise(offsets)):
        bag = Bag(str(b))
        for row in x[first:last]:
            bag.add_instance(Instance([*row.tolist(), *labels[b].astype(int).tolist()]))
        made.add_bag(bag)
    return made


def main() -> None:
    """Fit as often as asked and predict after each."""
    np.random.seed(0)  # noqa: NPY002
    with np.load(sys.argv[1], allow_pickle=False) as task:
        training = dataset(task["x"], task["offsets"], task["truth"])
        held_out = dataset(task["held_out_x"], task["held_out_offsets"], task["held_out_truth"])
        rounds = int(task["rounds"])
    seconds, until_predicted = [], []
    for _ in range(rounds):
        classifier = CLASSIFIERS[sys.argv[3]]()
        start = time.process_time()
        classifier.fit(training)
        seconds.append(time.process_time() - start)
        predicted = np.asarray(classifier.evaluate(held_out), float)
        until_predicted.append(time.process_time() - start)
    np.savez(sys.argv[2], seconds=np.array(seconds), until_predicted=np.array(until_predicted), predicted=predicted)


if __name__ == "__main__":
    main()
