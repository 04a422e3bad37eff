"""The thresholds of a project's model: above which probability a class is predicted, for the metric one names."""

import numpy as np

from bagwise import evaluation
from bagwise.data.labels import Labels
from bagwise.evaluation import thresholds
from bagwise.kernels import Array
from bagwise.model import MIMLClassifier
from bagwise.project.answers.current_labels import instance_labels_of
from bagwise.project.answers.replay import Replay
from bagwise.project.storage.queries import UNKNOWN


def labels_and_audits(counted: Replay) -> tuple[Labels, Array]:
    """Return the labels known after the counted events, and which of them answer audit questions, drawn at random.

    Parameters
    ----------
    counted : Replay
        The events, counted.

    Returns
    -------
    labels : Labels
        Imported labels and decided answers, (bags, classes), and what is known of single instances.
    audit : bool array, (bags, classes)
        Which pairs were decided by answers to audit questions.
    """
    values, _ = counted.known()
    audit = np.zeros(values.shape, bool)
    for pair, decision in counted.votes.decisions.items():
        audit[pair] = decision.audit and not counted.contents.is_given(pair)
    labels = Labels.from_array(values, missing=UNKNOWN)
    instances = instance_labels_of(counted.contents, counted.votes)
    return Labels(labels.value, labels.known, instances=instances), audit


def learn_thresholds(counted: Replay, model: MIMLClassifier, metric: str) -> None:
    """Set the thresholds of a fitted model to those that are best for a metric, as far as the answers can tell.

    Parameters
    ----------
    counted : Replay
        The events that the model was fitted to, with the bags.
    model : MIMLClassifier
        Gets the attribute `thresholds_`, (classes,).
    metric : str
        One of `bagwise.evaluation.thresholds.EXPECTED`.
    """
    assert counted.bags is not None
    labels, audit = labels_and_audits(counted)
    out_of_fold, kept = evaluation.crossfit(model, counted.bags, labels), counted.contents.kept_bags
    probability = model.predict_proba(counted.bags)
    made = thresholds.learn(probability[kept], out_of_fold[kept], labels.select(kept), audit[kept], metric)
    model.thresholds_ = made.thresholds(labels.n_classes)
