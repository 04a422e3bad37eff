"""Bagwise: active learning on bags with several labels, some of them unknown."""

from bagwise import criteria, datasets, metrics
from bagwise.asking import Answer, NothingToAsk, Question
from bagwise.bags import Bags
from bagwise.errors import BagwiseError
from bagwise.labels import Labels
from bagwise.learner import ActiveLearner
from bagwise.model import MIMLClassifier, Pool

__all__ = [
    "ActiveLearner",
    "Answer",
    "Bags",
    "BagwiseError",
    "Labels",
    "MIMLClassifier",
    "NothingToAsk",
    "Pool",
    "Question",
    "criteria",
    "datasets",
    "metrics",
]
