"""Cold start: what is asked without a completely labelled bag, while few labels or few positives are known.

1. *Class discovery* (`class_discovery.py`), until every class is found in some bag, or 8 labels per class or one for
   five bags are known. Classes not found by then are left to chance: where bags are few, complete ones show their
   classes as soon.
2. *Bag completion*, until 3 labels per class are *present* (or 24 known): one bag after the other is asked about every
   class that may be in it (P >= 0.1), first those that class discovery asked about, then others in a random order. It
   is skipped where there are hardly more than five bags per class: of so few, the model learns more from variety.
3. *Active search* (`active_search.py`), in turn with bag completion and then with the criterion: where positives are
   rare, every third question is about the likeliest bag of a class that was found, until it has a handful.

Embeddings of a trained model (`MANY_FEATURES`) tell classes apart after a few labels, and the criterion chooses better
than a cold start from there on: it ends at 3 labels per class, with bag completion at 6 (docs/embeddings.md).

Scores of a classifier are put to the test by the first answers (`model.usefulness`): these are asked for as without
scores, so that nothing is lost where they are useless. Where they help, class discovery then asks about the likeliest
bag of a class, and no bag is completed.

The model learns more from a few completely labelled bags than from as many answers about scattered bags: instances
without a class are known to be background, and all are explained. After that the criterion decides.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bagwise.data.label_store import LabelCounts
from bagwise.kernels import Array
from bagwise.learning import active_search
from bagwise.learning.class_discovery import unfound
from bagwise.learning.criteria import Criterion
from bagwise.model import ScoredPool
from bagwise.model.features import MANY_FEATURES
from bagwise.model.usefulness import FEWEST

DISCOVERED_OF_BAGS = 0.2
BAGS_PER_CLASS, PRESENT = 5, 3
LIKELY = 0.1
RANDOM_ORDER = 0x1075


@dataclass(frozen=True)
class ColdStart:
    """How long the parts of a cold start go on.

    Parameters
    ----------
    discovered, completed
        Known labels per class at which class discovery, and bag completion, end at last.
    searches
        Whether there is an active search.

    Examples
    --------
    >>> ColdStart.of(n_features=38)
    ColdStart(discovered=8, completed=24, searches=True)
    >>> ColdStart.of(n_features=1024)
    ColdStart(discovered=3, completed=6, searches=True)
    """

    discovered: int = 8
    completed: int = 24
    searches: bool = True

    @classmethod
    def of(cls, n_features: int) -> "ColdStart":
        """Return that of bags with so many features."""
        return cls(3, 6) if n_features >= MANY_FEATURES else cls()

    def is_discovering(self, label_counts: LabelCounts) -> bool:
        """Return whether class discovery goes on."""
        most = self.most_discovered(label_counts.bags, len(label_counts.known))
        return label_counts.n_known < most and bool(unfound(label_counts).any())

    def most_discovered(self, bags: int, classes: int) -> float:
        """Return the number of known labels at which class discovery ends, whether or not all classes are found."""
        return min(self.discovered * classes, DISCOVERED_OF_BAGS * bags)

    def is_completing(self, label_counts: LabelCounts) -> bool:
        """Return whether bag completion goes on after class discovery."""
        classes = len(label_counts.known)
        few = label_counts.n_known < self.completed * classes and has_many_bags(label_counts)
        return few and int(label_counts.present.sum()) < PRESENT * classes

    def criterion(self, pool: ScoredPool, discover: Callable[[ScoredPool], Criterion]) -> Criterion | None:
        """Return the criterion of the next question; None where the learner's own decides."""
        counts = pool.label_counts
        scores_help = pool.uses_scores and counts.n_known >= FEWEST
        if self.is_discovering(counts):
            return likeliest if scores_help else discover(pool)
        if self.searches and active_search.searched(counts, has_many_bags(counts)).any():
            return search
        return bag_completion if not scores_help and self.is_completing(counts) else None


def has_many_bags(label_counts: LabelCounts) -> bool:
    """Return whether there are more than `BAGS_PER_CLASS` bags for every class, beyond one for every known label."""
    return label_counts.n_known < label_counts.bags - BAGS_PER_CLASS * len(label_counts.known)


def likeliest(pool: ScoredPool) -> Array:
    """Score pairs of classes that are not found yet by their probability, over 1 + the questions about the class.

    Examples
    --------
    >>> likeliest(ScoredPool([[0.9, 0.2], [0.5, 0.4]]))
    array([[0.9, 0.2],
           [0.5, 0.4]])
    """
    counts = pool.label_counts
    return pool.present * pool.like(unfound(counts) / (1.0 + counts.asked))


def search(pool: ScoredPool) -> Array:
    """Score pairs of the classes that active search is looking for by their probability.

    Examples
    --------
    >>> search(ScoredPool([[0.9, 0.2], [0.5, 0.4]]))  # nothing is known: no class was found
    array([[0., 0.],
           [0., 0.]])
    """
    counts = pool.label_counts
    return active_search.scores(pool, active_search.searched(counts, has_many_bags(counts)))


def bag_completion(pool: ScoredPool) -> Array:
    """Score bags with the most known labels first, then at random; in a bag the most probable class first.

    Examples
    --------
    >>> from bagwise.data.labels import Labels
    >>> labels = Labels.from_array([[-1, -1, -1], [1, -1, -1]], missing=-1)
    >>> pool = ScoredPool([[0.9, 0.5, 0.4], [0.9, 0.05, 0.3]], labels=labels)
    >>> bag_completion(pool).argsort(axis=None)[-3:]  # of all unknown pairs (1, 2) is asked first, then (0, 0)
    array([1, 0, 5])
    """
    priority = (pool.known_in_bag + pool.uniform(RANDOM_ORDER)) / pool.like(np.array(1.0 + pool.shape[1]))
    likely = pool.askable & (pool.present >= LIKELY)
    return (priority[:, None] + 1e-9 * pool.present) + likely


for _one in (likeliest, search, bag_completion):
    _one.rises_with, _one.same_on_devices = "present", True  # type: ignore[attr-defined]
