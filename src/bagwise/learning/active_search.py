"""Active search: where positives are rare, some questions look for more bags of the classes that were found.

A model that has seen a class once or twice cannot tell where it ends, and where 2 % of the pairs are present, questions
about random bags or uncertain pairs hardly ever show it again. So every third question after class discovery is about
the likeliest open bag of a class that

- is present in at least one known pair and in fewer than `HANDFUL`,
- is rare: fewer than `RARE_POOL` of all known pairs are present, or at most `RARE_CLASS` of those of the class, which
  alone does not count where there are hardly more than five bags per class (as for bag completion),
- was not denied more than `PATIENCE` times for every yes: what is left of it is not found this way.

The other questions are chosen as ever: nearly all of them show what is *not* of the class. A search with every question
finds more and learns less (docs/label-efficiency-notes.md). Where positives are common, hardly anything is searched.
"""

import numpy as np

from bagwise.data.label_store import LabelCounts
from bagwise.kernels import Array
from bagwise.model.scored_pool import ScoredPool

EVERY = 3
HANDFUL = 10
RARE_POOL, RARE_CLASS = 0.15, 0.1
PATIENCE = 20


def searched(label_counts: LabelCounts, many_bags: bool = True) -> Array:
    """Return which classes to search with the next question, (C,) of bool.

    Parameters
    ----------
    label_counts
        Of the whole pool.
    many_bags
        Whether there are so many bags per class that a class may count as rare by itself.

    Examples
    --------
    >>> def counts(known, present):
    ...     return LabelCounts(500, np.array(known), np.array(known), np.array(present), 0, 0)
    >>> searched(counts(known=[15, 15], present=[1, 2]))  # 3 of 30 are present
    array([ True,  True])
    >>> searched(counts(known=[15, 15], present=[1, 9]))  # 10 of 30: only the first is rare
    array([ True, False])
    >>> searched(counts(known=[15, 16], present=[1, 2]))  # not the turn of a search
    array([False, False])
    """
    asked, known, present = label_counts.asked, label_counts.known, label_counts.present
    found = (present > 0) & (present < HANDFUL) & (asked < label_counts.bags)
    rare = (present.sum() < RARE_POOL * label_counts.n_known) | (many_bags & (present <= RARE_CLASS * known))
    hopeful = known - present <= PATIENCE * present
    return np.asarray(found & rare & hopeful & (label_counts.n_known % EVERY == 0))


def scores(pool: ScoredPool, classes: Array) -> Array:
    """Score every pair of some classes by its probability, (bags, classes); 0 for the other classes.

    Examples
    --------
    >>> scores(ScoredPool([[0.9, 0.2], [0.5, 0.4]]), np.array([False, True]))
    array([[0. , 0.2],
           [0. , 0.4]])
    """
    return pool.present * pool.like(classes)
