"""A learner that assumes that a share of the answers is wrong: a given rate, or one that it estimates.

With `again` it repeats a question when that is worth more than the next new one. Only simulations use it; a project
does the same at fixed points of its replay.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise.evaluation.noise import PRIOR_RATE, Answers, after_answer, beliefs, estimate, flip_of, worth_asking
from bagwise.learning.learner import ActiveLearner
from bagwise.learning.questions import Answer, Question

ESTIMATE = "estimate"
RECONSIDER_EVERY = 250

Pair = tuple[int, int]


class NoisyLearner(ActiveLearner):
    """An `ActiveLearner` for noisy answers.

    Parameters
    ----------
    *arguments
        Those of `ActiveLearner`; labels known from the start are taken as correct.
    noise : float or "estimate"
        The rate of wrong answers, or that it is estimated.
    again : bool
        Whether questions may be repeated.
    """

    def __init__(self, *arguments: Any, noise: float | str, again: bool = False) -> None:
        self.estimates, self.again = noise == ESTIMATE, again
        self.rate = PRIOR_RATE if isinstance(noise, str) else noise
        self._answers_of: dict[Pair, list[bool]] = {}
        self._believed: dict[Pair, float] = {}
        super().__init__(*arguments)

    def _learn(self, answer: Answer) -> None:
        pairs = [(answer.bag, label_class) for label_class in answer.classes]
        if pairs[0] in self._answers_of:
            self._learn_again(pairs[0], bool(answer.present[0]))
        else:
            super()._learn(replace(answer, flip=self.rate))
            self._answers_of |= {pair: [bool(present)] for pair, present in zip(pairs, answer.present, strict=True)}
        if sum(map(len, self._answers_of.values())) % RECONSIDER_EVERY == 0 and (self.estimates or self.again):
            self._reconsider()

    def _learn_again(self, pair: Pair, present: bool) -> None:
        self._answers_of[pair].append(present)
        self._believed[pair] = after_answer(self._believed[pair], self.rate, present)
        self.revise(*pair, *self._counts(pair))

    def _counts(self, pair: Pair) -> tuple[bool, float]:
        """Return the majority of the answers, the first in a tie, and the probability that it is wrong."""
        answers = self._answers_of[pair]
        present = answers[0] if 2 * sum(answers) == len(answers) else 2 * sum(answers) > len(answers)
        return present, flip_of(present, [(one, self.rate) for one in answers])

    def _reconsider(self) -> None:
        """Compare all answers with what the model predicts without them."""
        pairs = list(self._answers_of)
        belief = beliefs(self._template, self.bags, self.labels, pairs)
        answers = Answers.of(
            [(number, 0, present) for number, pair in enumerate(pairs) for present in self._answers_of[pair]]
        )
        found = estimate(answers, belief, len(pairs), 1)
        self._believed = dict(zip(pairs, found.present.tolist(), strict=True))
        if self.estimates:
            self.rate = found.rates[0].rate
            for pair in pairs:
                self._label_store.record(*pair, *self._counts(pair))
            # Not an answer: steps and refits keep the schedule of a learner that takes answers as correct.
            self._state = replace(self._updated(np.empty(0, int), np.empty(0, int)), steps=self._state.steps)

    def _batch(self, count: int) -> list[Question]:
        questions = super()._batch(count)
        if not (self.again and self._believed):
            return questions
        worth = worth_asking(list(self._believed.values()), self.rate)
        best = int(worth.argmax())
        if worth[best] <= worth_asking(questions[0].belief[0], self.rate):
            return questions
        bag, label_class = list(self._believed)[best]
        return [Question(bag, (label_class,), (0,), float(worth[best]))]
