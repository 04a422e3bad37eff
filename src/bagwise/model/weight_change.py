"""How weights moved: a shrinkage, a few directions, and a remainder whose effect on any logit is bounded.

A step on one bag changes the weights by  W' = keep W + sum_i g_i x_i'  with one term per instance of the bag; `keep`
comes from the penalty and from the projection onto the ball. So all but a little of W' - keep W is along a few
directions. They are found by products with a fixed random matrix, `keep` by what happened across them, and

    left = max_c || W'_c - keep W_c - by_c along ||

is computed from the very numbers that move the logits. By Cauchy and Schwarz a logit of instance x moved as `Move` says
is right within ||x|| left, whatever the update was. Fewer directions cost less and leave more: their own order is that
of the principal axes, and no more of them are used than it takes to leave as little as is wanted.

To that comes rounding, bounded as usual: a sum of n products is off by at most u times the sum of the absolute partial
sums, u the unit roundoff; or by h u times the sum of the absolute products where no product takes part in more than h
roundings. In `kernels.cpu.logit_update` h is features/LANES + 3 for a product with a direction (in lanes, then across
them), one more for every feature that fills no vector, and one for each of the `rank` terms of the sum over directions.
The cached value is multiplied and added last, which rounds twice.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.vectors import LANES
from bagwise.kernels.cpu.logit_cache import Move
from bagwise.kernels.cpu.logit_update import RANKS

RANK = RANKS[-1]


@dataclass(frozen=True)
class WeightChange:
    """The change from the weights (classes, features) of cached logits to others, as they multiply raw rows.

    `reached` are the weights that the moved logits stand for, in double precision: what is left out now is part of the
    next change, so it does not add up. `left` and `rounding` bound how far a logit is then from its right value, for
    an instance of length 1; rounding does add up.
    """

    move: Move
    reached: Array
    left: float
    rounding: float

    @classmethod
    def between(cls, before: Array, after: Array, enough: float = 0.0) -> "WeightChange":
        """The best description with up to `RANK` directions, in the precision of `after`; `enough` may be left."""
        classes = _directions(after - before)
        keep = float(after.dtype.type(1 + _shrinkage(after - before, before, classes)))
        difference = after - keep * before
        along = _principal(difference, _orthonormal(difference.T @ classes.T), enough)
        used = along.astype(after.dtype)
        by = (difference @ along.T).astype(after.dtype)
        reached = keep * before + by.astype(float) @ used
        return cls(Move(keep, by, used), reached, longest(after - reached), _rounding(keep * before, by, used))


def fresh_slack(weights: Array) -> float:
    """By how much a logit computed from these weights is off at most, for an instance of length 1."""
    return unit_of(weights.dtype) * _climb(weights)


def _directions(difference: Array) -> Array:
    """Orthonormal rows that span most of what the columns of `difference` do."""
    return _orthonormal(difference @ _probe(difference.shape[1], min(RANK, *difference.shape)))


def _orthonormal(columns: Array) -> Array:
    """Rows that span what the columns do."""
    return np.ascontiguousarray(np.linalg.qr(columns)[0].T)


def _principal(difference: Array, along: Array, enough: float) -> Array:
    """The directions turned to the principal axes; as few, of those that kernels know, as leave `enough`."""
    by = difference @ along.T
    axes = np.linalg.eigh(by.T @ by)[1][:, ::-1]
    tails = np.cumsum(((by @ axes) ** 2)[:, ::-1], axis=1).max(axis=0)[::-1]
    fewest = next((rank for rank in RANKS[1:] if rank >= len(along) or tails[rank] <= enough**2), RANK)
    return np.asarray(axes[:, :fewest].T @ along)


@cache
def _probe(features: int, rank: int) -> Array:
    return np.random.default_rng(0).standard_normal((features, rank))


def _shrinkage(difference: Array, start: Array, classes: Array) -> float:
    """The s for which s `start` is most like `difference`, across the directions on both sides.

    What the directions miss of the rest is small on either side, so its square is negligible.
    """
    features = _orthonormal(difference.T @ classes.T)

    def across(matrix: Array) -> Array:
        one_side = matrix - classes.T @ (classes @ matrix)
        return np.asarray(one_side - (one_side @ features.T) @ features)

    around = across(start)
    length = float(np.vdot(around, around))
    return float(np.vdot(across(difference), around)) / length if length > 0 else 0.0


def _rounding(start: Array, by: Array, along: Array) -> float:
    """What the two products of a move add, for an instance of length 1."""
    carried = float(np.abs(by.astype(float)).sum(axis=1).max(initial=0))
    rank, features = along.shape
    terms = features // LANES + 3 + features % LANES + rank
    return float(unit_of(by.dtype) * ((terms + 2) * carried + 2 * longest(start)))


def _climb(rows: Array) -> float:
    """The largest sum of the norms of a row's beginnings: what the partial sums of a product may add up to."""
    return 2 + float(np.sqrt(np.cumsum(rows.astype(float) ** 2, axis=1)).sum(axis=1).max())


def longest(rows: Array) -> float:
    """The largest norm of a row."""
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))


def unit_of(dtype: npt.DTypeLike) -> float:
    """The unit roundoff, and a little more for terms of second order."""
    return 0.51 * float(np.finfo(dtype).eps)
