"""How good a model is, estimated from predictions that were made without the labels they are compared with."""

from bagwise.evaluation.crossfit import crossfit
from bagwise.evaluation.estimate import ClassQuality, Interval, Quality, estimate

__all__ = ["ClassQuality", "Interval", "Quality", "crossfit", "estimate"]
