"""The thresholds of a project's model: above which probability a class is predicted, for the metric one names."""

from bagwise import evaluation
from bagwise.data.labels import Labels
from bagwise.evaluation import thresholds
from bagwise.evaluation.audit_history import AuditHistory
from bagwise.model import MIMLClassifier
from bagwise.project.answers.audits import audit_history
from bagwise.project.answers.current_labels import instance_labels_of
from bagwise.project.answers.replay import Replay
from bagwise.project.storage.queries import UNKNOWN


def labels_and_audits(counted: Replay) -> tuple[Labels, AuditHistory]:
    """Return the labels known after the counted events, and the audits among them with how they were drawn.

    Parameters
    ----------
    counted : Replay
        The events, counted.

    Returns
    -------
    labels : Labels
        Imported labels and decided answers, (bags, classes), and what is known of single instances.
    audits : AuditHistory
        The audits in effect, in the order of their draws, and which pairs were open at each.
    """
    values, _ = counted.known()
    labels = Labels.from_array(values, missing=UNKNOWN)
    instances = instance_labels_of(counted.contents, counted.votes)
    audits = audit_history(counted.contents, counted.votes)
    return Labels(labels.value, labels.known, instances=instances), audits


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
    labels, audits = labels_and_audits(counted)
    out_of_fold, kept = evaluation.crossfit(model, counted.bags, labels), counted.contents.kept_bags
    probability = model.predict_proba(counted.bags)
    made = thresholds.learn(probability[kept], out_of_fold[kept], labels.select(kept), audits.audited[kept], metric)
    model.thresholds_ = made.thresholds(labels.n_classes)
