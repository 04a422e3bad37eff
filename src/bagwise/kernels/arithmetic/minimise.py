"""L-BFGS whose every step is the same on every processor (Liu & Nocedal 1989; line search: Nocedal & Wright, 3.5).

    direction = -H g,   H the inverse Hessian that the last `MEMORY` changes of x and of the gradient suggest
    step:  F(x + t p) <= F + SUFFICIENT t p'g   and   |p'g(x + t p)| <= CURVATURE |p'g|        (strong Wolfe)

SciPy's does the same with the same constants, but its sums are done by BLAS, in an order that suits the processor. The
last digits of a gradient decide where a search that has not converged ends, so weights would differ visibly.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bagwise.kernels.arithmetic.compile import Array, kernel
from bagwise.kernels.arithmetic.sums import dot

MEMORY = 20
SUFFICIENT, CURVATURE = 1e-3, 0.9
FARTHER, MOST_TRIALS = 4.0, 20
NEAREST, NARROWEST = 0.1, 1e-10
DECREASE = 1e-12
FLATTEST = 2.2e-16

Function = Callable[[Array], tuple[float, Array]]


def minimise(
    function: Function,
    start: Array,
    iterations: int,
    tolerance: float,
    record: Callable[[Array, float], None] = lambda *_: None,
) -> tuple[Array, int]:
    """A minimiser near `start` (a row of numbers) and the iterations it took; record(x, F) after each.

    It ends when no entry of the gradient exceeds `tolerance`, when F falls by less than `DECREASE` of itself, or when
    no step makes it fall.
    """

    def evaluate(point: Array) -> tuple[float, Array]:
        found, slope = function(point)
        return found, np.ascontiguousarray(slope, np.float64)

    x = np.array(start, dtype=np.float64)
    value, gradient = evaluate(x)
    history, done = _History(len(x)), 0
    while done < iterations and np.abs(gradient).max() > tolerance:
        direction = history.direction(gradient)
        found = _search(evaluate, x, direction, value, dot(direction, gradient), history.first_step(gradient))
        if found is None:
            if history.count == 0:
                break
            history.count = 0
            continue
        moved = found.x - x
        history.add(moved, found.gradient - gradient)
        fallen = value - found.value
        x, value, gradient = found.x, found.value, found.gradient
        done += 1
        record(x, value)
        if fallen <= DECREASE * max(abs(value), abs(value + fallen), 1.0):
            break
    return x, done


class _History:
    """The last changes of x and of the gradient."""

    def __init__(self, size: int) -> None:
        self.moves, self.changes = np.empty((MEMORY, size)), np.empty((MEMORY, size))
        self.products = np.empty(MEMORY)
        self.count, self.newest = 0, -1

    def add(self, moved: Array, changed: Array) -> None:
        """One more, unless F is not convex along it."""
        product = dot(moved, changed)
        if product > FLATTEST * dot(changed, changed):
            self.newest, self.count = (self.newest + 1) % MEMORY, min(self.count + 1, MEMORY)
            self.moves[self.newest], self.changes[self.newest] = moved, changed
            self.products[self.newest] = product

    def first_step(self, gradient: Array) -> float:
        """The length that the search begins with."""
        return 1.0 if self.count else min(1.0, 1.0 / math.sqrt(dot(gradient, gradient)))

    def direction(self, gradient: Array) -> Array:
        """Where F should fall fastest."""
        direction = -gradient
        if self.count:
            _apply_inverse_hessian(direction, self.moves, self.changes, self.products, self.newest, self.count)
        return direction


@kernel
def _apply_inverse_hessian(
    vector: Array, moves: Array, changes: Array, products: Array, newest: int, count: int
) -> None:
    shares = np.empty(count)
    for age in range(count):
        k = (newest - age) % MEMORY
        shares[age] = dot(moves[k], vector) / products[k]
        for j in range(vector.shape[0]):
            vector[j] -= shares[age] * changes[k, j]
    scale = products[newest] / dot(changes[newest], changes[newest])
    for j in range(vector.shape[0]):
        vector[j] *= scale
    for age in range(count - 1, -1, -1):
        k = (newest - age) % MEMORY
        share = shares[age] - dot(changes[k], vector) / products[k]
        for j in range(vector.shape[0]):
            vector[j] += share * moves[k, j]


class _Trial(NamedTuple):
    step: float
    value: float
    slope: float
    x: Array
    gradient: Array


def _search(function: Function, x: Array, direction: Array, value: float, slope: float, step: float) -> _Trial | None:
    """A step that satisfies both conditions, or the best found that makes F fall; None where none does."""
    if not slope < 0:
        return None
    low = _Trial(0.0, value, slope, x, direction)
    high: _Trial | None = None
    for _ in range(MOST_TRIALS):
        point = x + step * direction
        found_value, gradient = function(point)
        found = _Trial(step, found_value, dot(gradient, direction), point, gradient)
        if not found.value <= value + SUFFICIENT * step * slope or (low.step > 0 and found.value >= low.value):
            high = found
        elif abs(found.slope) <= -CURVATURE * slope:
            return found
        else:
            if found.slope * ((step if high is None else high.step) - low.step) >= 0:
                high = low
            low = found
        if high is None:
            step = FARTHER * step
        elif abs(high.step - low.step) <= NARROWEST * max(high.step, low.step):
            break
        else:
            step = _between(low, high)
    return low if low.step > 0 else None


def _between(low: _Trial, high: _Trial) -> float:
    """The minimum of the cubic through both ends, kept away from them; the middle where there is none."""
    width = high.step - low.step
    share = 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        bend = low.slope + high.slope - 3 * (high.value - low.value) / width
        square = bend * bend - low.slope * high.slope
        if square >= 0:
            root = math.copysign(math.sqrt(square), width)
            bottom = high.slope - low.slope + 2 * root
            if bottom != 0:
                share = 1 - (high.slope + root - bend) / bottom
    return low.step + min(max(share, NEAREST), 1 - NEAREST) * width
