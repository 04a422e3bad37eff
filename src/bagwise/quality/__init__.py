"""Quality that can be believed: estimated from predictions made without the labels they are compared with."""

from bagwise.quality.crossfit import crossfit
from bagwise.quality.estimate import ClassQuality, Interval, Quality, estimate

__all__ = ["ClassQuality", "Interval", "Quality", "crossfit", "estimate"]
