"""Audits with made-up probabilities, by which they are recognised wherever they are stored."""

from dataclasses import replace

from bagwise.learning.learner import ActiveLearner

PROBABILITIES = [0.5, 1 / 3, 1e-9]


def made_up(pair):
    """The probability of an audit about a pair, or about a whole bag whose first class it is."""
    return PROBABILITIES[sum(pair) % len(PROBABILITIES)]


def make_up(monkeypatch):
    """Let every learner of this process rank audits with made-up probabilities."""
    rank = ActiveLearner.rank

    def ranked(learner, count):
        questions = rank(learner, count)
        return [replace(one, probability=made_up(min(one.pairs))) if one.audit else one for one in questions]

    monkeypatch.setattr(ActiveLearner, "rank", ranked)
