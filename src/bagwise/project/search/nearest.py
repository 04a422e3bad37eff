"""The nearest instances of a pool, by an exact pass over all of them in chunks: memory does not grow with the pool.

Instances are compared as the model sees them: transformed by the model's own map (`bagwise.model.features`). With x an
instance and q what is searched for, the distance is

    |x - q|                       below `MANY_FEATURES` features
    1 - (x . q) / (|x| |q|)       from there on, where features are embeddings

since the length of an embedding says more about how loud or large something is than about what it is. Of several q it
is the least distance. A bag is as near as its nearest instance; of two that are equally near the first one counts.

Products and lengths come from kernels whose every number depends on its row alone (`arithmetic.product`): chunks,
partitions and threads do not change a bit of the result. It costs N d (|q| + 8) multiplications, and one reading.
"""

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
        The distance of the nearest instance of each.
    instances : ndarray of int, shape (n,)
        The position of that instance in its bag.
    like : ndarray of int, shape (n,)
        Which of the instances that were searched for it is near to.
    measure : {"euclidean", "cosine"}
        What the distances are.

    Examples
    --------
    >>> found = Similar(np.array([4, 2]), np.array([0.1, 0.7]), np.array([0, 3]), np.array([0, 0]), "euclidean")
    >>> found.bags.tolist(), found.instances.tolist()
    ([4, 2], [0, 3])
    """

    bags: Array
    distances: Array
    instances: Array
    like: Array
    measure: str


def nearest(bags: Bags, transformer: Any, searched: Array, among: Array) -> Similar:
    """Return the bags of a pool by the distance of their nearest instance.

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
    measure = measure_of(bags.n_features)
    compare = _Comparison(as_seen(searched, transformer), measure)
    best = np.full(len(bags), np.inf)
    instance, like = np.zeros(len(bags), np.int64), np.zeros(len(bags), np.int64)
    offsets, step = bags.offsets, max(1, VALUES_AT_A_TIME // bags.n_features)
    for first in range(0, bags.n_instances, step):
        rows = bags.rows(first, min(first + step, bags.n_instances))
        distances, of = compare(as_seen(rows, transformer))
        bag_of = np.searchsorted(offsets, np.arange(first, first + len(rows)), side="right") - 1
        least = np.minimum.reduceat(distances, np.flatnonzero(np.diff(bag_of, prepend=-1)))
        nearest_rows = np.flatnonzero(distances == least[bag_of - bag_of[0]])
        there, places = np.unique(bag_of[nearest_rows], return_index=True)
        row = nearest_rows[places]
        nearer = distances[row] < best[there]
        there, row = there[nearer], row[nearer]
        best[there], like[there] = distances[row], of[row]
        instance[there] = first + row - offsets[there]
    order = among[np.argsort(best[among], kind="stable")]
    return Similar(order, best[order], instance[order], like[order], measure)


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
    """Distances of blocks of instances to those that are searched for."""

    def __init__(self, searched: Array, measure: str) -> None:
        self._measure = measure
        self._squares = squares_of(searched)
        if measure == COSINE:
            searched = searched / lengths(self._squares)[:, None]
        self._packed, self._count = pack(searched), len(searched)

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """The least distance of each row, and to which of those that are searched for."""
        products = np.empty((len(rows), padded(self._count)))
        product_into(products, rows, self._packed, 0.0)
        products, squares = products[:, : self._count], squares_of(rows)
        if self._measure == COSINE:
            of = products.argmax(axis=1)
            most = np.take_along_axis(products, of[:, None], axis=1)[:, 0]
            return np.maximum(0.0, 1.0 - most / lengths(squares)), of
        distances = self._squares - 2 * products
        of = distances.argmin(axis=1)
        least = np.take_along_axis(distances, of[:, None], axis=1)[:, 0]
        # Rounding makes the square of a distance of 0 a little more or less than 0.
        return np.sqrt(np.maximum(0.0, squares + least)), of


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
