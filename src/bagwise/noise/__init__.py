"""Wrong answers: how often each person gives one, which they probably are, and when it pays to ask again."""

from bagwise.noise.asking_again import after_answer, worth_asking
from bagwise.noise.beliefs import beliefs
from bagwise.noise.rates import PRIOR_RATE, Answers, Estimate, Rate, estimate
from bagwise.noise.together import flip_of

__all__ = [
    "PRIOR_RATE",
    "Answers",
    "Estimate",
    "Rate",
    "after_answer",
    "beliefs",
    "estimate",
    "flip_of",
    "worth_asking",
]
