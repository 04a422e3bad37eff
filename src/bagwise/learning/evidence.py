"""Evidence: the instance of a bag that shows a class by a model, and P(class in bag). Computed only in this module.

evidence[c] = argmax over the instances i of p_ic
belief[c]   = 1 - product over the instances i of (1 - p_ic)
"""

from dataclasses import replace

import numpy as np

from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier


def evidence_and_belief(probability: Array) -> tuple[Array, Array]:
    """For one bag: the strongest instance and P(class in bag) of every class.

    Parameters
    ----------
    probability : array of shape (instances, classes)
        P(class) of every instance of the bag.

    Returns
    -------
    evidence : array of int, shape (classes,)
    belief : array of float, shape (classes,)

    Examples
    --------
    >>> evidence, belief = evidence_and_belief(np.array([[0.5, 0.0], [0.25, 0.5]]))
    >>> evidence.tolist(), belief.tolist()
    ([0, 1], [0.625, 0.5])
    """
    exact = probability.astype(float)
    return strongest(exact), 1 - np.prod(1 - exact, axis=0)


def strongest(probability: Array) -> Array:
    """For one bag: the strongest instance of every class, from P(class) of its instances, (instances, classes)."""
    return np.asarray(probability.argmax(axis=0))


def explain(question: Question, probability: Array) -> Question:
    """The question with its evidence and belief, from P(class) of the instances of its bag, (instances, classes)."""
    if question.instance is not None:
        belief_of_it = float(probability[question.instance, question.classes[0]])
        return replace(question, evidence=(question.instance,), belief=(belief_of_it,))
    evidence, belief = evidence_and_belief(probability[:, list(question.classes)])
    return replace(question, evidence=tuple(evidence.tolist()), belief=tuple(belief.tolist()))


def instance_probabilities(model: MIMLClassifier, bags: Bags) -> list[Array]:
    """P(class) of the instances of every bag, each (instances, classes)."""
    return np.split(model.predict_instance_proba(bags), bags.offsets[1:-1]) if len(bags) else []


def strongest_instances(model: MIMLClassifier, bags: Bags) -> Array:
    """The instance of every bag that the model believes each class in, (bags, classes)."""
    of_bags = [strongest(part) for part in instance_probabilities(model, bags)]
    return np.array(of_bags, np.int64).reshape(len(bags), -1)
