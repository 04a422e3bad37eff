"""Wrong answers: how often each person gives one, which they probably are, and when it pays to ask again."""

from bagwise.evaluation.noise.beliefs import beliefs
from bagwise.evaluation.noise.combined import flip_of
from bagwise.evaluation.noise.rates import PRIOR_RATE, Answers, Estimate, Rate, estimate
from bagwise.evaluation.noise.repeat_questions import after_answer, worth_asking

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
