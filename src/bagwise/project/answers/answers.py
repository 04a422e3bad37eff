"""Answers: saved as events, durable before they are acknowledged.

All answers that arrive at the same time are saved in one transaction, and each is saved or rejected on its own.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from bagwise.core.errors import BagwiseError
from bagwise.learning.questions import Instances, Pair
from bagwise.project.access.names import validate_name
from bagwise.project.access.roles import validate_may_replace
from bagwise.project.answers.events import ANSWERS, LISTED, NOWHERE, WHOLE_BAG, Event, Pointing
from bagwise.project.answers.votes import Chain
from bagwise.project.state import ProjectState
from bagwise.project.storage import queries, stored_leases
from bagwise.project.storage.stored_leases import Lease

Result = TypeVar("Result")


class AlreadyAnswered(BagwiseError):
    """Another answer to this question was saved before.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from bagwise.formats import Source
    >>> from bagwise.project import Project
    >>> source = Source.of_bags(Path("made.npz"), [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    >>> with TemporaryDirectory() as folder, Project.create(f"{folder}/p", source, classes=["wren"]) as project:
    ...     (lease,) = project.ask("ann")
    ...     _ = project.answer(lease.key, "ann", "present")
    ...     try:
    ...         project.answer(lease.key, "ann", "absent")
    ...     except AlreadyAnswered:
    ...         print("the first answer counts")
    the first answer counts
    """


@dataclass(frozen=True)
class Submission:
    """A person's answer to the question that was leased with `key`.

    Parameters
    ----------
    key : str
        The key of the lease; sent again, the submission is saved once.
    annotator : str
        Name of the person.
    answers : tuple of str
        One of `ANSWERS` for each class.
    classes : tuple of int, optional
        The classes, the first of the question first; by default those of the lease.
    bag : int, optional
        The bag; with it and `classes` the answer is saved even if the lease has expired and was deleted.
    seconds : float, optional
        How long answering took.
    shown : str, optional
        What was shown with the question.
    where, elsewhere : tuple of tuple of int
        For each class the instances that are of it, and those that are not, where it is present; empty for none.
    instance : int, optional
        The instance that the question is about, if it is about one; needed where `bag` is.

    Examples
    --------
    >>> Submission("key of the lease", "ann", ("absent", "present"), classes=(4, 2), bag=7).keys((4, 2))
    [('key of the lease-present:0', 2, 'present'), ('key of the lease', 4, 'absent')]
    """

    key: str
    annotator: str
    answers: tuple[str, ...]
    classes: tuple[int, ...] | None = None
    bag: int | None = None
    seconds: float | None = None
    shown: str | None = None
    where: tuple[Instances, ...] = ()
    elsewhere: tuple[Instances, ...] = ()
    instance: int | None = None

    def pointing(self, classes: Sequence[int], instance: int | None = None) -> dict[int, Pointing]:
        """Return what is said of single instances, for each of the classes.

        Parameters
        ----------
        classes : sequence of int
            The classes of the question.
        instance : int, optional
            The instance that the question is about: *present* points at it, unless others are pointed at.

        Returns
        -------
        dict of int to Pointing
            By class.
        """
        if not self.where and not self.elsewhere:
            return {c: pointing_of(answer, NOWHERE, instance) for c, answer in zip(classes, self.answers, strict=True)}
        none: tuple[Instances, ...] = ((),) * len(classes)
        if {len(some or none) for some in (self.where, self.elsewhere)} != {len(classes)}:
            raise BagwiseError(f"Point at instances for each of the {len(classes)} classes, or for none.")
        rows = zip(classes, self.answers, self.where or none, self.elsewhere or none, strict=True)
        return {
            label_class: pointing_of(answer, Pointing.of(where, elsewhere), instance)
            for label_class, answer, where, elsewhere in rows
        }

    def keys(self, classes: Sequence[int]) -> list[tuple[str, int, str]]:
        """(key, class, answer) of each event, that of the first class last.

        Parameters
        ----------
        classes : sequence of int
            The classes of the question, one for each of `answers`.

        Returns
        -------
        list of (str, int, str)
        """
        (first, its_answer), *others = zip(classes, self.answers, strict=True)
        if not others:
            return [(self.key, first, its_answer)]
        found = []
        for value in ANSWERS:
            chosen = [label_class for label_class, answer in others if answer == value]
            found += [(f"{self.key}-{value}:{number}", label_class, value) for number, label_class in enumerate(chosen)]
        return [*found, (self.key, first, its_answer)]


class Answers:
    """Adds answers to the events of a project."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state

    def submit(self, submissions: Sequence[Submission]) -> list[list[Event] | BagwiseError]:
        """Save each submission completely, or return why it was rejected. Sent again, it returns the same events."""
        return self.saving(lambda connection: self._submitted(connection, submissions))

    def _submitted(
        self, connection: Connection, submissions: Sequence[Submission]
    ) -> tuple[list[Event], list[list[Event] | BagwiseError]]:
        leases = stored_leases.with_keys(connection, [one.key for one in submissions if one.key.isprintable()])
        asked = [(one, leases.get(one.key)) for one in submissions]
        keys = [key for one, lease in asked for key, _, _ in _expected(one, lease)]
        saved = queries.events_with(connection, keys)
        new: list[Event] = []
        found: list[list[Event] | BagwiseError] = []
        answered: list[str] = []
        for submission, lease in asked:
            try:
                events, are_new = self._events(submission, lease, saved, new)
                if are_new:
                    new += events
                    saved.update((event.key, event) for event in events)
                    answered.append(submission.key)
                    if len(events) > 1:
                        stored_leases.end_of(connection, submission.annotator, [event.pair for event in events])
                found.append(events)
            except BagwiseError as error:
                found.append(error)
        if answered:
            stored_leases.end(connection, answered)
        return new, found

    def _events(
        self, submission: Submission, lease: Lease | None, saved: dict[str, Event], new: Sequence[Event]
    ) -> tuple[list[Event], bool]:
        """The events of a submission, and whether they are still to be saved."""
        for answer in submission.answers:
            validate_answer(answer)
        validate_name(submission.annotator)
        done = saved.get(submission.key)
        if done is not None:
            return _saved_before(submission, done, saved), False
        bag, classes, instance = self._about(submission, lease)
        if len(classes) != len(submission.answers):
            raise BagwiseError(f"{len(submission.answers)} answers for {len(classes)} classes: send one for each.")
        if instance is not None and len(classes) > 1:
            raise BagwiseError("A question about one instance is about one class: name one.")
        events: list[Event] = []
        pointing = submission.pointing(classes, instance)
        for key, label_class, answer in submission.keys(classes):
            self.state.validate_pair((bag, label_class))
            self.state.validate_pointing(bag, answer, pointing[label_class])
            self.state.validate_instances(bag, () if instance is None else (instance,))
            first, several = key == submission.key, len(classes) > 1
            events.append(
                self._event(
                    key,
                    submission.annotator,
                    (bag, label_class),
                    answer,
                    lease,
                    [*new, *events],
                    seconds=submission.seconds if first else None,
                    shown=(WHOLE_BAG if first else LISTED) if several else submission.shown,
                    pointing=pointing[label_class],
                    instance=instance,
                )
            )
        return events, True

    def _about(self, submission: Submission, lease: Lease | None) -> tuple[int, tuple[int, ...], int | None]:
        """The bag, the classes and the instance that a submission is about."""
        if lease is not None and lease.annotator != submission.annotator:
            raise BagwiseError(f"This question was leased to {lease.annotator}, not to {submission.annotator}.")
        classes = submission.classes
        if lease is not None:
            classes = lease.question.classes[:1] if classes is None else self._as_leased(classes, lease)
            instance = lease.question.instance
            same = submission.bag in (None, lease.bag) and submission.instance in (None, instance)
            if classes[0] != lease.label_class or not same:
                raise BagwiseError("This lease is about another question: ask again.")
            return lease.bag, classes, instance
        if classes is None or submission.bag is None or not submission.key.isprintable():
            raise BagwiseError("This lease does not exist, or expired too long ago: ask again.")
        return submission.bag, classes, submission.instance

    def _as_leased(self, classes: tuple[int, ...], lease: Lease) -> tuple[int, ...]:
        """The classes that were asked: a name may mean a class that was merged from one of them since."""
        class_list, asked = self.state.contents.class_list, lease.question.classes
        meant = {class_list.root(one): one for one in asked if one not in classes}
        return tuple(one if one in asked else meant.get(one, one) for one in classes)

    def _event(
        self,
        key: str,
        annotator: str,
        pair: Pair,
        answer: str,
        lease: Lease | None,
        new: Sequence[Event],
        belief: float | None = None,
        asked_after: int | None = None,
        seconds: float | None = None,
        shown: str | None = None,
        pointing: Pointing = NOWHERE,
        instance: int | None = None,
    ) -> Event:
        """The next event; it corrects a question that the person skipped before, so that both never count."""
        skipped = self._skipped_before(pair, annotator, new, instance)
        question, marked = None if lease is None else lease.question, None
        if lease is not None and question is not None:
            asked_after = lease.asked_after
            place = question.classes.index(pair[1]) if pair[1] in question.classes else None
            belief = None if place is None else _number(question.belief[place])
            marked = None if place is None else question.evidence[place]
        return Event(
            self.number(new),
            key,
            "answer" if skipped is None else "correction",
            annotator,
            queries.now(),
            *pair,
            answer,
            seconds,
            audit=False if question is None else question.audit,
            score=None if question is None else _number(question.score),
            belief=belief,
            asked_after=asked_after,
            replaces=None if skipped is None else skipped.newest,
            shown=shown,
            where=pointing.where,
            elsewhere=pointing.elsewhere,
            marked=marked,
            instance=instance,
            probability=None if question is None else question.probability,
        )

    def answer_listed(self, annotator: str, answer: str, pairs: Sequence[Pair], key: str) -> list[Event]:
        """One answer about several pairs that were not asked, all or none; with the same key, only once."""
        validate_answer(answer)
        validate_name(annotator)
        with self.state.lock:
            self.state.catch_up()
            beliefs = self._beliefs(pairs)
            return self.saving(lambda connection: self._listed(connection, annotator, answer, pairs, key, beliefs))

    def _listed(
        self,
        connection: Connection,
        annotator: str,
        answer: str,
        pairs: Sequence[Pair],
        key: str,
        beliefs: Sequence[float],
    ) -> tuple[list[Event], list[Event]]:
        keys = [f"{key}:{number}" for number in range(len(pairs))]
        saved = queries.events_with(connection, keys)
        if saved:
            return [], _same_again([saved[one] for one in keys if one in saved], annotator, answer, pairs)
        asked_after, new = len(self.state.events), list[Event]()
        for one, pair, belief in zip(keys, pairs, beliefs, strict=True):
            self._validate_not_imported(pair)
            new.append(self._event(one, annotator, pair, answer, None, new, belief, asked_after, shown=LISTED))
        stored_leases.end_of(connection, annotator, pairs)
        return new, new

    def _beliefs(self, pairs: Sequence[Pair]) -> list[float]:
        for pair in pairs:
            self.state.validate_pair(pair)
        if len(set(pairs)) != len(pairs) or not pairs:
            raise BagwiseError("Name each pair once, and at least one.")
        of_bags = self.state.trainer.newest().predict_proba(self.state.bags.select([bag for bag, _ in pairs]))
        return [float(row[label_class]) for row, (_, label_class) in zip(of_bags, pairs, strict=True)]

    def saving(self, work: Callable[[Connection], tuple[list[Event], Result]]) -> Result:
        """Let `work` make events that know every event before, save them, and count them once they are durable."""
        state = self.state
        with state.lock:
            while True:
                with state.database.writing() as connection:
                    current = state.catch_up_in(connection)
                    if current:
                        new, result = work(connection)
                        if new:
                            queries.ensure_annotators(connection, {event.annotator for event in new})
                            queries.add_events(connection, new)
                if current:
                    state.count(new)
                    return result
                state.reload()

    def number(self, new: Sequence[Event] = ()) -> int:
        """The number of the next event after all saved ones and these."""
        return len(self.state.events) + len(new) + 1

    def _skipped_before(self, pair: Pair, annotator: str, new: Sequence[Event], instance: int | None) -> Chain | None:
        """The chain of events of a question that this person skipped; one that they answered is rejected."""
        own = [event for event in new if event.annotator == annotator and event.pair == pair]
        now = any(event.labels_bag or event.instance == instance for event in own)
        if now or self.state.votes.has_answered(pair, annotator, instance):
            raise AlreadyAnswered(f"{annotator} has answered this before: correct that answer instead.")
        skipped = [chain for chain in self.state.votes.chains_of(pair, annotator) if chain.is_about(instance)]
        if skipped and (effective := skipped[-1].in_effect) is not None:
            validate_may_replace(self.state, effective, annotator)
        return skipped[-1] if skipped else None

    def _validate_not_imported(self, pair: Pair) -> None:
        contents = self.state.contents
        if contents.is_given(pair):
            bag, name = contents.ids[pair[0]], contents.classes[pair[1]]
            raise BagwiseError(f"{name} in {bag} was imported as known: correct that label instead.")


def _expected(submission: Submission, lease: Lease | None) -> list[tuple[str, int, str]]:
    """The keys that the events of a submission have if it was saved before; its classes may be unknown by then."""
    if not submission.key.isprintable() or not submission.answers:
        return []
    classes = submission.classes or (lease.question.classes[:1] if lease is not None else (0,))
    return submission.keys(classes) if len(classes) == len(submission.answers) else []


def _saved_before(submission: Submission, done: Event, saved: dict[str, Event]) -> list[Event]:
    """The events of a submission that was sent before."""
    classes = submission.classes or (done.label_class,)
    expected, pointing = submission.keys(classes), submission.pointing(classes, done.instance)
    events = [saved.get(key) for key, _, _ in expected]
    for event, (_, label_class, answer) in zip(events, expected, strict=True):
        sent = submission.annotator, answer, pointing[label_class]
        same = event is not None and (event.annotator, event.answer, event.pointing) == sent
        if not same or event is None or event.pair != (done.bag, label_class):
            before = f"This question was answered before, by {done.annotator}: {done.answer}."
            raise AlreadyAnswered(before if len(expected) == 1 else f"{before} Correct that answer instead.")
    return [event for event in events if event is not None]


def pointing_of(answer: str, pointing: Pointing, instance: int | None) -> Pointing:
    """What an answer to a question says of instances: *present* of one instance is at it, unless others are given."""
    return Pointing((instance,)) if instance is not None and answer == "present" and not pointing.where else pointing


def _same_again(saved: list[Event], annotator: str, answer: str, pairs: Sequence[Pair]) -> list[Event]:
    before = [(event.annotator, event.answer, event.pair) for event in saved]
    if before != [(annotator, answer, pair) for pair in pairs]:
        raise AlreadyAnswered(f"This was saved before as something else, from number {saved[0].number} on.")
    return saved


def _number(value: float) -> float | None:
    """None for NaN, which is how a missing number is stored."""
    return value if value == value else None


def is_part_of(key: str, event: Event) -> bool:
    """Whether an event was saved with this key, alone or as one of several."""
    return event.key == key or event.key.startswith(f"{key}-")


def answered_together(state: ProjectState, last: Event) -> list[Event]:
    """The events that are in effect of the whole-bag answer that `last` belongs to, by number."""
    leased = last.key.rpartition("-")[0] or last.key
    if not any(event.key == leased and event.shown == WHOLE_BAG for event in reversed(state.events)):
        return [last]
    effective = state.votes.all_effective()
    return [one for one in effective if one.annotator == last.annotator and is_part_of(leased, one)]


def raised(found: Result | BagwiseError) -> Result:
    """The result, or the error raised."""
    if isinstance(found, BagwiseError):
        raise found
    return found


def whole_bag_answers(
    classes: Sequence[int], present: Collection[int], unsure: Collection[int] = (), skip: bool = False
) -> tuple[str, ...]:
    """One answer for each class of a whole-bag question: of those neither present nor unsure, absent or skipped.

    Parameters
    ----------
    classes : sequence of int
        The classes that were asked.
    present, unsure : collection of int
        Those of them that are present, and those that the person is unsure about.
    skip : bool
        Whether the others are skipped instead of absent.

    Returns
    -------
    tuple of str
        One of `ANSWERS` for each of `classes`.

    Raises
    ------
    BagwiseError
        If no class was asked, or one is both present and unsure, or was not asked.

    Examples
    --------
    >>> whole_bag_answers([4, 2, 7], present=[2], unsure=[7])
    ('absent', 'present', 'unsure')
    """
    if not classes:
        raise BagwiseError("Name the classes that were asked: at least one.")
    if (set(present) | set(unsure)) - set(classes) or set(present) & set(unsure):
        raise BagwiseError("Only a class that was asked can be present or unsure, and not both.")
    others = "skipped" if skip else "absent"
    return tuple("present" if c in present else "unsure" if c in unsure else others for c in classes)


def validate_answer(answer: str) -> None:
    """An answer is one of `ANSWERS`."""
    if answer not in ANSWERS:
        raise BagwiseError(f"{answer!r} is not an answer: use one of {', '.join(ANSWERS)}.")
