"""The current label of every pair: imported (and perhaps corrected), or decided by answers."""

import numpy as np

from bagwise.kernels import Array
from bagwise.learning.questions import Pair
from bagwise.project.answers.events import VALUE, Decision, Votes
from bagwise.project.settings import Settings
from bagwise.project.storage.queries import UNKNOWN, Contents


def known_values(contents: Contents, votes: Votes) -> tuple[Array, Array]:
    """Return 1, 0 or UNKNOWN for every pair, (B, C), and which pairs are unsure, (B, C) of bool."""
    values = contents.given.copy()
    unsure = np.zeros(values.shape, bool)
    for pair, correction in votes.corrected_imports().items():
        present = VALUE[correction.answer]
        values[pair] = UNKNOWN if present is None else present
        unsure[pair] = present is None
    for pair, decision in votes.decisions.items():
        if not contents.is_given(pair):
            values[pair] = UNKNOWN if decision.present is None else decision.present
            unsure[pair] = decision.present is None
    return values, unsure


def known_of(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    """Return the decision that counts for one pair; None where it is open."""
    if not contents.is_given(pair):
        return votes.decisions.get(pair)
    correction = votes.imported(pair).in_effect
    return Decision(bool(contents.given[pair]) if correction is None else VALUE[correction.answer], False)


def fresh_votes(contents: Contents, settings: Settings) -> Votes:
    """Return votes without any event."""
    asking = settings.asking
    return Votes(asking.people, asking.share, settings.learning.seed, contents.adjudicators, contents.removed)
