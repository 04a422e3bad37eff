"""The nearest instances of a pool, by an exact pass over all of them in chunks: memory does not grow with the pool.

Instances are compared as the model sees them: transformed by the model's own map (`bagwise.model.features`). With x an
instance and q what is searched for, the distance is

    |x - q|                       below `MANY_FEATURES` features
    1 - (x . q) / (|x| |q|)       from there on, where features are embeddings

since the length of an embedding says more about how loud or large something is than about what it is. A bag is as near
to q as its nearest instance; of two that are equally near the first one counts.

Of several q, as of a whole bag or a file, the distance of a bag is the mean of its distances to each: it has something
like all of them. The least would be of no use, since what all bags have, as noise, is near everywhere. The instance
that is shown of a bag is the one nearest to the rarest q, the one that bags are farthest from on average.

Products and lengths come from kernels whose every number depends on its row alone (`arithmetic.product`): chunks,
partitions and threads do not change a bit of the result. It costs N d (|q| + 8) multiplications and one reading; of
several q two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.product import pack, padded, product_into
from bagwise.kernels.arithmetic.sums import squared_lengths
from bagwise.model.features import MANY_FEATURES, instances_of

MOST_SEARCHED = 1000
"""Instances that are searched for at once: each costs a pass of multiplications over the pool."""
VALUES_AT_A_TIME = 1 << 20
EUCLIDEAN, COSINE = "euclidean", "cosine"


@dataclass(frozen=True)
class Similar:
    """All bags of a pool, the nearest first.

    Parameters
    ----------
    bags : ndarray of int, shape (n,)
        Positions of the bags.
    distances : ndarray, shape (n,)
        The distance of each.
    instances : ndarray of int, shape (n,)
        The position in its bag of the instance that is near.
    like : int
        Which of the instances that were searched for it is near to.
    measure : {"euclidean", "cosine"}
        What the distances are.

    Examples
    --------
    >>> found = Similar(np.array([4, 2]), np.array([0.1, 0.7]), np.array([0, 3]), 0, "euclidean")
    >>> found.bags.tolist(), found.instances.tolist()
    ([4, 2], [0, 3])
    """

    bags: Array
    distances: Array
    instances: Array
    like: int
    measure: str


def nearest(bags: Bags, transformer: Any, searched: Array, among: Array) -> Similar:
    """Return the bags of a pool by their distance from one instance, or from several together.

    Parameters
    ----------
    bags : Bags
        The pool; read once, some rows at a time.
    transformer : StandardScaler or other transformer, or None
        The fitted map of the features, `transformer_` of the model; None for raw features.
    searched : ndarray, shape (q, d)
        Raw instances, at most `MOST_SEARCHED`.
    among : ndarray of int
        Positions of the bags that may be found.

    Returns
    -------
    Similar

    Raises
    ------
    BagwiseError
        If there is no instance to search for, there are too many, or they have another number of features.

    Examples
    --------
    >>> pool = Bags.from_list([[[0.0, 0.0], [5.0, 1.0]], [[5.0, 0.0]]])
    >>> found = nearest(pool, None, np.array([[5.0, 0.0]]), np.arange(2))
    >>> found.bags.tolist(), found.distances.tolist(), found.instances.tolist()
    ([1, 0], [0.0, 1.0], [0, 1])
    """
    _validate(searched, bags.n_features)
    measure, seen, like = measure_of(bags.n_features), as_seen(searched, transformer), 0
    if len(seen) == 1:
        distances, instances = _nearest_instances(bags, transformer, _Comparison(seen, measure))
    else:
        distances, far = _mean_distances(bags, transformer, _Comparison(seen, measure))
        like = int(far.argmax())
        _, instances = _nearest_instances(bags, transformer, _Comparison(seen[like : like + 1], measure))
    order = among[np.argsort(distances[among], kind="stable")]
    return Similar(order, distances[order], instances[order], like, measure)


def _chunks(bags: Bags, transformer: Any, compare: "_Comparison") -> Iterator[tuple[int, Array, Array]]:
    """The first row of each chunk, the bag of each of its rows, and their distances, (rows, q)."""
    step = max(1, VALUES_AT_A_TIME // bags.n_features)
    for first in range(0, bags.n_instances, step):
        rows = bags.rows(first, min(first + step, bags.n_instances))
        bag_of = np.searchsorted(bags.offsets, np.arange(first, first + len(rows)), side="right") - 1
        yield first, bag_of, compare(as_seen(rows, transformer))


def _least(bag_of: Array, distances: Array) -> Array:
    """The least distances of the rows of each bag of a chunk."""
    found: Array = np.minimum.reduceat(distances, np.flatnonzero(np.diff(bag_of, prepend=-1)), axis=0)
    return found


def _nearest_instances(bags: Bags, transformer: Any, compare: "_Comparison") -> tuple[Array, Array]:
    """The distance of each bag from one instance, and the position of its nearest instance."""
    best, instances = np.full(len(bags), np.inf), np.zeros(len(bags), np.int64)
    for first, bag_of, of_rows in _chunks(bags, transformer, compare):
        distances = of_rows[:, 0]
        nearest_rows = np.flatnonzero(distances == _least(bag_of, distances)[bag_of - bag_of[0]])
        there, places = np.unique(bag_of[nearest_rows], return_index=True)
        row = nearest_rows[places]
        nearer = distances[row] < best[there]
        there, row = there[nearer], row[nearer]
        best[there], instances[there] = distances[row], first + row - bags.offsets[there]
    return best, instances


def _mean_distances(bags: Bags, transformer: Any, compare: "_Comparison") -> tuple[Array, Array]:
    """The mean distance of each bag from several instances, and of all bags from each of these, added up."""
    found, far = np.empty(len(bags)), np.zeros(compare.count)
    rest = np.full(compare.count, np.inf)
    for first, bag_of, distances in _chunks(bags, transformer, compare):
        least = _least(bag_of, distances)
        least[0] = np.minimum(least[0], rest)
        # The last bag may go on in the next chunk.
        goes_on = bags.offsets[bag_of[-1] + 1] > first + len(bag_of)
        rest = least[-1] if goes_on else np.full(compare.count, np.inf)
        complete = least[:-1] if goes_on else least
        found[bag_of[0] : bag_of[0] + len(complete)] = complete.mean(axis=1)
        far += complete.sum(axis=0)
    return found, far


def measure_of(width: int) -> str:
    """Return how instances with so many features are compared.

    Parameters
    ----------
    width : int
        Number of features.

    Returns
    -------
    {"euclidean", "cosine"}
    """
    return COSINE if width >= MANY_FEATURES else EUCLIDEAN


def as_seen(rows: Array, transformer: Any) -> Array:
    """Return instances as the model sees them, in double precision.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Raw instances.
    transformer : StandardScaler or other transformer, or None
        The fitted map of the features.

    Returns
    -------
    ndarray, shape (n, width of the map)
    """
    some = Bags.trusted(np.ascontiguousarray(rows), np.array([0, len(rows)]), np.array(["rows"]))
    return instances_of(some, transformer, intercept=False).seen(slice(None)).astype(np.float64, copy=False)


class _Comparison:
    """Distances of blocks of instances from those that are searched for."""

    def __init__(self, searched: Array, measure: str) -> None:
        self.count = len(searched)
        self._measure, self._squares = measure, squares_of(searched)
        self._packed = pack(searched / lengths(self._squares)[:, None] if measure == COSINE else searched)

    def __call__(self, rows: Array) -> Array:
        """The distances of rows, (rows, q)."""
        wide = np.empty((len(rows), padded(self.count)))
        product_into(wide, rows, self._packed, 0.0)
        products, squares = wide[:, : self.count], squares_of(rows)[:, None]
        if self._measure == COSINE:
            return np.maximum(0.0, 1.0 - products / lengths(squares))
        # Rounding makes the square of a distance of 0 a little more or less than 0.
        return np.sqrt(np.maximum(0.0, squares + self._squares - 2 * products))


def squares_of(rows: Array) -> Array:
    """The squares of the lengths of rows, in double precision; each depends on its row alone."""
    found = np.empty(len(rows))
    squared_lengths(rows, found)
    return found


def lengths(squares: Array) -> Array:
    """Of what has no direction the length is 1, so that its cosine with anything is 0."""
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def _validate(searched: Array, width: int) -> None:
    if searched.ndim != 2 or searched.shape[1] != width:
        what = f"instances of shape {searched.shape}"
        raise BagwiseError(f"What is searched for are {what}: each must have the {width} features of the project.")
    if not 1 <= len(searched) <= MOST_SEARCHED:
        raise BagwiseError(
            f"{len(searched)} instances are searched for at once: give 1 to {MOST_SEARCHED}, as of one clip or page."
        )
    if not np.isfinite(searched).all():
        raise BagwiseError("A feature of what is searched for is missing or infinite.")
