"""Scouting: the first questions, which look for one bag of every class.

A model that has never seen a class cannot say where it is. So instances are clustered (k-means++, six clusters per
class) as if every cluster were of one class or of none, and a class that no bag is known to have is looked for where a
yes is likeliest, bags with many clusters held back:

    weight[k, c] = DENIED ^ (bags with cluster k known to lack c)
    P(k is c)    = weight[k, c] / (1 + sum over classes of weight[k, .])
    score[b, c]  = (1 - product over the clusters k in b of (1 - P(k is c))) / sqrt(clusters in b)

A cluster that was denied to most classes is likely to be of one that is left: so one strange bag is asked about class
after class until it is explained. It is not held against a cluster that it may be of a class found already.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from bagwise.kernels import Array, Instances
from bagwise.labels import Labels

CLUSTERS_PER_CLASS = 6
MOST_CLUSTERS = 150
ROUNDS = 20
DENIED = 0.1
MOST_DENIALS = 64
MOST_CLUSTERED = 20_000
ROWS_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Scout:
    """Which clusters of instances every bag has, (bags x clusters) of 0 and 1."""

    clusters: Array

    @classmethod
    def of(cls, instances: Instances, classes: int, seed: int) -> "Scout":
        """Cluster the instances, or an even sample of them."""
        rows = len(instances.x)
        step = -(-rows // MOST_CLUSTERED)
        sample = np.concatenate([block[::step] for _, block in _blocks(instances)])
        wanted = min(max(2, CLUSTERS_PER_CLASS * classes), MOST_CLUSTERS)
        count = min(wanted, len(np.unique(sample, axis=0)))
        found = KMeans(count, n_init=1, max_iter=ROUNDS, random_state=seed).fit(sample)
        has = np.zeros((len(instances.offsets) - 1, count), np.float32)
        bag = np.repeat(np.arange(len(has)), np.diff(instances.offsets))
        for start, block in _blocks(instances):
            has[bag[start : start + len(block)], found.predict(block)] = 1
        return cls(has)

    @staticmethod
    def unfound(labels: Labels, askable: Array) -> Array:
        """Classes to look for: known in no bag, with something left to ask, and not looked for in vain for long."""
        denials = np.count_nonzero(labels.known, axis=0)
        return np.asarray(~labels.value.any(axis=0) & askable.any(axis=0) & (denials < MOST_DENIALS))

    def scores(self, labels: Labels, askable: Array) -> Array:
        """Score every pair, larger = ask sooner; 0 for classes that are not looked for."""
        told = np.flatnonzero(labels.known.any(axis=1))
        lacking = (labels.known & ~labels.value)[told].astype(np.float32)
        weight = DENIED ** (self.clusters[told].T @ lacking)
        is_class = weight / (1 + weight.sum(axis=1, keepdims=True))
        yes = -np.expm1(self.clusters @ np.log1p(-is_class))
        return np.where(self.unfound(labels, askable), yes / np.sqrt(self.clusters.sum(axis=1, keepdims=True)), 0.0)


def _blocks(instances: Instances) -> Iterator[tuple[int, Array]]:
    """(first row, rows) of all that the model sees."""
    for start in range(0, len(instances.x), ROWS_AT_A_TIME):
        yield start, instances.transformed(start, min(start + ROWS_AT_A_TIME, len(instances.x)))
