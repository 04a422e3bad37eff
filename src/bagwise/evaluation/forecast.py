"""Forecast of the answers needed to reach a target: a saturating curve through the estimates so far.

    quality(n) = top - fall * n^(-power),     fall >= 0,  top <= 1

For every power on a grid the best top and fall follow by weighted least squares; the power with the smallest error
wins. Uncertainty by resampling: all estimates are moved together by what the last one may be off, since they share
their answers, and each by itself as well. A draw whose top stays below the target never reaches it.

After few audits such an interval mostly goes from 0 to *not reachable*, which is no help in planning. So there is a
forecast only where it is informative, that is

    the total number of answers is known within a factor of two, or at least doubles, or the target is out of reach,

each with the confidence of the interval; else it is too early.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bagwise.evaluation.estimate import Interval
from bagwise.kernels import Array

POWERS = np.array([0.25, 0.5, 0.75, 1.0, 1.5])
DRAWS = 400
OWN_SHARE = 0.6
FEWEST_POINTS = 3
NORMAL_95 = 1.96
NEVER = 1_000_000
INFORMATIVE_FACTOR = 2


@dataclass(frozen=True)
class Point:
    """The quality estimated after a number of answers, on a scale where more is better.

    Parameters
    ----------
    answers : int
        Number of answers.
    quality : Interval
        The estimate, between 0 and 1.

    Examples
    --------
    >>> Point(100, Interval(0.8, 0.75, 0.85)).quality.value
    0.8
    """

    answers: int
    quality: Interval


@dataclass(frozen=True)
class Forecast:
    """Number of answers still needed, with a 95 % interval; None means *not reachable by more answers*.

    Parameters
    ----------
    needed : int or None
        The median.
    low, high : int or None
        The ends of the interval.

    Examples
    --------
    >>> Forecast(60, 20, 180).is_informative(answers=200), Forecast(60, 0, None).is_informative(answers=200)
    (True, False)
    """

    needed: int | None
    low: int | None
    high: int | None

    def is_informative(self, answers: int) -> bool:
        """Return whether it tells somebody who gave so many answers what to do.

        Parameters
        ----------
        answers : int
            Number of answers so far.

        Returns
        -------
        bool
            True where the total is known within a factor of `INFORMATIVE_FACTOR`, or at least that much larger than
            now, or where the target is out of reach.
        """
        if self.high is None:
            return self.low is None or answers + self.low >= INFORMATIVE_FACTOR * answers
        return answers + self.high <= INFORMATIVE_FACTOR * (answers + (self.low or 0))


@dataclass(frozen=True)
class Curves:
    """Resampled curves through the same points."""

    top: Array
    fall: Array
    power: Array

    def at(self, answers: float) -> Array:
        """Return the quality after this number of answers, for every curve."""
        return np.asarray(self.top - self.fall * max(answers, 1.0) ** -self.power)

    def reached(self, target: float) -> Array:
        """Return after how many answers each curve reaches the target; infinite where it never does."""
        above = self.top - target
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            answers = (self.fall / above) ** (1 / self.power)
        return np.where((above > 0) & (answers < NEVER), answers, np.where(above > self.fall, 0, np.inf))


def curves_through(points: Sequence[Point], seed: int = 0) -> Curves | None:
    """Return curves through resampled points; None where there are fewer than `FEWEST_POINTS` points."""
    if len(points) < FEWEST_POINTS:
        return None
    rng = np.random.default_rng([seed, len(points)])
    answers = np.array([max(point.answers, 1) for point in points], float)
    values = np.array([point.quality.value for point in points])
    spread = np.array([max(point.quality.high - point.quality.low, 0.01) for point in points]) / (2 * NORMAL_95)
    together = rng.standard_normal((DRAWS, 1)) * spread[-1]
    drawn = np.clip(values + together + OWN_SHARE * spread * rng.standard_normal((DRAWS, len(points))), 0, 1)
    return _fit(answers, drawn, spread**-2.0)


def forecast(points: Sequence[Point], target: float, seed: int = 0) -> Forecast | None:
    """Return how many more answers are needed to reach a target, where that is known well enough to be said.

    Parameters
    ----------
    points : sequence of Point
        The estimates so far, the last one being the current one.
    target : float
        On the same scale, where more is better.
    seed : int
        Seed of the draws.

    Returns
    -------
    Forecast or None
        None where it is too early: with fewer than three points, or where the interval is not informative.

    Examples
    --------
    >>> points = [Point(n, Interval(1 - 2 / n, 0.98 - 2 / n, 1.0)) for n in (10, 20, 40)]
    >>> forecast(points, target=0.5).needed
    0
    """
    found = needed_answers(points, target, seed)
    return found if found is not None and found.is_informative(points[-1].answers) else None


def needed_answers(points: Sequence[Point], target: float, seed: int = 0) -> Forecast | None:
    """Return how many more answers are needed by the curves, informative or not; None with fewer than three points.

    Parameters
    ----------
    points : sequence of Point
        The estimates so far, the last one being the current one.
    target : float
        On the same scale, where more is better.
    seed : int
        Seed of the draws.

    Returns
    -------
    Forecast or None

    Examples
    --------
    >>> unsure = [Point(n, Interval(0.6, 0.4, 0.8)) for n in (50, 100, 200)]
    >>> needed_answers(unsure, target=0.7).low, forecast(unsure, target=0.7) is None
    (0, True)
    """
    curves = curves_through(points, seed)
    if curves is None:
        return None
    needed = np.maximum(curves.reached(target) - points[-1].answers, 0)
    low, middle, high = (_whole(x) for x in np.quantile(needed, [0.025, 0.5, 0.975], method="nearest"))
    return Forecast(middle, low, high)


def _whole(answers: float) -> int | None:
    return int(np.ceil(answers)) if np.isfinite(answers) else None


def _fit(answers: Array, values: Array, weights: Array) -> Curves:
    """Fit the best curve to every row of values: for each power a line in n^(-power) with fall >= 0 and top <= 1."""
    share = weights / weights.sum()
    middle = values @ share
    best = np.full(len(values), np.inf)
    top, fall, power = np.empty((3, len(values)))
    for candidate in POWERS:
        x = answers**-candidate
        centre = float(x @ share)
        slope = np.minimum((values - middle[:, None]) @ (share * (x - centre)) / (share @ (x - centre) ** 2), 0)
        level = middle - slope * centre
        too_high = level > 1
        level = np.where(too_high, 1.0, level)
        slope = np.where(too_high, np.minimum((values - 1) @ (share * x) / (share @ x**2), 0), slope)
        error = (values - level[:, None] - slope[:, None] * x) ** 2 @ share
        better = error < best
        best = np.where(better, error, best)
        top, fall, power = (
            np.where(better, new, old)
            for new, old in zip((level, -slope, np.full(len(values), candidate)), (top, fall, power), strict=True)
        )
    return Curves(top, fall, power)
