"""The model: its objective, its solvers, and the classifier that people use."""

from bagwise.model.classifier import MIMLClassifier
from bagwise.model.cross_validation import out_of_fold
from bagwise.model.scored_pool import ScoredPool, Scorer
from bagwise.model.tuning import Trial, choose_settings

__all__ = ["MIMLClassifier", "ScoredPool", "Scorer", "Trial", "choose_settings", "out_of_fold"]
