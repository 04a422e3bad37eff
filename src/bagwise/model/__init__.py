"""The model: its objective, its solvers, and the classifier that people use."""

from bagwise.model.choosing import Trial, choose_settings
from bagwise.model.classifier import MIMLClassifier
from bagwise.model.held_out import out_of_fold
from bagwise.model.pool import Pool, Scorer

__all__ = ["MIMLClassifier", "Pool", "Scorer", "Trial", "choose_settings", "out_of_fold"]
