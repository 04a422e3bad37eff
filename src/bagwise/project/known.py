"""What is known of every pair: imported, or decided by answers."""

import numpy as np

from bagwise.kernels import Array
from bagwise.project.events import Votes
from bagwise.project.store import UNKNOWN, Contents


def known_values(contents: Contents, votes: Votes) -> tuple[Array, Array]:
    """1, 0 or UNKNOWN for every pair, imported or decided; and where nobody could say."""
    values = contents.given.copy()
    unsure = np.zeros(values.shape, bool)
    for pair, decision in votes.decisions.items():
        if not contents.is_given(pair):
            values[pair] = UNKNOWN if decision.present is None else decision.present
            unsure[pair] = decision.present is None
    return values, unsure
