"""Evidence: the instance of a bag that shows a class by a model, and P(class in bag). Computed only in this module.

evidence[c] = argmax over the instances i of p_ic
belief[c]   = 1 - product over the instances i of (1 - p_ic)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier


def evidence_and_belief(
    probability: Array, offsets: Array, bags: Sequence[int], classes: Sequence[int]
) -> tuple[Array, Array]:
    """The strongest instance and P(class in bag) of pairs.

    Parameters
    ----------
    probability : array of shape (instances, classes)
        P(class) of every instance of some bags.
    offsets : array of int, shape (bags + 1,)
        First instance of each of these bags, and the number of instances.
    bags, classes : sequence of int
        The pairs: which of these bags, and which class.

    Returns
    -------
    evidence : array of int, shape (pairs,)
        Positions of instances in their bags.
    belief : array of float, shape (pairs,)

    Examples
    --------
    >>> probability, offsets = np.array([[0.5, 0.0], [0.25, 0.5], [0.75, 0.0]]), np.array([0, 2, 3])
    >>> evidence, belief = evidence_and_belief(probability, offsets, bags=[0, 0, 1], classes=[0, 1, 0])
    >>> evidence.tolist(), belief.tolist()
    ([0, 1, 0], [0.625, 0.5, 0.75])
    """
    places = np.asarray(bags)
    first = offsets[places]
    sizes = offsets[places + 1] - first
    ends = np.cumsum(sizes)
    begins = ends - sizes
    rows = np.arange(ends[-1]) + np.repeat(first - begins, sizes)
    of_pairs = probability[rows, np.repeat(classes, sizes)].astype(float)
    is_strongest = of_pairs == np.repeat(np.maximum.reduceat(of_pairs, begins), sizes)
    found = np.flatnonzero(is_strongest)
    evidence = found[np.searchsorted(found, begins)] - begins
    return evidence, 1 - np.multiply.reduceat(1 - of_pairs, begins)


def explain(
    questions: Sequence[Question], probability: Array, offsets: Array, places: Mapping[int, int]
) -> list[Question]:
    """Return the questions with their evidence and belief.

    Parameters
    ----------
    questions : sequence of Question
        What is asked.
    probability, offsets : array
        As for `evidence_and_belief`.
    places : mapping of int to int
        Which of the bags there each bag of the questions is.

    Returns
    -------
    list of Question
    """
    if not questions:
        return []
    pairs = [pair for question in questions for pair in question.pairs]
    bags, classes = [places[bag] for bag, _ in pairs], [label_class for _, label_class in pairs]
    evidence, belief = (found.tolist() for found in evidence_and_belief(probability, offsets, bags, classes))
    explained, first = [], 0
    for question in questions:
        last = first + len(question.classes)
        shown, believed = evidence[first:last], belief[first:last]
        if question.instance is not None:
            row = offsets[places[question.bag]] + question.instance
            shown, believed = [question.instance], [float(probability[row, question.classes[0]])]
        explained.append(replace(question, evidence=tuple(shown), belief=tuple(believed)))
        first = last
    return explained


def strongest_of(model: MIMLClassifier, bags: Bags, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """For pairs (one of these bags, by its place among them, and a class) the instance with the strongest evidence."""
    if not pairs:
        return []
    of_bags, classes = zip(*pairs, strict=True)
    evidence, _ = evidence_and_belief(model.predict_instance_proba(bags), bags.offsets, of_bags, classes)
    found: list[int] = evidence.tolist()
    return found


def strongest_instances(model: MIMLClassifier, bags: Bags) -> Array:
    """The instance of every bag that the model believes each class in, (bags, classes)."""
    of_bags = np.split(model.predict_instance_proba(bags), bags.offsets[1:-1]) if len(bags) else []
    return np.array([part.argmax(axis=0) for part in of_bags], np.int64).reshape(len(bags), -1)
