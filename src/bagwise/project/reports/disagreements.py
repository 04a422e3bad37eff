"""Disagreements: pairs that people answered differently, and instances of which contradictory things are said."""

from dataclasses import dataclass

from bagwise.learning.questions import Instances, Pair
from bagwise.project.answers.current_labels import disputed_in_bag
from bagwise.project.answers.events import Event
from bagwise.project.project import Project
from bagwise.project.storage.bag_filter import EVERYTHING, BagFilter


@dataclass(frozen=True)
class Disagreement:
    """A pair about which, or about whose instances, people disagree.

    Parameters
    ----------
    pair : (int, int)
        Bag and class.
    answers : list of Event
        The answers to it that count.
    disputed : tuple of int
        Instances that are said to be of the class and not to be of it, or to be of another class too: they teach
        nothing until one of the answers is corrected, or an adjudicator decides.
    """

    pair: Pair
    answers: list[Event]
    disputed: Instances = ()


def disagreements_of(project: Project, bags: BagFilter = EVERYTHING) -> list[Disagreement]:
    """Return disagreements about bags that pass the filter: first the pairs, then those only about instances."""
    votes, contents = project.votes, project.contents
    disputed = {
        pair: instances
        for bag in votes.pointed_bags()
        for pair, instances in disputed_in_bag(contents, votes, bag).items()
    }
    passing = bags.mask(contents.bag_files)
    pairs = [pair for pair in dict.fromkeys([*votes.disagreements(), *disputed]) if passing[pair[0]]]
    return [Disagreement(pair, votes.effective_about(pair), disputed.get(pair, ())) for pair in pairs]
