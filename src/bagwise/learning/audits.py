"""Audits: questions drawn at random from the open pairs, at turns that a seed decides, to estimate quality from.

Whether a turn is an audit depends on the seed and on the number of the turn alone: neither the model nor the order in
which several people answer changes the share of audits.
"""

from collections.abc import Sequence

import numpy as np

from bagwise.kernels import Array, hashed_uniform
from bagwise.learning.questions import Pair, Question, diversify

AUDIT = 0xA0D1


def audit_turns(seed: int, first: int, count: int, share: float) -> Array:
    """Which of the turns `first`, `first + 1`, ... are audits, (count,) of bool."""
    turns = np.arange(first, first + count, dtype=np.uint64)
    return np.asarray(hashed_uniform(seed, turns, np.array(AUDIT)) < share)


def next_questions(
    audits: Sequence[bool], free: Sequence[Question], asked: Sequence[Pair], count: int
) -> list[Question]:
    """Up to `count` of the `free` questions of a ranking, for turns of which `audits` are audits.

    An audit's turn gets a question that was drawn at random, any other turn a chosen one; among the chosen, questions
    that differ from the pairs `asked` and not yet answered come first.
    """
    drawn = [question for question in free if question.audit]
    asked_or_drawn = [*asked, *(pair for question in drawn[: sum(audits)] for pair in question.pairs)]
    chosen = diversify([question for question in free if not question.audit], asked_or_drawn, count)
    ordered = [(drawn if audit and drawn else chosen or drawn).pop(0) for audit in audits[: len(free)]]
    return (ordered + chosen + drawn)[:count]
