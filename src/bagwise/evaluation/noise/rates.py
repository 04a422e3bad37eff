"""How often each person is wrong, estimated from their answers.

    t_i ~ Bernoulli(sigmoid(a logit q_i + b))      is the class in the bag? q_i: prediction without the label
    answer = t_i, or with rate e_p its opposite    e_p ~ Beta(1, 19): 5 % without answers of that person

Rates, a and b are those of highest posterior density (over logit e, log a and b), found together: answers of several
people to one pair are evidence about each other, and every answer is compared with the prediction. a and b allow for
an overconfident model, which would otherwise look like wrong answers. Intervals hold 95 % of the posterior of a rate
with the rest at its mode, widened for the uncertainty of the rest. A model learns from the rates, so they are computed
by functions that give the same numbers on every processor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bagwise.kernels import Array
from bagwise.kernels.arithmetic.cholesky import inverse_diagonal
from bagwise.kernels.arithmetic.elementary import exp, expit, log, log1p, log_expit, logaddexp, logit
from bagwise.kernels.arithmetic.minimise import minimise
from bagwise.kernels.arithmetic.sums import inner

PRIOR_WRONG, PRIOR_RIGHT = 1.0, 19.0
PRIOR_RATE = PRIOR_WRONG / (PRIOR_WRONG + PRIOR_RIGHT)
MOST = 0.5
SPREAD = 0.5
SUREST = 1e-6
GRID = np.linspace(0, MOST, 502)[1:-1]
INSIDE = 0.95
PRIOR_HIGH = 0.14586850331224344
"""The end of the shortest interval from 0 that holds `INSIDE` of Beta(1, 19): 1 - (1 - INSIDE)^(1/19)."""
ITERATIONS, TOLERANCE = 200, 1e-6
FLATTEST = 1e-12


@dataclass(frozen=True)
class Answers:
    """The answers of people: for each the index of its pair, of its person, and whether it is *present*.

    Parameters
    ----------
    pair : ndarray of int, shape (n_answers,)
        The pair of each answer, counted from 0.
    person : ndarray of int, shape (n_answers,)
        The person of each answer, counted from 0.
    present : ndarray of bool, shape (n_answers,)
        True for *present*, False for *absent*.

    Examples
    --------
    >>> Answers.of([(0, 0, True), (0, 1, False)]).present
    array([ True, False])
    """

    pair: Array
    person: Array
    present: Array

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, bool]]) -> "Answers":
        """Return answers made from rows (pair, person, present).

        Parameters
        ----------
        rows : sequence of (int, int, bool)
            One row per answer.

        Returns
        -------
        Answers
        """
        table = np.array(rows, np.int64).reshape(-1, 3)
        return cls(table[:, 0], table[:, 1], table[:, 2].astype(bool))


@dataclass(frozen=True)
class Rate:
    """How often a person is wrong, with a 95 % interval, and the number of answers it is estimated from.

    Parameters
    ----------
    rate : float
        The share of wrong answers, from 0 to below 1/2; by default what is assumed of a person without answers.
    low, high : float
        The ends of the interval.
    answers : int
        Number of answers.

    Examples
    --------
    >>> unknown = Rate()
    >>> unknown.rate, unknown.answers
    (0.05, 0)
    """

    rate: float = PRIOR_RATE
    low: float = 0.0
    high: float = PRIOR_HIGH
    answers: int = 0


@dataclass(frozen=True)
class Estimate:
    """The rate of every person, and P(class in bag | belief and answers) of every pair.

    Parameters
    ----------
    rates : list of Rate
        One per person.
    present : ndarray of float, shape (n_pairs,)
        P(class in bag) of each pair.

    Examples
    --------
    >>> found = Estimate([Rate()], present=np.array([0.75]))
    >>> found.wrong(Answers.of([(0, 0, True)]))
    array([0.25])
    """

    rates: list[Rate]
    present: Array

    def wrong(self, answers: Answers) -> Array:
        """Return P(answer is wrong) of each answer.

        Parameters
        ----------
        answers : Answers
            Answers about the pairs of this estimate.

        Returns
        -------
        ndarray of float, shape (n_answers,)
        """
        present = self.present[answers.pair]
        return np.where(answers.present, 1 - present, present)


def estimate(answers: Answers, belief: Array | None, pairs: int, people: int) -> Estimate:
    """Estimate the rates of wrong answers.

    Parameters
    ----------
    answers : Answers
        The answers of all people.
    belief : ndarray, shape (pairs,), or None
        P(class in bag) of each pair, predicted without its label.
    pairs, people : int
        Number of pairs and of people.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> answers = Answers.of([(pair, person, True) for pair in range(30) for person in (0, 1)])
    >>> [one.rate < PRIOR_RATE for one in estimate(answers, None, pairs=30, people=2).rates]
    [True, True]
    """
    evidence = np.zeros(pairs) if belief is None else logit(np.clip(belief, SUREST, 1 - SUREST))
    posterior = _Posterior(answers, evidence, people)
    start = np.concatenate([np.full(people, float(logit(2 * PRIOR_RATE))), [0.0, 0.0]])
    found, _ = minimise(posterior, start, ITERATIONS, TOLERANCE)
    widening = posterior.widening(found)
    rates = [posterior.rate(found, person, widening[person]) for person in range(people)]
    return Estimate(rates, posterior.present(found))


class _Posterior:
    """Minus the log posterior of (logit 2e of every person, log a, b), with its gradient."""

    def __init__(self, answers: Answers, evidence: Array, people: int) -> None:
        self.answers, self.evidence, self.people = answers, evidence, people

    def __call__(self, point: Array) -> tuple[float, Array]:
        rates, scale, shift = self._unpacked(point)
        log_present, log_absent = self._log_both(rates, scale, shift)
        value = float(logaddexp(log_present, log_absent).sum())
        value += float((PRIOR_WRONG * log(rates) + PRIOR_RIGHT * log1p(-rates)).sum())
        value -= (float(log(scale)) ** 2 + shift**2) / (2 * SPREAD**2)
        present = expit(log_present - log_absent)
        wrong = np.where(self.answers.present, 1 - present[self.answers.pair], present[self.answers.pair])
        wrongs = np.bincount(self.answers.person, wrong, self.people) + PRIOR_WRONG
        rights = np.bincount(self.answers.person, 1 - wrong, self.people) + PRIOR_RIGHT
        by_rate = (wrongs / rates - rights / (1 - rates)) * rates * (1 - 2 * rates)
        surprise = present - expit(scale * self.evidence + shift)
        by_scale = inner(surprise, self.evidence) * scale - float(log(scale)) / SPREAD**2
        by_shift = float(surprise.sum()) - shift / SPREAD**2
        return -value, -np.concatenate([by_rate, [by_scale, by_shift]])

    def present(self, point: Array) -> Array:
        """P(class in bag) of every pair."""
        log_present, log_absent = self._log_both(*self._unpacked(point))
        return np.asarray(expit(log_present - log_absent))

    def widening(self, point: Array) -> Array:
        """How much wider each rate is known alone than with everything else known."""
        step = 1e-4
        columns = [(self(point + move)[1] - self(point - move)[1]) / (2 * step) for move in step * np.eye(len(point))]
        curvature = (np.array(columns) + np.array(columns).T) / 2
        variance = inverse_diagonal(curvature, FLATTEST * float(curvature.diagonal().max()))
        return np.sqrt(np.maximum(variance * curvature.diagonal(), 1.0))[: self.people]

    def rate(self, point: Array, person: int, widening: float) -> Rate:
        """The person's rate with the shortest interval that holds 95 % of its posterior."""
        rates, scale, shift = self._unpacked(point)
        mine = self.answers.person == person
        given, pair = self.answers.present[mine], self.answers.pair[mine]
        log_present, log_absent = (side[pair] for side in self._log_both(rates, scale, shift))
        own = float(rates[person])
        right, wrong = log1p(-own), log(own)
        log_right = np.where(given, log_present, log_absent) - right
        log_wrong = np.where(given, log_absent, log_present) - wrong
        log_rate, log_rest = log(GRID), log1p(-GRID)
        log_posterior = (PRIOR_WRONG - 1) * log_rate + (PRIOR_RIGHT - 1) * log_rest
        for place in range(len(GRID)):
            log_posterior[place] += logaddexp(log_right + log_rest[place], log_wrong + log_rate[place]).sum()
        mass = exp((log_posterior - log_posterior.max()) / widening**2)
        low, high = _densest(mass / mass.sum())
        return Rate(own, min(low, own), max(high, own), int(mine.sum()))

    def _unpacked(self, point: Array) -> tuple[Array, float, float]:
        return MOST * expit(point[: self.people]), float(exp(point[-2])), float(point[-1])

    def _log_both(self, rates: Array, scale: float, shift: float) -> tuple[Array, Array]:
        """Log P(answers, present) and log P(answers, absent) of every pair."""
        tilt = scale * self.evidence + shift
        right, wrong = log1p(-rates)[self.answers.person], log(rates)[self.answers.person]
        given, pairs = self.answers.present, len(self.evidence)
        if_present = np.bincount(self.answers.pair, np.where(given, right, wrong), pairs)
        if_absent = np.bincount(self.answers.pair, np.where(given, wrong, right), pairs)
        return log_expit(tilt) + if_present, log_expit(-tilt) + if_absent


def _densest(mass: Array) -> tuple[float, float]:
    """The ends of the points that hold `INSIDE` of the mass, densest first; 0 where the first of the grid is one."""
    order = np.argsort(-mass, kind="stable")
    count = int(np.searchsorted(np.cumsum(mass[order]), INSIDE)) + 1
    inside = np.sort(order[:count])
    return 0.0 if inside[0] == 0 else float(GRID[inside[0]]), float(GRID[inside[-1]])
