"""A mixture that learns which criterion pays: EXP3 over `ARMS`, paid by how much better audit answers were foreseen.

From one audit question to the next one arm chooses. When the audit answer comes, its reward is the usual squared error
of such answers so far, less that of this one, in units of their spread. All of it is a function of the answers, so a
replay stays exact; `undo` is not provided for, simulations do not need it. A learner, so not found as a criterion.
"""

import numpy as np

from bagwise.kernels import hashed_uniform
from bagwise.learning import granularity
from bagwise.learning.criteria.balanced_uncertainty import balanced_uncertainty
from bagwise.learning.criteria.random import random
from bagwise.learning.learner import ActiveLearner
from bagwise.learning.pool import Choices, LocalPool

from . import balanced
from .block_information_gain import block_information_gain
from .own_gradient_length import own_gradient_length

ARMS = {
    "balanced_uncertainty": balanced_uncertainty,
    "balanced_own_gradient_length": balanced(own_gradient_length),
    "balanced_block_information_gain": balanced(block_information_gain),
    "random": random,
}
RATE, EXPLORED, MEMORY = 0.3, 0.1, 0.9
LOTS = 0xBA2D17


class BanditLearner(ActiveLearner):
    """An ActiveLearner whose criterion changes with what the audit shows."""

    def __init__(self, bags, *arguments, **options):
        self._gains, self._audits = np.zeros(len(ARMS)), 0
        self._usual, self._spread = 0.25, 0.25
        super().__init__(None, *arguments, pool=_ByScore(bags), **options)

    @property
    def chances(self):
        """How likely each arm is chosen."""
        powers = np.exp(RATE * (self._gains - self._gains.max()))
        return (1 - EXPLORED) * powers / powers.sum() + EXPLORED / len(ARMS)

    @property
    def arm(self):
        """The number of the arm that chooses until the next audit answer."""
        lot = hashed_uniform(self.random_state, np.array([self._audits], np.uint64), np.array(LOTS))[0]
        return int(np.searchsorted(np.cumsum(self.chances), lot).clip(0, len(ARMS) - 1))

    def _learn(self, answer):
        if answer.audit and answer.present[0] is not None:
            belief = float(self.pool().present[answer.bag, answer.classes[0]])
            self._pay((answer.present[0] - belief) ** 2)
        super()._learn(answer)

    def _pay(self, error):
        arm = self.arm
        self._gains[arm] += np.clip((self._usual - error) / self._spread, -1, 1) / self.chances[arm] / len(ARMS)
        self._spread = MEMORY * self._spread + (1 - MEMORY) * abs(error - self._usual)
        self._usual = MEMORY * self._usual + (1 - MEMORY) * error
        self._audits += 1

    def _rank(self, count, spread=False, granularity=None):
        self._pool.score = list(ARMS.values())[self.arm]
        return super()._rank(count, spread, granularity)


class _ByScore(LocalPool):
    """Chooses by a function that is set from outside."""

    def choose(self, model, label_store, options, requests):
        pool = self.pool(model, label_store, options.seed)
        by_lot, by_score = requests
        drawn = granularity.random_choice(options.granularity, pool, by_lot.count) if by_lot.count else []
        chosen = granularity.get(options.granularity)(pool, self.score(pool), by_score.count) if by_score.count else []
        return Choices([drawn, chosen])
