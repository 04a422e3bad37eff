"""Criteria that were tried: ONE FILE = ONE CRITERION, as in bagwise.learning.criteria.

`benchmarks/criteria.py` says how they did.

Each is tried as it is and *balanced*, divided by the square root of the questions already spent on the class, but for
those that are balanced within.
"""

from functools import cache

import numpy as np

from bagwise.core.plugins import discover

BALANCED_WITHIN = ("expected_error_reduction",)
BALANCED = "balanced_"


def balanced(criterion):
    """The criterion, shared out among the classes."""
    return lambda pool: criterion(pool) / np.sqrt(1 + pool.label_counts.asked)


@cache
def available():
    """Every tried criterion by name, and its balanced form."""
    plain = {name: getattr(module, name) for name, module in discover(__name__, __name__).items()}
    shared = {BALANCED + name: balanced(one) for name, one in plain.items() if name not in BALANCED_WITHIN}
    return plain | shared
