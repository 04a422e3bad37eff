"""Class discovery: the first questions, which look for one bag of every class.

A model that has never seen a class cannot predict where it is. So instances are clustered (k-means++, six clusters per
class) as if every cluster were of one class or of none, and a class that no bag is known to have is looked for where a
yes is likeliest, bags with many clusters held back:

    weight[k, c] = DENIED ^ (bags with cluster k known to lack c)
    P(k is c)    = weight[k, c] / (1 + sum over classes of weight[k, .])
                   * DENIED ^ (instances of cluster k known to be of another class)
    score[b, c]  = (1 - product over the clusters k in b of (1 - P(k is c))) / sqrt(clusters in b)

A cluster that was denied for most classes is likely to be of one that is left: so one unusual bag is asked about class
after class until it is explained. That a cluster may be of a class found already does not lower its score; that an
instance of it was pointed at for that class does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.data.label_store import LabelCounts
from bagwise.data.labels import Labels
from bagwise.kernels import Array, Instances
from bagwise.kernels.arithmetic.clustering import ROWS_AT_A_TIME, k_means, nearness_to
from bagwise.kernels.arithmetic.elementary import expm1_nonpositive, log1p
from bagwise.kernels.arithmetic.product import Linear
from bagwise.model.scored_pool import ScoredPool

CLUSTERS_PER_CLASS = 6
MOST_CLUSTERS = 150
ROUNDS = 20
DENIED = 0.1
MOST_DENIALS = 64
MOST_CLUSTERED = 20_000


def sample(instances: Instances, first_row: int = 0, all_rows: int | None = None) -> Array:
    """Return the part of an even sample of all transformed rows that is among these, which begin at `first_row`."""
    last_row = first_row + len(instances.x)
    step = -(-(last_row if all_rows is None else all_rows) // MOST_CLUSTERED)
    rows = np.arange(-(-first_row // step) * step, last_row, step) - first_row
    return instances.seen(rows)


@dataclass(frozen=True)
class InstanceClusters:
    """The centres of clusters, (clusters, columns)."""

    centres: Array

    @classmethod
    def of(cls, sampled: Array, classes: int, seed: int) -> "InstanceClusters":
        """Cluster the sample."""
        wanted = min(max(2, CLUSTERS_PER_CLASS * classes), MOST_CLUSTERS)
        count = min(wanted, len(np.unique(sampled, axis=0)))
        return cls(k_means(sampled, count, ROUNDS, seed))

    def clusters(self, instances: Instances) -> Array:
        """Return which clusters every bag has, (bags, clusters) of 0 and 1.

        The distance of a row to a centre depends on the row only, so a bag has the same clusters on every shard.
        """
        has = np.zeros((len(instances.offsets) - 1, len(self.centres)), np.float32)
        bag = np.repeat(np.arange(len(has)), np.diff(instances.offsets))
        for start in range(0, len(instances.x), ROWS_AT_A_TIME):
            rows = instances.transformed(start, min(start + ROWS_AT_A_TIME, len(instances.x)))
            has[bag[start : start + len(rows)], self._nearest(rows, instances.precision)] = 1
        return has

    def known_instances(self, instances: Instances, labels: Labels) -> Array:
        """Return how many instances of every cluster are known to be of each class, (clusters, classes)."""
        known = np.zeros((len(self.centres), labels.n_classes), np.int64)
        of_class = [
            (instances.offsets[bag] + one.instance, one.label_class) for bag, one in labels.instances if one.present
        ]
        if of_class:
            rows, classes = np.array(of_class).T
            np.add.at(known, (self._nearest(instances.seen(rows), instances.precision), classes), 1)
        return known

    def _nearest(self, rows: Array, precision: np.dtype[Any]) -> Array:
        products, bias, _ = nearness_to(np.ascontiguousarray(self.centres, precision)).logits(rows)
        return np.asarray((products + bias).argmax(axis=1))


@dataclass(frozen=True)
class Discovery:
    """Class discovery as a criterion.

    Parameters
    ----------
    clusters
        Which clusters every bag of the pool has, (B, clusters) of 0 and 1.
    is_class
        P(cluster is of class), (clusters, C).
    looked_for
        Which classes are looked for, (C,) of bool.
    """

    clusters: Array
    is_class: Array
    looked_for: Array

    def __call__(self, pool: ScoredPool) -> Array:
        """Score every pair of a pool, or of a part of it, larger = ask sooner."""
        return scores(self.clusters[pool.positions], self.is_class, self.looked_for)


def unfound(label_counts: LabelCounts) -> Array:
    """Return which classes to look for: present in no known pair, with open pairs left, and not denied too often."""
    return np.asarray(
        (label_counts.present == 0) & (label_counts.asked < label_counts.bags) & (label_counts.known < MOST_DENIALS)
    )


def suspicion(clusters: Array, labels: Labels, known_instances: Array) -> Array:
    """Return P(cluster is of class), (clusters, classes).

    Parameters
    ----------
    clusters
        Which clusters the labelled bags have, (labelled bags, clusters).
    labels
        Their labels.
    known_instances
        Number of instances of every cluster that are known to be of each class, (clusters, classes).
    """
    lacking = (labels.known & ~labels.value).astype(np.float32)
    weight = _denied((clusters.T @ lacking).astype(np.int64))
    of_another = known_instances.sum(axis=1, keepdims=True) - known_instances
    return np.asarray(weight / (1 + weight.sum(axis=1, keepdims=True)) * _denied(of_another))


def _denied(times: Array) -> Array:
    """DENIED to the power of every number."""
    return np.cumprod([1.0] + [DENIED] * int(times.max(initial=0)), dtype=np.float32)[times]


def scores(clusters: Array, is_class: Array, looked_for: Array) -> Array:
    """Score every pair of the bags with these clusters, larger = ask sooner; 0 for classes that are not looked for."""
    is_absent = Linear(
        np.ascontiguousarray(log1p(-is_class).T, is_class.dtype), np.zeros(is_class.shape[1], is_class.dtype)
    )
    found = np.zeros((len(clusters), is_class.shape[1]))
    columns = np.flatnonzero(looked_for)
    for start in range(0, len(clusters), ROWS_AT_A_TIME):
        part = clusters[start : start + ROWS_AT_A_TIME]
        yes = -expm1_nonpositive(is_absent.logits(part)[0][:, columns])
        found[start : start + len(part), columns] = yes / np.sqrt(part.sum(axis=1, keepdims=True))
    return found
