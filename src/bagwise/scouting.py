"""Scouting: the first questions, which look for one bag of every class.

A model that has never seen a class cannot say where it is. So instances are clustered (k-means++, 1.5 clusters per
class), and a class that no bag is known to have is looked for where clusters are many that it was not yet denied in:

    score[b, c] = sum over the clusters in bag b of DENIED ^ (bags with this cluster known to lack c)

The class asked about least comes first. It is for a start from nothing: where a bag is labelled completely there is no
scouting. Every second question scouts, until every class is found or 16 labels per class are known: what is unfound
then is left to the criterion, so that a class which hardly any bag has does not take more than its share.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from bagwise.kernels import Array, Instances
from bagwise.labels import Labels

CLUSTERS_PER_CLASS = 1.5
DENIED = 0.2
LABELS_PER_CLASS = 16
EVERY = 2
MOST_CLUSTERED = 20_000
ROWS_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Scout:
    """Which clusters of instances every bag has, (bags x clusters)."""

    clusters: Array

    @classmethod
    def of(cls, instances: Instances, classes: int, seed: int) -> "Scout":
        """Cluster the instances, or an even sample of them."""
        rows = len(instances.x)
        step = -(-rows // MOST_CLUSTERED)
        sample = np.concatenate([block[::step] for _, block in _blocks(instances)])
        count = min(max(2, round(CLUSTERS_PER_CLASS * classes)), len(np.unique(sample, axis=0)))
        found = KMeans(count, n_init=1, random_state=seed).fit(sample)
        has = np.zeros((len(instances.offsets) - 1, count), bool)
        bag = np.repeat(np.arange(len(has)), np.diff(instances.offsets))
        for start, block in _blocks(instances):
            has[bag[start : start + len(block)], found.predict(block)] = True
        return cls(has)

    @staticmethod
    def unfound(labels: Labels, askable: Array) -> Array:
        """Classes to look for: known in no bag, and with something left to ask; none once enough is known."""
        if labels.n_known >= LABELS_PER_CLASS * labels.n_classes or labels.known.all(axis=1).any():
            return np.zeros(labels.n_classes, bool)
        return np.asarray(~labels.value.any(axis=0) & askable.any(axis=0))

    def scores(self, labels: Labels, askable: Array) -> Array:
        """Score every pair, larger = ask sooner; pairs of classes that are not looked for are below 0."""
        lacking = (labels.known & ~labels.value).astype(float)
        denied = lacking.T @ self.clusters
        novelty = self.clusters @ (DENIED**denied).T
        asked = len(labels) - np.count_nonzero(askable, axis=0)
        # A difference in questions asked outweighs any difference in novelty, which is at most the number of clusters.
        turn = (asked.max() - asked) * (1 + self.clusters.shape[1])
        return np.where(self.unfound(labels, askable), turn + novelty, -1.0)


def _blocks(instances: Instances) -> Iterator[tuple[int, Array]]:
    """(first row, rows) of all that the model sees."""
    for start in range(0, len(instances.x), ROWS_AT_A_TIME):
        yield start, instances.transformed(start, min(start + ROWS_AT_A_TIME, len(instances.x)))
