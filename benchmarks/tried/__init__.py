"""Criteria that were tried: ONE FILE = ONE CRITERION, as in bagwise.learning.criteria.

`benchmarks/criteria.py` says how they did.

Each is tried as it is and *balanced*, divided by the square root of the questions already spent on the class, except
those that are balanced already.
"""

from functools import cache

import numpy as np

from bagwise.core.plugins import discover

BALANCED_WITHIN = ("a_optimal", "expected_error_reduction", "farthest_mismatch", "predictive_information_gain")
BALANCED = "balanced_"


def balanced(criterion):
    """Return the criterion divided by the square root of the questions spent on the class."""
    return lambda pool: criterion(pool) / np.sqrt(1 + pool.label_counts.asked)


@cache
def available():
    """Return every tried criterion by name, and its balanced form."""
    plain = {name: getattr(module, name) for name, module in discover(__name__, "bagwise.tried_criteria").items()}
    with_balance = {BALANCED + name: balanced(one) for name, one in plain.items() if name not in BALANCED_WITHIN}
    return plain | with_balance
