"""The opening: what is asked from a start without a labelled bag, while hardly anything is known.

1. *Scouting* (`cold_start.py`), until every class is found in some bag, or 8 labels per class or one for five bags are
   known. What is unfound then is left to chance: where bags are few, complete ones show their classes as soon.
2. *Completing*, until 3 labels per class are *present* (or 24 known): one bag after the other is asked about every
   class that may be in it (P >= 0.1), first those that scouting has begun, then others in a random order. Where there
   are hardly more than five bags for a class there is none of it: of so few, variety teaches more.

A few bags that are known completely teach more than as many answers about bags here and there: what is left over in
them is background, and all their instances are explained. After that the criterion has the word.
"""

from collections.abc import Callable

import numpy as np

from bagwise.data.label_store import LabelCounts
from bagwise.kernels import Array, hashed_uniform
from bagwise.learning.class_discovery import unfound
from bagwise.model import ScoredPool

DISCOVERED, DISCOVERED_OF_BAGS = 8, 0.2
COMPLETED, BAGS_PER_CLASS, PRESENT = 24, 5, 3
LIKELY = 0.1
LOTS = 0x1075


def is_discovering(label_counts: LabelCounts) -> bool:
    """Whether classes are still looked for."""
    looking = label_counts.n_known < min(DISCOVERED * len(label_counts.known), DISCOVERED_OF_BAGS * label_counts.bags)
    return looking and bool(unfound(label_counts).any())


def is_completing(label_counts: LabelCounts) -> bool:
    """Whether bags are completed once no class is looked for."""
    classes = len(label_counts.known)
    few = label_counts.n_known < min(COMPLETED * classes, label_counts.bags - BAGS_PER_CLASS * classes)
    return few and int(label_counts.present.sum()) < PRESENT * classes


def cold_start_scores(pool: ScoredPool, discover: Callable[[ScoredPool], Array]) -> Array | None:
    """Score every pair, larger = ask sooner; None once the opening is over."""
    if is_discovering(pool.label_counts):
        return discover(pool)
    return bag_completion(pool) if is_completing(pool.label_counts) else None


def bag_completion(pool: ScoredPool) -> Array:
    """Bags of which most is known first, then by lot; of a bag first the likeliest class, what is unlikely last.

    >>> from bagwise.data.labels import Labels
    >>> labels = Labels.from_array([[-1, -1, -1], [1, -1, -1]], missing=-1)
    >>> pool = ScoredPool([[0.9, 0.5, 0.5], [0.9, 0.05, 0.3]], labels=labels)
    >>> bag_completion(pool).argsort(axis=None)[-3:]  # of all unknown pairs (1, 2) is asked first, then (0, 0)
    array([1, 0, 5])
    """
    lots = hashed_uniform(pool.seed, pool.keys, np.array(LOTS))
    turn = (pool.known.sum(axis=1) + lots) / (1 + pool.shape[1])
    scores = turn[:, None] + 1e-9 * pool.present
    return np.asarray(np.where(pool.askable & (pool.present >= LIKELY), 1 + scores, scores))
