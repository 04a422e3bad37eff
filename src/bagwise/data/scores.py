"""Scores: what a classifier thinks of bags or instances before any answer, from which the model starts.

A score is the probability P that a bag or an instance has a class. The model adds  b_c s_ic + a_c  to the logit of
instance i and class c (`kernels.cpu.instances`), with

    s_ic = log(P_ic / (1 - P_ic))                      P of an instance, kept within LEAST and 1 - LEAST
    s_ic = log(expm1(-log(1 - P_bc) / n_b))            P of a bag of n_b instances

With b = 1 and a = 0, and as long as the other classes are unlikely, P(class of instance) is the score: the background
has the logit 0, and softmax of (s, 0) is P. A score of a bag is shared such that its instances are equally likely and
together give it back, 1 - (1 - p)^n = P. What the classifier says nothing about has

    s_ic = -log(1 + number of classes that the classifier has a score of, for i)

which leaves it the probability 1/(C + 1) that it has without scores; where nothing is known of an instance, s = 0 and
its logits are those without scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags
from bagwise.data.class_names import ClassNames
from bagwise.kernels import Array
from bagwise.kernels.arithmetic.elementary import expm1_nonpositive, log, log1p, logit

LEAST = 1e-4
"""Scores nearer to 0 or 1 are taken for this: no classifier is so sure that a few answers should not overrule it."""


@dataclass(frozen=True)
class Scores:
    """Probabilities that a classifier gives, of instances or of whole bags.

    Parameters
    ----------
    of_instances : array-like, shape (N, C), optional
        P(instance has class), one row for every instance of all bags, in their order; NaN where it is unknown.
    of_bags : array-like, shape (B, C), optional
        P(class is in bag); used for the pairs of which no instance has a score.
    classes : sequence of str
        The names of the C classes; without names they are those of the model, in the same order.
    source : str
        The name of the classifier, shown to people.

    Raises
    ------
    BagwiseError
        If a score is not between 0 and 1, or shapes do not fit.

    Examples
    --------
    >>> scores = Scores(of_bags=[[0.9, np.nan], [0.1, 0.2]], classes=["wren", "owl"], source="BirdNET")
    >>> bags = Bags.from_list([[[0.0]], [[1.0], [2.0]]])
    >>> scores.logits(bags).round(2)
    array([[ 2.2 , -0.69],
           [-2.92, -2.14],
           [-2.92, -2.14]])
    """

    of_instances: Any = None
    of_bags: Any = None
    classes: Sequence[str] = ()
    source: str = "classifier"

    def __post_init__(self) -> None:
        for name in ("of_instances", "of_bags"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else _validated(name, given))
        found = [one for one in (self.of_instances, self.of_bags) if one is not None]
        if not found:
            raise BagwiseError("There are no scores: give `of_instances` or `of_bags`.")
        widths = {one.shape[1] for one in found} | ({len(self.classes)} if self.classes else set())
        if len(widths) > 1:
            raise BagwiseError(
                f"Scores are given for {' and '.join(map(str, sorted(widths)))} classes: one column for each is needed."
            )

    @classmethod
    def of(cls, given: Any, bags: Bags) -> "Scores":
        """Return Scores as they are, or made from an array of probabilities.

        Parameters
        ----------
        given : Scores, or array-like of shape (N, C) or (B, C)
            With as many rows as there are instances, or bags; NaN for unknown.
        bags : Bags
            The bags that they are of.

        Returns
        -------
        Scores
        """
        if isinstance(given, Scores):
            return given
        values = _validated("scores", given)
        if len(values) == bags.n_instances:
            return cls(of_instances=values)
        return cls(of_bags=values)

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return int((self.of_instances if self.of_bags is None else self.of_bags).shape[1])

    def matched(self, classes: Sequence[str]) -> "Scores":
        """Return the scores of these classes, by their names (`ClassNames`); NaN for those that have none.

        Parameters
        ----------
        classes : sequence of str
            The names of the classes of the model.

        Returns
        -------
        Scores
            Without names on either side the columns are those of the classes already.
        """
        if not self.classes or not classes:
            return self
        columns = ClassNames(self.classes).columns(classes)
        there = columns >= 0

        def ordered(values: Array | None) -> Array | None:
            if values is None:
                return None
            found = np.full((len(values), len(classes)), np.nan)
            found[:, there] = values[:, columns[there]]
            return found

        return replace(
            self,
            of_instances=ordered(self.of_instances),
            of_bags=ordered(self.of_bags),
            classes=tuple(classes),
        )

    def logits(self, bags: Bags) -> Array:
        """Return what is added to the logits of the instances, for slopes of 1.

        Parameters
        ----------
        bags : Bags
            The bags that the scores are of.

        Returns
        -------
        ndarray, shape (N, C)
            Finite; see the formulas above.
        """
        sizes = bags.sizes
        for name, values, rows in (
            ("instances", self.of_instances, bags.n_instances),
            ("bags", self.of_bags, len(bags)),
        ):
            if values is not None and len(values) != rows:
                raise BagwiseError(f"There are scores of {len(values)} {name} where the bags have {rows}.")
        found = np.full((bags.n_instances, self.n_classes), np.nan)
        if self.of_bags is not None:
            found = np.repeat(_shared(self.of_bags, sizes), sizes, axis=0)
        if self.of_instances is not None:
            # A bag's score adds nothing to scores of its instances for the same class.
            known = np.logical_or.reduceat(~np.isnan(self.of_instances), bags.offsets[:-1], axis=0)
            found = np.where(np.repeat(known, sizes, axis=0), logit(_kept(self.of_instances)), found)
        unknown = np.isnan(found)
        missing = -log(1.0 + (~unknown).sum(axis=1, keepdims=True))
        return np.ascontiguousarray(np.where(unknown, missing, found))

    def attached_to(self, bags: Bags, classes: Sequence[str] = ()) -> Bags:
        """Return the bags with these scores, which a model then starts from.

        Parameters
        ----------
        bags : Bags
            The bags that the scores are of.
        classes : sequence of str
            The names of the model's classes, where the scores have names.

        Returns
        -------
        Bags
        """
        return bags.with_scores(self.matched(classes).logits(bags))


def _validated(name: str, given: npt.ArrayLike) -> Array:
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise BagwiseError(f"`{name}` must be numbers: probabilities, and NaN for unknown.") from error
    if values.ndim != 2 or values.shape[1] == 0:
        raise BagwiseError(f"`{name}` has shape {values.shape}: one row for each and one column per class are needed.")
    if not ((values >= 0) & (values <= 1) | np.isnan(values)).all():
        raise BagwiseError(f"`{name}` must be probabilities between 0 and 1; apply the logistic function to logits.")
    values.flags.writeable = False
    return values


def _kept(probability: Array) -> Array:
    return np.clip(probability, LEAST, 1 - LEAST)


def _shared(of_bags: Array, sizes: Array) -> Array:
    """The logit of every instance of a bag, (B, C)."""
    absent = log1p(-_kept(of_bags)) / sizes[:, None]
    # log(expm1(-a)) = log(1 - exp(a)) - a, where 1 - exp(a) does not cancel.
    return np.asarray(log(-expm1_nonpositive(absent)) - absent)
