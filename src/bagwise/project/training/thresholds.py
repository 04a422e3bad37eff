"""The thresholds of a project's model: above which probability a class is predicted, for the metric one names."""

from bagwise import evaluation
from bagwise.evaluation import thresholds
from bagwise.model import MIMLClassifier
from bagwise.project.project import Project
from bagwise.project.reports.quality import labels_and_audits


def decide(project: Project, model: MIMLClassifier, metric: str) -> MIMLClassifier:
    """Give the fitted model the thresholds that are best for the metric, as far as the answers can tell."""
    labels, audit = labels_and_audits(project, project.events)
    out_of_fold, kept = evaluation.crossfit(model, project.bags, labels), project.contents.kept_bags
    probability = model.predict_proba(project.bags)
    made = thresholds.learn(probability[kept], out_of_fold[kept], labels.select(kept), audit[kept], metric)
    model.thresholds_ = made.thresholds(labels.n_classes)
    return model
