"""Project: a labelling project on disk. Ask, answer, undo, correct; whatever was acknowledged is durable.

Several processes may have one project open: questions are leased through the database, and every process learns the
same events in the same order.
"""

import contextlib
import shutil
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from bagwise.asking import Question, varied
from bagwise.bags import Bags
from bagwise.errors import BagwiseError, FileError
from bagwise.formats import LabelTable, PredictionTable, Source
from bagwise.learner import ActiveLearner, Memory
from bagwise.model import MIMLClassifier, Trial, choose_settings
from bagwise.project import instances, replay, store
from bagwise.project import media as kept
from bagwise.project.database import Database, DatabaseError
from bagwise.project.events import ANSWERS, Event, Pair, Votes
from bagwise.project.importing import Progress, import_into, quiet
from bagwise.project.names import refuse_bad_name
from bagwise.project.noise import Doubt, People, doubts, examine, labels_of
from bagwise.project.opening import DATABASE, database_of, fill, refuse_full, upgraded
from bagwise.project.settings import ESTIMATE, Asking, Data, Display, Learning, Settings
from bagwise.project.settings import FILE as SETTINGS
from bagwise.project.teaching import Teaching

TRUTH = "truth.npz"
TUNED = "tuned.jsonl"
SPARE_CANDIDATES = 60
IN_STORE = 8
"""For each question that is out: while everything is fitted anew, for many seconds, no newer ranking comes."""
SPARE_CHOICES = 4
TRIES = 50


class AlreadyAnswered(BagwiseError):
    """Another answer to this question was saved before."""


@dataclass(frozen=True)
class Asked:
    """A question handed to one person: *is the class in the bag?* `key` answers it."""

    key: str
    bag: int
    bag_id: str
    label_class: int
    class_name: str
    evidence: int
    belief: float
    score: float
    audit: bool
    until: float


@dataclass(frozen=True)
class _Candidates:
    """Questions, best first, by the model after `asked_after` events; whose turn is an audit; whether these are all."""

    questions: list[Question]
    audits: list[bool]
    asked_after: int
    complete: bool


class Project:
    """An open project; close it or use it in a `with` statement."""

    def __init__(self, folder: Path, settings: Settings, database: Database) -> None:
        self.folder, self.settings, self.database = folder, settings, database
        self._lock = threading.RLock()
        self._load()

    # Making and opening

    @classmethod
    def create(
        cls,
        folder: str | Path,
        source: Source,
        labels: LabelTable | None = None,
        classes: Sequence[str] = (),
        learning: Learning | None = None,
        asking: Asking | None = None,
        database: str = "",
        progress: Progress = quiet,
        display: Display | None = None,
        media: kept.Media | None = None,
    ) -> "Project":
        """A new project in a folder that is not there yet; if anything goes wrong, it still is not."""
        place = Path(folder)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BagwiseError(f"{place} is there already: choose another folder, or `bagwise import` into it.")
        settings = Settings(
            place.resolve().name,
            Data(source.n_features, source.dtype.name),
            learning or Learning(),
            asking or Asking(),
            display or Display(),
            database,
        )
        unfinished = place.resolve().with_name(f".{place.resolve().name}.{uuid.uuid4().hex[:8]}.part")
        try:
            unfinished.mkdir(parents=True)
            of_answers = database_of(unfinished, settings)
            try:
                refuse_full(of_answers)
                fill(unfinished, settings, of_answers, source, labels, classes, progress, media)
            finally:
                of_answers.close()
            if place.exists():
                place.rmdir()
            unfinished.replace(place)
        except OSError as error:
            raise BagwiseError(f"{place} cannot be made: {error.strerror or error}.") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return cls.open(place)

    @classmethod
    def open(cls, folder: str | Path) -> "Project":
        """An existing project, upgraded if an older Bagwise made it (after a backup of its database)."""
        place = Path(folder)
        settings = Settings.read(place)
        database = database_of(place, settings)
        if not settings.database and not (place / DATABASE).exists():
            raise BagwiseError(f"{place} has no {DATABASE}: the answers are missing. Restore it from a backup.")
        try:
            upgraded(place, database)
            return cls(place, settings, database)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Keep what was learned for a fast start, and let go of the database."""
        self._teaching.close()
        self.database.close()

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> None:
        with self.database.reading() as connection:
            contents = store.contents(connection)
            events = store.events_after(connection, 0)
        data = self.settings.data
        if contents.shape != self.settings.shape:
            width, dtype = contents.shape
            what = f"[data] was changed: it must say features = {width} and dtype = {dtype!r}, as the instances are."
            raise FileError(self.folder / SETTINGS, what)
        features = instances.open_instances(self.folder, int(contents.offsets[-1]), data.features, data.dtype)
        counted = replay.Replay(contents, self.settings)
        counted.count(events)
        self.contents, self._events, self._counted = contents, events, counted
        self.bags = Bags.trusted(features, contents.offsets, contents.ids)
        snapshots = replay.Snapshots(self.folder, contents, self.settings)
        self._teaching = Teaching(counted, self.bags, events, snapshots)

    # What there is

    @property
    def classes(self) -> list[str]:
        """In the order of their positions."""
        return self.contents.classes

    @property
    def votes(self) -> Votes:
        """What was said."""
        return self._counted.votes

    @property
    def events(self) -> list[Event]:
        """Everything ever said, in order."""
        return self._events

    @property
    def learner(self) -> ActiveLearner:
        """The model, taught everything said so far."""
        return self.load()

    def memory(self) -> Memory:
        """All that the model has become, and the rates of wrong answers it goes by."""
        self.catch_up()
        return self._teaching.memory()

    def load(self, progress: Progress = quiet) -> ActiveLearner:
        """Make the learner now, showing how far the replay is."""
        self.catch_up()
        return self._teaching.learner(progress)

    def labels(self) -> LabelTable:
        """What is known: imported, or decided by answers."""
        with self._lock:
            self.catch_up()
            known, unsure = self._counted.known()
            values = np.where(known == store.UNKNOWN, np.nan, known)
            return LabelTable(self.contents.ids.tolist(), self.classes, values, unsure)

    def examples(self, label_class: int, count: int) -> list[int]:
        """Bags that have the class, those answered last first, then those imported."""
        answered = [
            bag
            for (bag, c), decision in reversed(list(self.votes.decisions.items()))
            if c == label_class and decision.present
        ]
        imported = np.flatnonzero(self.contents.given[:, label_class] == 1).tolist()
        return list(dict.fromkeys([*answered, *imported]))[:count]

    def medium(self, bag: int) -> kept.Kept | None:
        """The file of a bag and the places of its instances in it."""
        first, last = self.contents.offsets[bag : bag + 2].tolist()
        return kept.kept_of(self.folder, bag, first, last)

    def evidence(self, bags: Sequence[int], label_class: int) -> list[int]:
        """The instance of each bag that the model believes the class in."""
        if not bags:
            return []
        chosen = self.bags.select(bags)
        believed = self._taught().model.predict_instance_proba(chosen)[:, label_class]
        return [int(part.argmax()) for part in np.split(believed, chosen.offsets[1:-1])]

    def beliefs(self, bag: int) -> np.ndarray:
        """P(class in bag) of every class, by the newest model that is ready."""
        return np.asarray(self._taught().predict_proba(self.bags.select([bag]))[0], float)

    def predictions(self) -> PredictionTable:
        """What the model believes about every pair."""
        return predict(self.learner.model, self.bags, self.classes)

    def trained(self, trials: list[Trial] | None = None) -> MIMLClassifier:
        """A model fitted from scratch to everything known, which knows the names of its classes.

        With a list for the `trials`, its settings are chosen by held-out labels, and what was tried is put there.
        """
        learning = self.settings.learning
        with self._lock:
            self.catch_up()
            people = replay.people_of(self.contents, self.votes, self.bags, learning)
            known = labels_of(self.contents, self.votes, people)
        if known.n_known == 0:
            raise BagwiseError("Nothing is known yet: answer some questions or import labels first.")
        model = replay.model_of(learning)
        if trials is not None:
            model, tried = choose_settings(model, self.bags, known)
            trials += tried
        model.fit(self.bags, known)
        model.class_names_ = list(self.classes)
        model.feature_names_ = list(self.contents.features)
        return model

    # Wrong answers

    def people(self) -> People:
        """How often everybody is wrong, as the model assumes it now."""
        if self.settings.learning.noise != ESTIMATE:
            return People.before(self.settings.learning.noise)
        self.catch_up()
        return self._teaching.people()

    def doubts(self) -> list[Doubt]:
        """Every answer with the probability that it is wrong, the most doubtful first."""
        with self._lock:
            self.catch_up()
            model = replay.model_of(self.settings.learning)
            return doubts(examine(self.contents, self.votes, self.bags, model), self.contents, self.votes)

    # Asking and answering

    def ask(self, annotator: str, count: int = 1) -> list[Asked]:
        """Up to `count` questions for this person: those still open from before, then the best that nobody has.

        Asking again without answering gives the same questions again. An empty list: nothing is left for this person.
        """
        refuse_bad_name(annotator)
        for _ in range(TRIES):
            with self._lock:
                leases = self.catch_up()
                mine = [one for one in leases if one.annotator == annotator and self._wants(one.pair, annotator)]
            mine.sort(key=lambda one: -one.asked_after)
            if len(mine) >= count:
                return [self._asked(one) for one in mine[:count]]
            found = self._candidates(annotator, leases, count - len(mine))
            ordered = _in_turn(found, [one.pair for one in leases], count + SPARE_CHOICES)
            granted = self._grant(annotator, ordered, count - len(mine), found.asked_after)
            if len(mine) + len(granted) >= count or found.complete:
                break
        return [self._asked(one) for one in mine + granted]

    def answer(
        self,
        key: str,
        annotator: str,
        answer: str,
        seconds: float | None = None,
        shown: str | None = None,
        pair: Pair | None = None,
    ) -> Event:
        """Save the answer to a question; it is durable when this returns.

        The same answer sent again is the same event. `pair` saves an answer whose question is long forgotten.
        """
        _refuse_bad_answer(answer)
        refuse_bad_name(annotator)
        with self._lock:
            with self.database.writing() as connection:
                saved = store.event_with(connection, key)
                if saved is not None:
                    if (saved.annotator, saved.answer) != (annotator, answer):
                        raise AlreadyAnswered(
                            f"This question was answered before, by {saved.annotator}: {saved.answer}."
                        )
                    return saved
                lease = store.lease_with(connection, key)
                if lease is not None and lease.annotator != annotator:
                    raise BagwiseError(f"This question was put to {lease.annotator}, not to {annotator}.")
                if lease is None and pair is None:
                    raise BagwiseError("This question is not known, or was asked too long ago: ask again.")
                about = lease.pair if lease is not None else pair
                assert about is not None
                self._refuse_unknown(about)
                self._refuse_second_answer(connection, about, annotator)
                store.ensure_annotator(connection, annotator)
                event = store.add_event(
                    connection,
                    key=key,
                    kind="answer",
                    annotator=annotator,
                    bag=about[0],
                    label_class=about[1],
                    answer=answer,
                    seconds=seconds,
                    audit=lease.audit if lease is not None else False,
                    score=lease.score if lease is not None else None,
                    belief=lease.belief if lease is not None else None,
                    asked_after=lease.asked_after if lease is not None else None,
                    shown=shown,
                )
                store.end_lease(connection, key)
            self._after(event)
            return event

    def say(self, annotator: str, answer: str, pairs: Sequence[Pair], key: str) -> list[Event]:
        """Give one answer about several pairs that were not asked, all or none; with the same key, only once.

        None of the pairs may be imported as known or answered by this person before. What the model believes of each
        is kept with it, as for a question; none is an audit, since a person chose them.
        """
        _refuse_bad_answer(answer)
        refuse_bad_name(annotator)
        keys = [f"{key}:{number}" for number in range(len(pairs))]
        with self._lock:
            self.catch_up()
            beliefs, asked_after = self._beliefs(pairs), len(self._events)
            with self.database.writing() as connection:
                saved = [event for one in keys if (event := store.event_with(connection, one)) is not None]
                if saved:
                    return self._same_again(saved, annotator, answer, pairs)
                for pair in pairs:
                    self._refuse_given(pair)
                    self._refuse_second_answer(connection, pair, annotator)
                store.ensure_annotator(connection, annotator)
                events = [
                    store.add_event(
                        connection,
                        key=one,
                        kind="answer",
                        annotator=annotator,
                        bag=pair[0],
                        label_class=pair[1],
                        answer=answer,
                        belief=belief,
                        asked_after=asked_after,
                        shown="list",
                    )
                    for one, pair, belief in zip(keys, pairs, beliefs, strict=True)
                ]
                store.end_leases_of(connection, annotator, pairs)
            self._catch_up_later()
            return events

    def _beliefs(self, pairs: Sequence[Pair]) -> list[float]:
        for pair in pairs:
            self._refuse_unknown(pair)
        if len(set(pairs)) != len(pairs) or not pairs:
            raise BagwiseError("Name each pair once, and at least one.")
        of_bags = self._taught().predict_proba(self.bags.select([bag for bag, _ in pairs]))
        return [float(row[label_class]) for row, (_, label_class) in zip(of_bags, pairs, strict=True)]

    def _same_again(self, saved: list[Event], annotator: str, answer: str, pairs: Sequence[Pair]) -> list[Event]:
        said = [(event.annotator, event.answer, event.pair) for event in saved]
        if said != [(annotator, answer, pair) for pair in pairs]:
            raise AlreadyAnswered(f"This was saved before as something else, from number {saved[0].number} on.")
        return saved

    def _refuse_given(self, pair: Pair) -> None:
        if self.contents.is_given(pair):
            bag, name = self.contents.ids[pair[0]], self.classes[pair[1]]
            raise BagwiseError(f"{name} in {bag} was imported as known: there is nothing to say.")

    def undo(self, annotator: str, key: str | None = None) -> Event:
        """Take back the last that this person said; the pair is open again. With the same key, only once."""
        with self._lock:
            self.catch_up()
            last = self.votes.last_of(annotator)
            done = next((event for event in reversed(self._events) if event.key == key), None) if key else None
            if done is not None:
                return done
            if last is None:
                raise BagwiseError(f"{annotator} has said nothing that could be taken back.")
            event = self._replace(last.number, annotator, "retraction", last.answer, key)
            with contextlib.suppress(DatabaseError):
                self._ask_again(event)
            return event

    def _ask_again(self, event: Event) -> None:
        """Whoever takes an answer back is asked that question next."""
        (evidence,) = self.evidence([event.bag], event.label_class)
        with self.database.writing() as connection:
            lease = store.Lease(
                uuid.uuid4().hex,
                *event.pair,
                event.annotator,
                store.clock(connection) + self.settings.asking.lease_seconds,
                event.audit,
                event.score,
                event.belief,
                evidence,
                self._events[-1].number,
            )
            store.grant(connection, lease)

    def correct(self, number: int, annotator: str, answer: str, key: str | None = None) -> Event:
        """Say anew what event `number` said; both stay in the record."""
        _refuse_bad_answer(answer)
        with self._lock:
            return self._replace(number, annotator, "correction", answer, key)

    def adjudicate(self, pair: Pair, annotator: str, answer: str) -> Event:
        """Decide a pair alone; only an adjudicator may."""
        if answer == "skipped":
            raise BagwiseError("An adjudicator decides: say present, absent or unsure.")
        _refuse_bad_answer(answer)
        with self._lock:
            self.catch_up()
            if self.contents.is_given(pair):
                raise BagwiseError("This was imported as known: there is nothing to decide.")
            if annotator not in self.contents.adjudicators:
                raise BagwiseError(
                    f"{annotator} is no adjudicator: make one with `bagwise annotator DIR NAME --adjudicator`."
                )
            before = [event for event in self.votes.said_about(pair) if event.annotator == annotator]
            if before:
                return self._replace(before[-1].number, annotator, "correction", answer)
            return self.answer(uuid.uuid4().hex, annotator, answer, pair=pair)

    def set_role(self, annotator: str, role: str) -> None:
        """Make somebody an `annotator` or an `adjudicator`."""
        refuse_bad_name(annotator)
        if role not in ("annotator", "adjudicator"):
            raise BagwiseError(f"There is no role {role!r}: choose annotator or adjudicator.")
        with self._lock, self.database.writing() as connection:
            store.ensure_annotator(connection, annotator, role)
        self.catch_up()

    def catch_up(self) -> list[store.Lease]:
        """Count what was said since, also in other processes, and say which questions are out.

        It is learned when a question or the model is wanted.
        """
        with self._lock:
            with self.database.reading() as connection:
                current = store.contents_version(connection) == self.contents.version
                new = store.events_after(connection, len(self._events)) if current else []
                leases = store.leases(connection)
            if current:
                self._count(new)
            else:
                before = self._teaching
                self._load()
                before.close()
            return leases

    def _count(self, new: list[Event]) -> None:
        self._counted.count(new)
        self._events += new

    def _after(self, event: Event) -> None:
        """Count what was just saved, and what others said before it."""
        if event.number == len(self._events) + 1:
            self._count([event])
        else:
            self._catch_up_later()

    def _catch_up_later(self) -> None:
        """Count what was saved if the database can be reached, else at the next occasion."""
        with contextlib.suppress(DatabaseError):
            self.catch_up()

    def _taught(self) -> ActiveLearner:
        """The newest model that is ready: nobody waits for another to learn."""
        return self._teaching.newest()

    def _wants(self, pair: Pair, annotator: str) -> int:
        return 0 if self.contents.is_given(pair) else self.votes.wants(pair, annotator)

    def _candidates(self, annotator: str, leases: Sequence[store.Lease], wanted: int) -> "_Candidates":
        """What this person may be asked now."""
        taken: dict[Pair, int] = {}
        for lease in leases:
            mine = lease.annotator == annotator
            taken[lease.pair] = taken.get(lease.pair, 0) + (self.votes.people if mine else 1)
        count = wanted + (1 + IN_STORE) * len(leases) + self.votes.half_asked + SPARE_CANDIDATES
        patiently = False
        while True:
            said = len(self._events)
            ranking = self._teaching.ranking(said, count, patiently)
            with self._lock:
                asked = ranking.questions
                fitting = (one for one in asked if self._wants(_pair(one), annotator) > taken.get(_pair(one), 0))
                free = list(islice(fitting, wanted + SPARE_CANDIDATES))
            fresh = ranking.applied >= said
            if len(free) >= wanted or (fresh and ranking.complete):
                # Every question that was handed out, answered since or not, has had its turn.
                turn = len(leases) + sum(event.answer != "skipped" for event in self._events[ranking.applied : said])
                audits = [one.audit for one in asked[turn : turn + wanted]]
                return _Candidates(free, audits, ranking.applied, ranking.complete and len(free) <= wanted)
            # An old ranking is used up before a larger one is asked for.
            patiently, count = True, count * 2 if fresh else count

    def _grant(
        self, annotator: str, candidates: Sequence[Question], wanted: int, asked_after: int
    ) -> list[store.Lease]:
        """Lease the first of these that are still free."""
        granted: list[store.Lease] = []
        if not candidates:
            return granted
        with self._lock, self.database.leasing() as connection:
            until = store.clock(connection) + self.settings.asking.lease_seconds
            newer = {event.pair for event in store.events_after(connection, len(self._events))}
            taken: dict[Pair, int] = {}
            for lease in store.leases(connection):
                taken[lease.pair] = taken.get(lease.pair, 0) + 1
                if lease.annotator == annotator:
                    newer.add(lease.pair)
            for question in candidates:
                pair = _pair(question)
                if len(granted) == wanted:
                    break
                if pair in newer or self._wants(pair, annotator) <= taken.get(pair, 0):
                    continue
                lease = store.Lease(
                    uuid.uuid4().hex,
                    *pair,
                    annotator,
                    until,
                    question.audit,
                    float(question.score),
                    question.belief[0],
                    question.evidence[0],
                    asked_after,
                )
                store.grant(connection, lease)
                granted.append(lease)
        return granted

    def _asked(self, lease: store.Lease) -> Asked:
        return Asked(
            lease.key,
            lease.bag,
            str(self.contents.ids[lease.bag]),
            lease.label_class,
            self.classes[lease.label_class],
            lease.evidence or 0,
            float("nan") if lease.belief is None else lease.belief,
            float("nan") if lease.score is None else lease.score,
            lease.audit,
            lease.until,
        )

    def _replace(self, number: int, annotator: str, kind: str, answer: str, key: str | None = None) -> Event:
        refuse_bad_name(annotator)
        _refuse_bad_answer(answer)
        with self.database.writing() as connection:
            saved = store.event_with(connection, key) if key is not None else None
            if saved is not None:
                if (saved.replaces, saved.kind, saved.answer) != (number, kind, answer):
                    raise AlreadyAnswered(f"This was saved before as something else, number {saved.number}.")
                return saved
            old = store.event_at(connection, number)
            if old is None or old.kind == "retraction":
                raise BagwiseError(f"There is no answer number {number} to replace.")
            newer = store.replacement_of(connection, number)
            if newer is not None:
                raise AlreadyAnswered(f"Answer {number} was replaced by number {newer} before: replace that one.")
            store.ensure_annotator(connection, annotator)
            event = store.add_event(
                connection,
                key=key or uuid.uuid4().hex,
                kind=kind,
                annotator=annotator,
                bag=old.bag,
                label_class=old.label_class,
                answer=answer,
                audit=old.audit,
                score=old.score,
                belief=old.belief,
                asked_after=old.asked_after,
                replaces=number,
            )
        self._after(event)
        return event

    def _refuse_second_answer(self, connection: Connection, pair: Pair, annotator: str) -> None:
        newer = store.events_after(connection, len(self._events))
        votes = self.votes
        if newer:
            counted = replay.Replay(self.contents, self.settings)
            counted.count([*self._events, *newer])
            votes = counted.votes
        if votes.has_spoken(pair, annotator):
            raise AlreadyAnswered(f"{annotator} has answered this before: correct that answer instead.")

    def _refuse_unknown(self, pair: Pair) -> None:
        bags, classes = self.contents.given.shape
        if not (0 <= pair[0] < bags and 0 <= pair[1] < classes):
            raise BagwiseError(f"There is no pair {pair}: the project has {bags} bags and {classes} classes.")

    # Importing and keeping

    def import_(
        self,
        source: Source | None,
        labels: LabelTable | None = None,
        classes: Sequence[str] = (),
        progress: Progress = quiet,
        media: kept.Media | None = None,
    ) -> None:
        """More bags, more labels, more classes, more to see of them: all of it or nothing."""
        with self._lock:
            import_into(self.folder, self.settings, self.database, source, labels, classes, progress, media)
            self.catch_up()

    def backup(self, target: str | Path) -> Path:
        """A complete copy that is a project of its own, its answers in SQLite whatever they are in here."""
        place = Path(target)
        if place.exists():
            raise BagwiseError(f"{place} is there already: a backup never overwrites anything.")
        unfinished = place.resolve().with_name(f".{place.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            unfinished.mkdir(parents=True)
            self.database.copy_to(unfinished / DATABASE)
            shutil.copyfile(self.folder / instances.FILE, unfinished / instances.FILE)
            for extra in (TRUTH, TUNED):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(self.folder / extra, unfinished / extra)
            with contextlib.suppress(FileNotFoundError):
                shutil.copytree(self.folder / replay.FOLDER, unfinished / replay.FOLDER)
            kept.copy(self.folder, unfinished)
            replace(self.settings, database="").write(unfinished)
            unfinished.replace(place)
        except OSError as error:
            raise BagwiseError(f"The backup {place} cannot be written: {error.strerror or error}.") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return place


def predict(model: MIMLClassifier, bags: Bags, classes: Sequence[str]) -> PredictionTable:
    """P(class in bag) with the instance that carries most of it."""
    of_instances = model.predict_instance_proba(bags)
    evidence = np.empty((len(bags), len(classes)), np.int64)
    for b in range(len(bags)):
        evidence[b] = of_instances[bags.offsets[b] : bags.offsets[b + 1]].argmax(axis=0)
    ids, thresholds = [str(name) for name in bags.ids], model.thresholds_
    return PredictionTable(ids, classes, model.predict_proba(bags), evidence, thresholds)


def _in_turn(found: _Candidates, out: Sequence[Pair], count: int) -> list[Question]:
    """One drawn at random wherever it is an audit's turn, and nowhere else; among the others, varied ones first."""
    questions, audits = found.questions, found.audits
    drawn = [one for one in questions if one.audit]
    soon = [_pair(one) for one in drawn[: sum(audits)]]
    chosen = varied([one for one in questions if not one.audit], [*out, *soon], count)
    ordered = [(drawn if audit and drawn else chosen or drawn).pop(0) for audit in audits[: len(questions)]]
    return ordered + chosen + drawn


def _pair(question: Question) -> Pair:
    return question.bag, question.classes[0]


def _refuse_bad_answer(answer: str) -> None:
    if answer not in ANSWERS:
        raise BagwiseError(f"{answer!r} is no answer: say one of {', '.join(ANSWERS)}.")
