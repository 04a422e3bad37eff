"""Learner: ask and tell, the part that does not depend on the model.

It stores the labels and the answers, validates input, and applies an answer completely or not at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
from bagwise.data.label_store import KnownLabels, LabelStore
from bagwise.data.labels import Labels
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.learning.questions import Answer, Present, Question, as_instances, as_present


class NothingToAsk(BagwiseError):
    """Every pair has been answered.

    Examples
    --------
    >>> from bagwise import ActiveLearner
    >>> learner = ActiveLearner([[[0.0]], [[1.0]]], ["wren"], labels=[[1], [0]])
    >>> try:
    ...     learner.ask()
    ... except NothingToAsk as error:
    ...     print(error)
    There is nothing left to ask: every pair has been answered.
    """


class Learner(ABC):
    """The part of a learner that does not depend on its model: labels, answers, validation."""

    wants_where = False
    """Whether simulations should point at an instance with every positive answer, as the system's paper does."""

    def __init__(
        self,
        bags: Bags | Sequence[npt.ArrayLike],
        classes: Sequence[str],
        labels: Any = None,
        random_state: int = 0,
    ) -> None:
        self.bags = Bags.of(bags)
        self.classes = list(classes) if isinstance(classes, list | tuple | np.ndarray) else []
        self._validate_classes()
        if not isinstance(random_state, int | np.integer):
            raise BagwiseError(f"random_state={random_state!r} must be a whole number: questions are keyed by it.")
        self.random_state = int(random_state)
        self._label_store = self._first_label_store(labels)
        if self._label_store.shape[1] != len(self.classes):
            raise BagwiseError(f"The labels have {self._label_store.shape[1]} columns for {len(self.classes)} classes.")
        known = self._label_store.known_labels()
        self._first_instance_labels = InstanceLabels(len(self.classes))
        self._first_instance_labels.put(known.bags, known.labels.instances)
        self._answers: dict[int, Answer] = {}
        self._n_answered = 0

    @property
    def labels(self) -> Labels:
        """The labels of all pairs, (B, C)."""
        if self._label_store.is_sparse:
            raise BagwiseError("Labels of all bags are not stored: `known_labels` has those of the bags asked about.")
        return self._label_store.labels

    @property
    def known_labels(self) -> KnownLabels:
        """The labels of the bags with at least one answer or label, and which of their pairs were withdrawn."""
        return self._label_store.known_labels()

    @abstractmethod
    def predict_proba(self, bags: Bags | Sequence[npt.ArrayLike]) -> Array:
        """P(class is in bag), or a score that exceeds a half where the class is predicted.

        Parameters
        ----------
        bags : Bags, or sequence of array-like, each of shape (n_b, d)
            The bags.

        Returns
        -------
        ndarray, shape (B, C)
        """

    def close(self) -> None:
        """Release what the learner holds in other processes, if anything."""
        return

    @abstractmethod
    def _questions(self, count: int) -> list[Question]:
        """Up to `count` different questions, best first; at least one pair is open."""

    def _batch(self, count: int) -> list[Question]:
        """Up to `count` questions to be asked before any of them is answered."""
        return self._questions(count)

    @abstractmethod
    def _update(self, answer: Answer, known_classes: list[int]) -> None:
        """Learn an answer, which made the labels of `known_classes` of its bag known."""

    @overload
    def ask(self) -> Question: ...
    @overload
    def ask(self, count: int) -> list[Question]: ...
    def ask(self, count: int | None = None) -> Question | list[Question]:
        """Return the next question; with `count`, a diverse batch.

        Asking changes nothing: without an answer in between, the same question comes again.

        Parameters
        ----------
        count : int, optional
            The most questions of a batch that is asked before any of it is answered.

        Returns
        -------
        Question or list of Question
            A list where `count` is given, best first. Every question has evidence and belief.

        Raises
        ------
        NothingToAsk
            If no pair is open.
        """
        if count is not None and not (isinstance(count, int) and count >= 1):
            raise BagwiseError(f"ask({count!r}): `count` must be a whole number, at least 1.")
        batch = self._batch(self._askable(count or 1))
        return batch[0] if count is None else batch

    def rank(self, count: int) -> list[Question]:
        """Return up to `count` different questions, best first, without evidence and belief.

        Unlike a batch of `ask`, similar questions may follow each other.

        Parameters
        ----------
        count : int
            The most questions.

        Returns
        -------
        list of Question

        Raises
        ------
        NothingToAsk
            If no pair is open.
        """
        return self._questions(self._askable(count))

    def _askable(self, count: int) -> int:
        open_pairs = self._label_store.label_counts.n_open
        if open_pairs == 0:
            raise NothingToAsk("There is nothing left to ask: every pair has been answered.")
        return min(count, open_pairs)

    def tell(
        self,
        question: Question,
        answer: Present | Sequence[Present],
        where: Any = None,
        elsewhere: Any = None,
        flip: float = 0.0,
        pointing_flip: float = 0.0,
    ) -> None:
        """Learn the answer to a question, completely or not at all.

        Parameters
        ----------
        question : Question
            The question, from `ask` or made by hand; its pairs must be open.
        answer : bool or None, or sequence of these
            Present (True), absent (False) or unsure (None), which is stored and never used as a label. A question
            about several classes takes one for each.
        where : sequence of int, optional
            *Present, and these instances are of the class*: their positions in the bag, for instance
            `question.evidence`. A question about several classes takes one sequence for each.
        elsewhere : sequence of int, optional
            *Present, but these instances are not of the class*.
        flip : float
            The probability that the answer is wrong.
        pointing_flip : float
            The probability that what is said of an instance is wrong.

        Raises
        ------
        BagwiseError
            If a pair was answered before, or there is not one answer for each class, or an instance does not exist.

        Examples
        --------
        >>> from bagwise import ActiveLearner
        >>> learner = ActiveLearner([[[-2.0], [2.0]], [[0.1], [1.0]]], ["low", "high"], audit=0)
        >>> question = learner.ask()
        >>> learner.tell(question, True, where=question.evidence)
        >>> len(learner.labels.instances)
        1
        """
        given = list(answer) if isinstance(answer, list | tuple | np.ndarray) and np.ndim(answer) else [answer]
        present = tuple(as_present(one) for one in given)
        here, not_here = (as_instances(some, len(question.classes)) for some in (where, elsewhere))
        if question.instance is not None and present == (True,) and not here:
            here = ((question.instance,),)
        self._learn(
            Answer(
                question.bag,
                question.classes,
                present,
                question.audit,
                flip,
                here,
                not_here,
                pointing_flip,
                question.instance,
                question.probability,
            )
        )

    def replay(self, answers: Iterable[Answer]) -> None:
        """Learn all of these answers, in order.

        Parameters
        ----------
        answers : iterable of Answer
            The answers, as in the `answers` of another learner.
        """
        for answer in answers:
            self._learn(answer)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers that were not undone, in order; replaying them gives the same learner if none was revised."""
        return tuple(self._answers.values())

    def instance_labels(self, bag: int, label_class: int) -> tuple[InstanceLabel, ...]:
        """Return what is known of the instances of a bag about one class, by instance.

        Parameters
        ----------
        bag, label_class : int
            Positions of the bag and the class.

        Returns
        -------
        tuple of InstanceLabel
        """
        return self._label_store.labels_of([bag]).instances.about(0, label_class)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to ask."""
        return self._label_store.label_counts.n_open == 0

    def _learn(self, answer: Answer) -> None:
        """Learn an answer; on any error the state is as before."""
        self._validate_shape(answer)
        self._validate_open(answer)
        self._answers[self._n_answered] = answer
        self._n_answered += 1
        known_classes = []
        try:
            for place, (label_class, present) in enumerate(zip(answer.classes, answer.present, strict=True)):
                if not answer.labels_bag:
                    self._restore_instance_labels(answer.bag, label_class)
                elif present is None:
                    self._label_store.withdraw(answer.bag, label_class)
                else:
                    labels = answer.instance_labels(place)
                    self._label_store.record(answer.bag, label_class, present, answer.flip, labels)
                if present is not None:
                    known_classes.append(label_class)
            with single_threaded_blas():
                self._update(answer, known_classes)
        except BaseException:
            self._undo_last()
            raise

    def _undo_last(self) -> None:
        number, answer = self._answers.popitem()
        self._n_answered = number
        self._forget(answer)

    def _forget(self, answer: Answer) -> None:
        for place, label_class in enumerate(answer.classes):
            if answer.labels_bag:
                self._label_store.forget(answer.bag, label_class)
            if answer.instance_labels(place):
                self._restore_instance_labels(answer.bag, label_class)

    def _restore_instance_labels(self, bag: int, label_class: int) -> None:
        """Make known of the instances about a class what was at the start and what the answers since then say."""
        labels = list(self._first_instance_labels.about(bag, label_class))
        for answer in self._answers.values():
            if answer.bag == bag and label_class in answer.classes:
                labels += answer.instance_labels(answer.classes.index(label_class))
        newest = {label.instance: label for label in labels}
        self._label_store.label_instances(bag, label_class, list(newest.values()))

    def _first_label_store(self, labels: Any) -> LabelStore:
        return LabelStore.of(labels, len(self.bags), len(self.classes))

    def _validate_classes(self) -> None:
        if not self.classes:
            raise BagwiseError("There are no classes: give a list with at least one name.")
        repeated = {str(name) for name in self.classes if self.classes.count(name) > 1}
        if repeated:
            raise BagwiseError(f"The class {min(repeated)} is named more than once.")

    def _validate_shape(self, answer: Answer) -> None:
        bags, classes = self._label_store.shape
        if len(answer.present) != len(answer.classes):
            raise BagwiseError(
                f"The question names {len(answer.classes)} classes but {len(answer.present)} answers came."
            )
        if not 0 <= answer.bag < bags or not all(0 <= c < classes for c in answer.classes):
            raise BagwiseError(
                f"The question names bag {answer.bag} and classes {answer.classes}: there are {bags} bags and "
                f"{classes} classes, counted from 0."
            )
        if len(set(answer.classes)) < len(answer.classes):
            raise BagwiseError(f"The question names a class twice: {answer.classes}.")
        self._validate_instances(answer)

    def _validate_instances(self, answer: Answer) -> None:
        for some in (answer.where, answer.elsewhere):
            if some and len(some) != len(answer.classes):
                raise BagwiseError(f"Instances are given for {len(some)} classes of {len(answer.classes)}.")
            for instances, present in zip(some, answer.present, strict=False):
                if instances and not present:
                    raise BagwiseError("Instances can be pointed at only where the class is present in the bag.")
        pointed = [label for place in range(len(answer.classes)) for label in answer.instance_labels(place)]
        both = {label.instance for label in pointed if label.present} & {
            label.instance for label in pointed if label.present is False
        }
        if len(answer.classes) == 1 and both:
            raise BagwiseError(f"Instance {min(both)} is said to be of the class and not to be of it.")
        if pointed:
            size = len(self.bags[answer.bag])
            outside = [label.instance for label in pointed if not 0 <= label.instance < size]
            if outside:
                raise BagwiseError(
                    f"Bag {self.bags.name(answer.bag)} has {size} instances, counted from 0: there is no instance "
                    f"{outside[0]}."
                )

    def _validate_open(self, answer: Answer) -> None:
        for label_class in answer.classes:
            if not self._label_store.is_open(answer.bag, label_class):
                raise BagwiseError(
                    f"Bag {self.bags.name(answer.bag)}, class {self.classes[label_class]} has been answered already: "
                    "undo it first."
                )
