"""What is shown with a question that is leased: the instances to mark, and what the model believes."""

from collections.abc import Sequence
from dataclasses import replace

from bagwise.data.bags import Bags
from bagwise.kernels import Array
from bagwise.learning.evidence import explain
from bagwise.learning.questions import Question
from bagwise.model import MIMLClassifier
from bagwise.project.answers.annotator_noise import AnnotatorRates, labels_of_bag
from bagwise.project.state import ProjectState


def explained(
    state: ProjectState, model: MIMLClassifier, people: AnnotatorRates, questions: Sequence[Question]
) -> list[Question]:
    """The questions with evidence and belief given what is known of the instances, their likeliest class first.

    Where a bag does not show its instances, a question about one of them is asked about the bag.
    """
    shown = [
        question
        if question.instance is None or state.shows_instances(question.bag)
        else replace(question, instance=None)
        for question in questions
    ]
    bags = sorted({question.bag for question in shown})
    some = state.bags.select(bags)
    probability = _instance_probabilities(state, model, people, some, bags)
    places = {bag: place for place, bag in enumerate(bags)}
    return [
        _likeliest_first(question, found)
        for question, found in zip(shown, explain(shown, probability, some.offsets, places), strict=True)
    ]


def _instance_probabilities(
    state: ProjectState, model: MIMLClassifier, people: AnnotatorRates, some: Bags, bags: Sequence[int]
) -> Array:
    """P(class) of the instances of these bags, (instances, classes), given what is known of them."""
    found = model.predict_instance_proba(some)
    for place, bag in enumerate(bags):
        if state.votes.has_pointed(bag):
            labels = labels_of_bag(state.contents, state.votes, people, bag)
            first, last = some.offsets[place : place + 2]
            found[first:last] = model.pool(state.bags.select([bag]), labels).scorer.instance_probabilities()
    return found


def _likeliest_first(asked: Question, explained: Question) -> Question:
    """The explained question with its likeliest class first, by the belief with which it was asked where it has one."""
    if len(explained.classes) == 1 and not asked.belief:
        return explained
    belief = asked.belief or explained.belief
    by_belief = sorted(range(len(belief)), key=lambda place: -belief[place])
    return replace(
        explained,
        classes=tuple(explained.classes[place] for place in by_belief),
        evidence=tuple(explained.evidence[place] for place in by_belief),
        belief=tuple(belief[place] for place in by_belief),
    )
