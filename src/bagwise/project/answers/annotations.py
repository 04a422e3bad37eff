"""Annotations of another tool: what one person says of one bag, sent again whenever it changes.

An annotation has an id and versions. Every version is compared with what the events of the annotation say already,
class by class, and only what differs becomes events, by the way of all answers: a class that is new is answered, one
that changed is corrected, and one that the annotation no longer names is undone. So a version that is sent twice
changes nothing, one that was interrupted is completed when it is sent again, and what the person has answered elsewhere
since is not replaced by a version that was known before.

The keys of the events say which version they come from: `ID.VERSION.CLASS`, with `deleted` as the last version.
"""

from dataclasses import dataclass, replace

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable
from bagwise.learning.questions import Pair
from bagwise.project.answers.answers import Answers, Submission, raised
from bagwise.project.answers.corrections import UNDOS, Corrections
from bagwise.project.answers.events import ANSWER_OF, NOWHERE, Event, Pointing
from bagwise.project.answers.votes import Chain
from bagwise.project.imports import media
from bagwise.project.imports.regions import place_labels
from bagwise.project.state import ProjectState

DELETED = "deleted"

Said = tuple[str, Pointing]
"""The answer for a class, and what it says of single instances."""


@dataclass(frozen=True)
class Annotation:
    """A version of what one person says of one bag.

    Parameters
    ----------
    id : str
        Unique among all annotations; neither dots nor hyphens, at most 26 characters.
    version : int
        Later versions are larger; at most 20 digits.
    annotator : str
        Name of the person; of a known annotation it is who made it.
    labels : LabelTable or None
        What it says, with the bag as its only row; None where the annotation was deleted. Classes that the project does
        not have are left out, and so are places of a class that is not present.
    seconds : float, optional
        How long it took.

    Examples
    --------
    >>> import numpy as np
    >>> labels = LabelTable(["marsh-3"], ["wren", "robin"], np.array([[1.0, 0.0]]))
    >>> Annotation("studio:17", 2, "ann", labels).key, Annotation("studio:17", 3, "ann", None).key
    ('studio:17.2', 'studio:17.deleted')
    """

    id: str
    version: int
    annotator: str
    labels: LabelTable | None
    seconds: float | None = None

    @property
    def key(self) -> str:
        """What the keys of its events begin with."""
        return f"{self.id}.{DELETED if self.labels is None else self.version}"


class Annotations:
    """Makes the events of a project say what annotations say."""

    def __init__(self, state: ProjectState, answers: Answers, corrections: Corrections) -> None:
        self.state, self._answers, self._corrections = state, answers, corrections

    def versions(self, prefix: str) -> dict[str, float]:
        """Return the last version that events come from, by the ids that begin so; infinity where it was deleted."""
        found: dict[str, float] = {}
        for event in self.state.events:
            if event.key.startswith(prefix):
                name, version, *_ = event.key.split(".")
                found[name] = max(found.get(name, 0), float("inf") if version == DELETED else int(version))
        return found

    def apply(self, annotation: Annotation) -> list[Event]:
        """Save what this version changes, and return the new events; none for a version before the last one.

        Where some of it is rejected, the rest is saved before the error is raised.
        """
        if set(annotation.id) & set(".-"):
            raise BagwiseError(f"{annotation.id!r} is not the id of an annotation: use one without dots and hyphens.")
        with self.state.lock:
            self.state.catch_up()
            own = [event for event in self.state.events if event.key.startswith(f"{annotation.id}.")]
            if annotation.labels is None:
                return _Applying(self, annotation, own, own[0].bag, {}).apply() if own else []
            if annotation.version < self.versions(f"{annotation.id}.").get(annotation.id, 0):
                return []
            bag, said = self._said(annotation.labels)
            if own and own[0].bag != bag:
                raise BagwiseError(f"Annotation {annotation.id} is about {self.state.contents.ids[own[0].bag]}.")
            return _Applying(self, annotation, own, bag, said).apply()

    def _said(self, labels: LabelTable) -> tuple[int, dict[int, Said]]:
        """The bag of labels, and the answer for each class with the instances at their places."""
        contents = self.state.contents
        ids = {name: position for position, name in enumerate(contents.ids.tolist())}
        classes = contents.class_list.aliases
        if len(labels.ids) != 1 or labels.ids[0] not in ids:
            raise BagwiseError(f"There is no bag {', '.join(labels.ids)} in the project.")
        present = {(bag, name) for bag, name, answer in labels.triples() if answer == "present" and name in classes}
        placed = [one for one in labels.placed if (one.bag, one.label_class) in present]
        offsets = contents.offsets
        locate = media.located(self.state.folder, offsets, contents.bag_files.holders)
        found, _ = place_labels([replace(labels, placed=placed)], ids, classes, offsets, locate)
        pointed: dict[tuple[int, bool], list[int]] = {}
        for (_, instance, label_class), here in found.items():
            pointed.setdefault((label_class, here), []).append(instance)
        said = {
            classes[name]: (
                answer,
                Pointing.of(pointed.get((classes[name], True), ()), pointed.get((classes[name], False), ())),
            )
            for _, name, answer in labels.triples()
            if name in classes
        }
        return ids[labels.ids[0]], said


class _Applying:
    """One version of one annotation, whose earlier events are `own`."""

    def __init__(
        self, annotations: Annotations, annotation: Annotation, own: list[Event], bag: int, said: dict[int, Said]
    ) -> None:
        self.state, self.annotation, self.bag, self.said = annotations.state, annotation, bag, said
        self._answers, self._corrections = annotations._answers, annotations._corrections
        self.annotator = own[0].annotator if own else annotation.annotator
        self.said_before: dict[int, Said | None] = {
            event.label_class: None if event.kind in UNDOS else (event.answer, event.pointing) for event in own
        }

    def apply(self) -> list[Event]:
        """Save what differs."""
        before, errors, new = len(self.state.events), list[BagwiseError](), list[int]()
        for label_class in sorted({*self.said, *self.said_before}):
            said = self.said.get(label_class)
            if said == self.said_before.get(label_class):
                continue
            try:
                if said is None:
                    self._withdraw((self.bag, label_class))
                elif not self._replace((self.bag, label_class), *said):
                    new.append(label_class)
            except BagwiseError as error:
                errors.append(error)
        if new:
            self._answer(new)
        if errors:
            raise errors[0]
        return self.state.events[before:]

    def _answer(self, classes: list[int]) -> None:
        """Answer what this person has not answered, all of it or nothing."""
        answers, pointing = zip(*(self.said[c] for c in classes), strict=True)
        submission = Submission(
            f"{self.annotation.key}.{classes[0]}",
            self.annotator,
            answers,
            tuple(classes),
            self.bag,
            self.annotation.seconds,
            where=tuple(one.where for one in pointing),
            elsewhere=tuple(one.elsewhere for one in pointing),
        )
        raised(self._answers.submit([submission])[0])

    def _replace(self, pair: Pair, answer: str, pointing: Pointing) -> bool:
        """Correct what is known by this person or an import; False where that is nothing."""
        self.state.validate_pair(pair)
        key, contents = f"{self.annotation.key}.{pair[1]}", self.state.contents
        if contents.is_given(pair):
            same = self.state.votes.imported(pair).in_effect is None and pointing == NOWHERE
            if not same or answer != ANSWER_OF[bool(contents.imported[pair])]:
                self._corrections.correct_imported(pair, self.annotator, answer, key, pointing)
            return True
        own = [chain.in_effect for chain in self.state.votes.chains_of(pair, self.annotator) if chain.votes]
        if not own or own[-1] is None:
            return False
        self._corrections.correct(own[-1].number, self.annotator, answer, key, pointing, about_bag=True)
        return True

    def _withdraw(self, pair: Pair) -> None:
        """Undo the events of this annotation that are in effect: what was before them is in effect again."""
        while (event := self._in_effect(pair)) is not None:
            key = f"{self.annotation.key}.undo {event.number}"
            self._corrections.undo(self.annotator, key, together=False, number=event.number)

    def _in_effect(self, pair: Pair) -> Event | None:
        votes = self.state.votes
        chains: list[Chain] = [*votes.chains_of(pair, self.annotator), votes.imported(pair)]
        found = [chain.in_effect for chain in chains if chain.in_effect is not None]
        return next((one for one in found if one.key.startswith(f"{self.annotation.id}.")), None)
