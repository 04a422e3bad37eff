"""The opening: what is asked from a start without a labelled bag, while hardly anything is known.

1. *Scouting* (`scouting.py`), until every class is found in some bag, or 8 labels per class or one for five bags are
   known. What is unfound then is left to chance: where bags are few, complete ones show their classes as soon.
2. *Completing*, until 3 labels per class are *present* (or 24 known): one bag after the other is asked about every
   class that may be in it (P >= 0.1), first those that scouting has begun, then others in a random order. Where there
   are hardly more than five bags for a class there is none of it: of so few, variety teaches more.

A few bags that are known completely teach more than as many answers about bags here and there: what is left over in
them is background, and all their instances are explained. After that the criterion has the word.
"""

from collections.abc import Callable

import numpy as np

from bagwise.data.label_store import Totals
from bagwise.kernels import Array, keyed_uniform
from bagwise.learning.class_discovery import unfound
from bagwise.model import Pool

SCOUTED, SCOUTED_OF_BAGS = 8, 0.2
COMPLETED, BAGS_PER_CLASS, PRESENT = 24, 5, 3
LIKELY = 0.1
LOTS = 0x1075


def is_scouting(totals: Totals) -> bool:
    """Whether classes are still looked for."""
    looking = totals.n_known < min(SCOUTED * len(totals.known), SCOUTED_OF_BAGS * totals.bags)
    return looking and bool(unfound(totals).any())


def is_completing(totals: Totals) -> bool:
    """Whether bags are completed once no class is looked for."""
    classes = len(totals.known)
    few = totals.n_known < min(COMPLETED * classes, totals.bags - BAGS_PER_CLASS * classes)
    return few and int(totals.present.sum()) < PRESENT * classes


def opening(pool: Pool, scout: Callable[[Pool], Array]) -> Array | None:
    """Score every pair, larger = ask sooner; None once the opening is over."""
    if is_scouting(pool.totals):
        return scout(pool)
    return completing(pool) if is_completing(pool.totals) else None


def completing(pool: Pool) -> Array:
    """Bags of which most is known first, then by lot; of a bag first the likeliest class, what is unlikely last.

    >>> from bagwise.data.labels import Labels
    >>> labels = Labels.from_array([[-1, -1, -1], [1, -1, -1]], missing=-1)
    >>> pool = Pool([[0.9, 0.5, 0.5], [0.9, 0.05, 0.3]], labels=labels)
    >>> completing(pool).argsort(axis=None)[-3:]  # of all unknown pairs (1, 2) is asked first, then (0, 0)
    array([1, 0, 5])
    """
    lots = keyed_uniform(pool.seed, pool.keys, np.array(LOTS))
    turn = (pool.known.sum(axis=1) + lots) / (1 + pool.shape[1])
    scores = turn[:, None] + 1e-9 * pool.present
    return np.asarray(np.where(pool.askable & (pool.present >= LIKELY), 1 + scores, scores))
