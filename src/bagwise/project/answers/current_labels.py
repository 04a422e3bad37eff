"""What is known now of every pair (imported, perhaps corrected, or decided by answers) and of single instances.

Of a class that was made by merging others, what was imported or answered about itself counts; where that is nothing, it
is present where one of them is, absent where all of them are, and else unknown. Nothing is known of these themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
from bagwise.kernels import Array
from bagwise.learning.questions import Instances, Pair, Present
from bagwise.project.answers.events import VALUE
from bagwise.project.answers.votes import NO_VERDICTS, Decision, Verdicts, Votes
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
    for merged, several in contents.class_list.members.items():
        members = list(several)
        of_members, unsure_members = values[:, members], unsure[:, members]
        present, absent = (of_members == 1).any(axis=1), (of_members == 0).all(axis=1)
        undecided = ~present & ~absent & ((of_members == 0) | unsure_members).all(axis=1)
        inferred = (values[:, merged] == UNKNOWN) & ~unsure[:, merged]
        values[inferred & present, merged] = 1
        values[inferred & absent, merged] = 0
        unsure[inferred & undecided, merged] = True
        values[:, members], unsure[:, members] = UNKNOWN, False
    return values, unsure


def known_of(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    """Return the decision that counts for one pair, with what else is known of its instances; None where it is open."""
    if contents.class_list[pair[1]].merged_into is not None:
        return None
    return _known_of(contents, votes, pair)


def _known_of(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    """The same, also for classes that became a part of others."""
    decision = _decided(contents, votes, pair) or inferred_of(contents, votes, pair)
    if decision is None or not decision.present:
        return decision
    about, verdicts = contents.instance_labels.about(*pair), _verdicts(contents, votes, pair)
    here, not_here = (tuple(one.instance for one in about if one.present is present) for present in (True, False))
    denied = *verdicts.absent, *verdicts.disputed
    if not about and not denied:
        return decision
    return decision.pointing_at((*here, *verdicts.disputed), (*not_here, *denied))


def inferred_of(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    """Return what follows for a merged class from those it was made of; None where that is nothing.

    Instances of one of them are instances of it.
    """
    members = contents.class_list.members.get(pair[1])
    if members is None:
        return None
    known = [_known_of(contents, votes, (pair[0], one)) for one in members]
    found = [one for one in known if one is not None]
    here = [one for one in found if one.present]
    if here:
        return Decision(True, False, tuple(sorted({instance for one in here for instance in one.where})))
    if not found or len(found) < len(known):
        return None
    return Decision(False if all(one.present is False for one in found) else None, False)


class KnownPair(NamedTuple):
    """What is known of a pair (None: it is open), and of the instances of its bag about its class."""

    decision: Decision | None
    labels: tuple[InstanceLabel, ...]

    @property
    def said(self) -> dict[int, Present]:
        """What is said of each instance; None: it cannot be said."""
        return {label.instance: label.present for label in self.labels}

    def teaches_as(self, other: "KnownPair") -> bool:
        """Whether other knowledge of the pair teaches the same."""
        mine, others = (None if one.decision is None else (one.decision.present,) for one in (self, other))
        return mine == others and self.said == other.said


def known_pair(contents: Contents, votes: Votes, pair: Pair, rate: float = 0.0) -> KnownPair:
    """Return what is known of a pair and of its instances; `rate` is that at which pointing for it is wrong."""
    known, verdicts, label_class = known_of(contents, votes, pair), _verdicts(contents, votes, pair), pair[1]
    # Instances that cannot be decided have labels, so that they are not asked about again.
    found = {one: InstanceLabel(one, label_class, None) for one in (*verdicts.unsure, *verdicts.disputed)}
    if known is not None and known.present:
        found |= {one: InstanceLabel(one, label_class, True, rate) for one in known.where}
        found |= {one: InstanceLabel(one, label_class, False, rate) for one in known.elsewhere}
    else:
        found |= {one: InstanceLabel(one, label_class, False, rate) for one in verdicts.absent}
        # What was imported as not of the class is not, whether it is in the bag or not.
        imported = [one for one in contents.instance_labels.about(*pair) if one.present is False]
        found |= {one.instance: InstanceLabel(one.instance, label_class, False) for one in imported}
    return KnownPair(known, tuple(found[one] for one in sorted(found)))


def _decided(contents: Contents, votes: Votes, pair: Pair) -> Decision | None:
    if not contents.is_given(pair):
        return votes.decisions.get(pair)
    correction = votes.imported(pair).in_effect
    if correction is None:
        return Decision(bool(contents.given[pair]), False)
    return Decision.of(VALUE[correction.answer], correction, [correction])


def _verdicts(contents: Contents, votes: Votes, pair: Pair) -> Verdicts:
    """What answers say of the instances of a pair; like its answers, they do not count where it was imported."""
    return NO_VERDICTS if contents.is_given(pair) else votes.verdicts(pair)


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
    bags = sorted({*votes.pointed_bags(), *contents.instance_labels.bags})
    return InstanceLabels(len(contents.classes), {bag: labels_in_bag(contents, votes, bag, flip) for bag in bags})


def labels_in_bag(
    contents: Contents, votes: Votes, bag: int, flip: Callable[[Pair], float] = lambda _: 0.0
) -> list[InstanceLabel]:
    """Return what is known of the instances of one bag; the parameters are those of `instance_labels_of`."""
    if not _says_where(contents, votes, bag):
        return []
    imported = {label.label_class for label in contents.instance_labels.of(bag)}
    roots = {contents.class_list.root(label_class) for label_class in (*votes.pointed_classes(bag), *imported)}
    pairs = [(bag, label_class) for label_class in sorted(roots)]
    return [label for pair in pairs for label in known_pair(contents, votes, pair, flip(pair)).labels]


def _says_where(contents: Contents, votes: Votes, bag: int) -> bool:
    """Whether anything was ever said of single instances of the bag: of most bags it was not."""
    return votes.has_pointed(bag) or contents.instance_labels.has(bag)


def disputed_in_bag(contents: Contents, votes: Votes, bag: int) -> dict[Pair, Instances]:
    """Return the instances of a bag about which there is a disagreement, for each pair that claims or denies them.

    An instance is disputed if it is said to be of two classes, or to be of a class and not to be of it.
    """
    if not _says_where(contents, votes, bag):
        return {}
    labels = labels_in_bag(contents, votes, bag)
    claimed = {(label.instance, label.label_class) for label in labels if label.present}
    found: dict[Pair, set[int]] = {}
    for conflict in InstanceLabels(len(contents.classes), {bag: labels}).conflicts():
        for label_class in conflict.classes:
            if (conflict.instance, label_class) in claimed:
                found.setdefault((bag, label_class), set()).add(conflict.instance)
    for label_class in votes.pointed_classes(bag):
        pair = bag, label_class
        known, of_answers = known_of(contents, votes, pair), _verdicts(contents, votes, pair).disputed
        disputed = {*of_answers, *(known.disputed if known is not None else ())}
        if disputed:
            found.setdefault(pair, set()).update(disputed)
    return {pair: tuple(sorted(instances)) for pair, instances in sorted(found.items())}


def fresh_votes(contents: Contents, settings: Settings) -> Votes:
    """Return votes without any event."""
    asking = settings.asking
    return Votes(asking.people, asking.share, settings.learning.seed, contents.adjudicators, contents.removed)
