"""A learner that does not take every answer for the truth: it assumes a rate of wrong answers, or estimates it.

With `again` it asks about a pair anew when that is worth more than the next new question. Only simulations use it: in a
project the same is done at the turning points of its replay.
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


class CarefulLearner(ActiveLearner):
    """`noise` is the rate at which answers are wrong, or "estimate"; labels known from the start are right."""

    def __init__(self, *arguments: Any, noise: float | str, again: bool = False) -> None:
        self.estimates, self.again = noise == ESTIMATE, again
        self.rate = PRIOR_RATE if isinstance(noise, str) else noise
        self._said: dict[Pair, list[bool]] = {}
        self._believed: dict[Pair, float] = {}
        super().__init__(*arguments)

    def _learn(self, answer: Answer) -> None:
        pairs = [(answer.bag, label_class) for label_class in answer.classes]
        if pairs[0] in self._said:
            self._learn_again(pairs[0], bool(answer.present[0]))
        else:
            super()._learn(replace(answer, flip=self.rate))
            self._said |= {pair: [bool(said)] for pair, said in zip(pairs, answer.present, strict=True)}
        if sum(map(len, self._said.values())) % RECONSIDER_EVERY == 0 and (self.estimates or self.again):
            self._reconsider()

    def _learn_again(self, pair: Pair, said: bool) -> None:
        self._said[pair].append(said)
        self._believed[pair] = after_answer(self._believed[pair], self.rate, said)
        self.revise(*pair, *self._counts(pair))

    def _counts(self, pair: Pair) -> tuple[bool, float]:
        """What most said, the first in a tie, and the rate at which that is wrong."""
        said = self._said[pair]
        present = said[0] if 2 * sum(said) == len(said) else 2 * sum(said) > len(said)
        return present, flip_of(present, [(one, self.rate) for one in said])

    def _reconsider(self) -> None:
        """Hold all answers against what the model believes without them."""
        pairs = list(self._said)
        belief = beliefs(self._template, self.bags, self.labels, pairs)
        answers = Answers.of([(number, 0, said) for number, pair in enumerate(pairs) for said in self._said[pair]])
        found = estimate(answers, belief, len(pairs), 1)
        self._believed = dict(zip(pairs, found.present.tolist(), strict=True))
        if self.estimates:
            self.rate = found.rates[0].rate
            for pair in pairs:
                self._label_store.record(*pair, *self._counts(pair))
            # It is no answer: the rhythm of steps and refits stays that of a learner which takes answers for the truth.
            self._state = replace(self._updated(np.empty(0, int), np.empty(0, int)), steps=self._state.steps)

    def _questions(self, count: int) -> list[Question]:
        questions = super()._questions(count)
        if not (self.again and self._believed):
            return questions
        worth = worth_asking(list(self._believed.values()), self.rate)
        best = int(worth.argmax())
        if worth[best] <= worth_asking(questions[0].belief[0], self.rate):
            return questions
        bag, label_class = list(self._believed)[best]
        return [Question(bag, (label_class,), (0,), float(worth[best]))]
