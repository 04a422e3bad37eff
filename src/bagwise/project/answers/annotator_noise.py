"""Wrong answers in a project: how often each annotator is assumed to be wrong, and which answers probably are.

Answers of adjudicators and imported labels are taken to be right.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.instance_labels import InstanceLabels
from bagwise.data.labels import Labels
from bagwise.evaluation.noise import PRIOR_RATE, Answers, Estimate, Rate, beliefs, estimate, flip_of
from bagwise.kernels import Array
from bagwise.learning.questions import Pair
from bagwise.model import MIMLClassifier
from bagwise.project.answers.current_labels import instance_labels_of, known_of, known_values, labels_in_bag
from bagwise.project.answers.events import NOWHERE, VALUE, Event
from bagwise.project.answers.votes import Votes
from bagwise.project.settings import ESTIMATE
from bagwise.project.storage.queries import UNKNOWN, Contents


@dataclass(frozen=True)
class AnnotatorRates:
    """The rate at which each annotator's answers are wrong: their own where it was estimated, else `usual`."""

    usual: float
    rates: dict[str, Rate] = field(default_factory=dict)

    @classmethod
    def restored(cls, noise: float | str, snapshot: dict[str, Array]) -> "AnnotatorRates":
        """Return the rates in a snapshot."""
        if noise != ESTIMATE:
            return cls.before(noise)
        rows = zip(snapshot["people"].tolist(), snapshot["rates"].tolist(), strict=True)
        return cls(PRIOR_RATE, {name: Rate(rate, low, high, int(n)) for name, (rate, low, high, n) in rows})

    @classmethod
    def before(cls, noise: float | str) -> "AnnotatorRates":
        """Return the rates assumed before any were estimated."""
        return cls(PRIOR_RATE if isinstance(noise, str) else float(noise))

    def snapshot(self) -> dict[str, Array]:
        """The estimated rates as arrays; none where nothing was estimated."""
        numbers = [(one.rate, one.low, one.high, one.answers) for one in self.rates.values()]
        return {"people": np.array(list(self.rates), str), "rates": np.array(numbers, float).reshape(-1, 4)}

    def rate(self, name: str) -> float:
        """How often this person is wrong."""
        return self.rates[name].rate if name in self.rates else self.usual

    def flip(self, votes: Votes, pair: Pair) -> float:
        """Return the probability that the decision about a pair is wrong, given all answers to it."""
        decision = votes.decisions.get(pair)
        if self.usual == 0 or decision is None or decision.present is None:
            return 0.0
        events = votes.answers_about(pair)
        if any(event.annotator in votes.adjudicators for event in events):
            return 0.0
        answers = [(event.answer == "present", self.rate(event.annotator)) for event in _clear(events)]
        return flip_of(decision.present, answers)

    def flips(self, votes: Votes, pair: Pair) -> tuple[float, float]:
        """Return the probability that the decision about a pair is wrong, and that what it says of an instance is."""
        return self.flip(votes, pair), self.pointing_flip(votes, pair)

    def pointing_flip(self, votes: Votes, pair: Pair) -> float:
        """Return the probability that what is said of an instance is wrong: the rate of the person who points at it.

        Where several people point for one pair, it is the largest of their rates, for all that they point at.
        """
        if self.usual == 0:
            return 0.0
        events = [*votes.answers_about(pair), *votes.about_instances(pair)]
        if any(event.annotator in votes.adjudicators for event in events):
            return 0.0
        pointing = [event for event in events if event.pointing != NOWHERE or not event.labels_bag]
        return max((self.rate(event.annotator) for event in pointing), default=0.0)


def labels_of(contents: Contents, votes: Votes, people: AnnotatorRates) -> Labels:
    """Return the known labels, of bags and of instances, each with the probability that it is wrong."""
    of_bags = Labels.from_array(known_values(contents, votes)[0], missing=UNKNOWN)
    instances = instance_labels_of(contents, votes, _pointing_flips(contents, votes, people))
    labels = Labels(of_bags.value, of_bags.known, instances=instances)
    if people.usual == 0:
        return labels
    flip = np.zeros(labels.known.shape)
    for pair in votes.decisions:
        if not contents.is_given(pair):
            flip[pair] = people.flip(votes, pair)
    for merged, members in contents.class_list.members.items():
        known = np.flatnonzero(labels.known[:, merged]).tolist()
        inferred = [bag for bag in known if (bag, merged) not in votes.decisions]
        flip[inferred, merged] = flip[inferred][:, list(members)].max(axis=1, initial=0.0)
        flip[:, list(members)] = 0.0
    return labels.doubted(flip)


def labels_of_bag(contents: Contents, votes: Votes, people: AnnotatorRates, bag: int) -> Labels:
    """Return the known labels of one bag, as one row, and of its instances, as far as they matter to its instances."""
    classes = range(len(contents.classes))
    known = [known_of(contents, votes, (bag, label_class)) for label_class in classes]
    values = [UNKNOWN if one is None or one.present is None else int(one.present) for one in known]
    of_bag = Labels.from_array([values], missing=UNKNOWN)
    instances = labels_in_bag(contents, votes, bag, _pointing_flips(contents, votes, people))
    return Labels(of_bag.value, of_bag.known, instances=InstanceLabels(len(classes), {0: instances}))


def _pointing_flips(contents: Contents, votes: Votes, people: AnnotatorRates) -> Callable[[Pair], float]:
    """The rate at which the pointing for a pair is wrong; imported and corrected labels are taken to be right."""
    return lambda pair: 0.0 if contents.is_given(pair) else people.pointing_flip(votes, pair)


@dataclass(frozen=True)
class Examination:
    """Every answer compared with the others and with a model that does not know the bag's labels."""

    events: list[Event]
    answers: Answers
    belief: Array
    found: Estimate
    names: list[str]

    @property
    def people(self) -> AnnotatorRates:
        """The estimated rates."""
        return AnnotatorRates(PRIOR_RATE, dict(zip(self.names, self.found.rates, strict=True)))


def examine(contents: Contents, votes: Votes, bags: Bags, model: MIMLClassifier) -> Examination:
    """Examine all answers that say present or absent of a bag; imported labels are only learned from.

    Of classes that became a part of others the model knows nothing, so answers about them are left out.
    """
    effective = [event for event in _clear(votes.all_effective()) if event.labels_bag]
    merged = {place for place, one in enumerate(contents.class_list) if one.merged_into is not None}
    events = [one for one in effective if not contents.is_given(one.pair) and one.label_class not in merged]
    pairs = {pair: number for number, pair in enumerate(dict.fromkeys(event.pair for event in events))}
    names = sorted({event.annotator for event in events})
    rows = [(pairs[event.pair], names.index(event.annotator), event.answer == "present") for event in events]
    labels = labels_of(contents, votes, AnnotatorRates(PRIOR_RATE))
    belief = beliefs(model, bags, labels, list(pairs)) if pairs else np.empty(0)
    answers = Answers.of(rows)
    return Examination(events, answers, belief, estimate(answers, belief, len(pairs), len(names)), names)


def _clear(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if VALUE.get(event.answer) is not None]


@dataclass(frozen=True)
class Doubt:
    """An answer with the probability that it is wrong; `belief`: P(class in bag) by a model that did not know it."""

    number: int
    bag: str
    label_class: str
    annotator: str
    answer: str
    belief: float
    wrong: float


def doubts(examination: Examination, contents: Contents, votes: Votes) -> list[Doubt]:
    """All answers that no adjudicator settled, the most doubtful first."""
    wrong = examination.found.wrong(examination.answers)
    found = []
    for place, event in enumerate(examination.events):
        if not any(one.annotator in votes.adjudicators for one in votes.answers_about(event.pair)):
            bag, label_class = str(contents.ids[event.bag]), contents.classes[event.label_class]
            belief = float(examination.belief[examination.answers.pair[place]])
            found.append(
                Doubt(event.number, bag, label_class, event.annotator, event.answer, belief, float(wrong[place]))
            )
    return sorted(found, key=lambda doubt: -doubt.wrong)
