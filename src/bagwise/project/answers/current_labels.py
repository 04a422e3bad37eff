"""What is known now of every pair (imported, perhaps corrected, or decided by answers) and of single instances."""

from collections.abc import Callable

import numpy as np

from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
from bagwise.kernels import Array
from bagwise.learning.questions import Instances, Pair
from bagwise.project.answers.events import VALUE, Decision, Votes
from bagwise.project.settings import Settings
from bagwise.project.storage.queries import UNKNOWN, Contents


def known_values(contents: Contents, votes: Votes) -> tuple[Array, Array]:
    """Return 1, 0 or UNKNOWN for every pair, (B, C), and which pairs are unsure, (B, C) of bool."""
    values = contents.given.copy()
    unsure = np.zeros(values.shape, bool)
    for pair, correction in votes.corrected_imports().items():
        present = VALUE[correction.answer]
        values[pair] = UNKNOWN if present is None else present
        unsure[pair] = present is None
    for pair, decision in votes.decisions.items():
        if not contents.is_given(pair):
            values[pair] = UNKNOWN if decision.present is None else decision.present
            unsure[pair] = decision.present is None
    return values, unsure


def known_of(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    """Return the decision that counts for one pair; None where it is open."""
    if not contents.is_given(pair):
        return votes.decisions.get(pair)
    correction = votes.imported(pair).in_effect
    if correction is None:
        return Decision(bool(contents.given[pair]), False)
    return Decision.of(VALUE[correction.answer], False, [correction])


def instance_labels_of(
    contents: Contents, votes: Votes, flip: Callable[[Pair], float] = lambda _: 0.0
) -> InstanceLabels:
    """Return what is known of single instances.

    Parameters
    ----------
    contents : Contents
        Bags, classes and imported labels.
    votes : Votes
        The answers.
    flip : callable
        Returns the rate at which the pointing for a pair is wrong.
    """
    bags = votes.pointed_bags()
    return InstanceLabels(len(contents.classes), {bag: labels_in_bag(contents, votes, bag, flip) for bag in bags})


def labels_in_bag(
    contents: Contents, votes: Votes, bag: int, flip: Callable[[Pair], float] = lambda _: 0.0
) -> list[InstanceLabel]:
    """Return what is known of the instances of one bag; the parameters are those of `instance_labels_of`."""
    found = []
    for label_class in votes.pointed_classes(bag):
        pair = bag, label_class
        known = known_of(contents, votes, pair)
        if known is not None and (known.where or known.elsewhere):
            rate = flip(pair)
            found += [InstanceLabel(instance, label_class, True, rate) for instance in known.where]
            found += [InstanceLabel(instance, label_class, False, rate) for instance in known.elsewhere]
    return found


def disputed_in_bag(contents: Contents, votes: Votes, bag: int) -> dict[Pair, Instances]:
    """Return the instances of a bag about which there is a disagreement, for each pair that claims or denies them.

    An instance is disputed if it is said to be of two classes, or to be of a class and not to be of it.
    """
    labels = labels_in_bag(contents, votes, bag)
    claimed = {(label.instance, label.label_class) for label in labels if label.present}
    found: dict[Pair, set[int]] = {}
    for conflict in InstanceLabels(len(contents.classes), {bag: labels}).conflicts():
        for label_class in conflict.classes:
            if (conflict.instance, label_class) in claimed:
                found.setdefault((bag, label_class), set()).add(conflict.instance)
    for label_class in votes.pointed_classes(bag):
        known = known_of(contents, votes, (bag, label_class))
        if known is not None and known.disputed:
            found.setdefault((bag, label_class), set()).update(known.disputed)
    return {pair: tuple(sorted(instances)) for pair, instances in sorted(found.items())}


def fresh_votes(contents: Contents, settings: Settings) -> Votes:
    """Return votes without any event."""
    asking = settings.asking
    return Votes(asking.people, asking.share, settings.learning.seed, contents.adjudicators, contents.removed)
