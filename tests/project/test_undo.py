"""No label is lost by an undo: random histories of several people, held against the rules written out the slow way.

A fifth of `--steps` is the number of histories of each kind of project: `pytest tests/project/test_undo.py --steps
10000 -s` tries 6,000 and says so.
"""

import itertools
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bagwise import BagwiseError
from bagwise.formats import LabelTable
from bagwise.project import Asking, Learning, Project, Submission, check, whole_bag_answers
from bagwise.project.access.roles import owner_of
from bagwise.project.answers import replay as replaying
from bagwise.project.answers.audits import audit_history
from bagwise.project.answers.current_labels import instance_labels_of
from bagwise.project.reports.disagreements import disagreements_of
from bagwise.project.storage import queries, stored_leases
from tests.conftest import source_of
from tests.oracles.answers import Refused, Rules
from tests.support import probabilities

BAGS, CLASSES = 3, 2
PAIRS = list(itertools.product(range(BAGS), range(CLASSES)))
IMPORTED = {(0, 0): "present", (0, 1): "absent"}
OPEN = [pair for pair in PAIRS if pair not in IMPORTED]
ANSWERS = ["present", "absent", "unsure", "skipped"]
KINDS = {"one person": (1, 0.0), "three people": (3, 0.0), "noise": (1, "estimate")}

people = some.sampled_from(["ann", "bob", "eve", "the owner"])
answers = some.sampled_from(ANSWERS)
NOWHERE = ((), ())
POINTING = [((0,), ()), ((1,), ()), ((0, 1), ()), ((), (0,)), ((), (0, 1)), ((1,), (0,)), ((2,), (1,)), ((1,), (1,))]
said = some.one_of(
    some.tuples(answers, some.just(NOWHERE)),
    some.tuples(some.just("present"), some.sampled_from(POINTING)),
    some.tuples(answers, some.sampled_from(POINTING)),
)
"""An answer and what it points at; some of it is refused."""
plain = some.tuples(answers, some.just(NOWHERE))
moves = some.one_of(
    some.tuples(some.just("answer"), people, some.sampled_from(PAIRS), said),
    some.tuples(some.just("answer"), people, some.sampled_from(OPEN), said),
    some.tuples(some.just("instance"), people, some.sampled_from(PAIRS), some.integers(0, 2), said),
    some.tuples(some.just("instance"), people, some.sampled_from(OPEN), some.integers(0, 1), plain),
    some.tuples(some.just("correct"), people, some.integers(0, 9), said),
    some.tuples(some.just("correct own"), people, some.integers(0, 3), said),
    some.tuples(some.just("correct own"), people, some.just(0), said),
    some.tuples(some.just("adjudicate"), people, some.sampled_from(OPEN), said),
    some.tuples(some.just("correct imported"), people, some.sampled_from(list(IMPORTED)), said),
    some.tuples(some.just("whole"), people, some.integers(1, BAGS - 1), some.lists(said, min_size=2, max_size=2)),
    some.tuples(some.just("list"), people, some.sampled_from(OPEN), answers),
    some.tuples(some.just("ask"), people, answers),
    some.tuples(some.just("ask"), people, answers),
    some.tuples(some.just("undo"), people),
    some.tuples(some.just("undo"), people),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory, synthetic):
    """Makes projects of a few bags, in which two labels were imported and eve is an adjudicator."""
    made = {}

    def make(kind):
        if kind not in made:
            data = synthetic.select(range(BAGS))
            known = np.full((BAGS, CLASSES), np.nan)
            for pair, answer in IMPORTED.items():
                known[pair] = answer == "present"
            classes = synthetic.classes[:CLASSES]
            labels = LabelTable([f"bag {i}" for i in range(BAGS)], classes, known)
            count, noise = KINDS[kind]
            options = {"asking": Asking(people=count), "learning": Learning(noise=noise, audit=0.6)}
            made[kind] = tmp_path_factory.mktemp("undo") / "project"
            with Project.create(made[kind], source_of(data), labels, classes, **options) as project:
                project.set_role("eve", "adjudicator")
        return made[kind]

    return make


def _refusal(act, kind):
    """Why it was refused, if it was."""
    try:
        act()
    except kind as error:
        return error
    return None


class Both:
    """The project and the rules, given the same answers."""

    def __init__(self, folder, kind):
        self.project = Project.open(folder)
        self.owner = owner_of(folder)
        self.rules = Rules(KINDS[kind][0], {"eve"}, self.owner, IMPORTED, self.project.bags.sizes.tolist())
        self.keys = (f"key {number}" for number in itertools.count())

    def tell(self, move, who, *rest):
        who = self.owner if who == "the owner" else who
        by_rules, by_project = getattr(self, f"_{move.replace(' ', '_')}")(who, *rest)
        assert (_refusal(by_project, BagwiseError) is None) == (_refusal(by_rules, Refused) is None)
        self.compare()

    def _answer(self, who, pair, said):
        answer, pointing = said
        return (
            lambda: self.rules.answer(who, {pair: answer}, {pair: pointing}),
            lambda: self.project.answer(
                next(self.keys), who, answer, pair=pair, where=pointing[0], elsewhere=pointing[1]
            ),
        )

    def _instance(self, who, pair, instance, said):
        answer, pointing = said
        where, elsewhere = pointing
        return (
            lambda: self.rules.answer(who, {pair: answer}, {pair: pointing}, instance),
            lambda: self.project.answer(
                next(self.keys), who, answer, pair=pair, where=where, elsewhere=elsewhere, instance=instance
            ),
        )

    def _ask(self, who, answer):
        """Answer what the project asks, of which a part is drawn."""
        leases = self.project.ask(who)
        if not leases:
            return (lambda: None), (lambda: None)
        (lease,) = leases
        question = lease.question
        return (
            lambda: self.rules.answer(
                who, {lease.pair: answer}, None, question.instance, (question.audit, question.probability)
            ),
            lambda: self.project.answer(lease.key, who, answer),
        )

    def _list(self, who, pair, answer):
        pairs = [(bag, pair[1]) for bag in range(1, BAGS)]

        def by_rules():
            before = list(self.rules.actions), self.rules.numbers, self.rules.goes
            try:
                for one in pairs:
                    self.rules.answer(who, {one: answer})
            except Refused:
                self.rules.actions, self.rules.numbers, self.rules.goes = before
                raise

        return by_rules, lambda: self.project.answer_listed(who, answer, pairs, next(self.keys))

    def _whole(self, who, bag, said):
        answers, pointing = zip(*said, strict=True)
        where, elsewhere = zip(*pointing, strict=True)
        skip = answers[0] == "skipped"
        words = ["skipped" if skip else "absent" if answer == "skipped" else answer for answer in answers]
        words = ["skipped" if skip and word == "absent" else word for word in words]
        chosen = {word: [c for c in range(CLASSES) if words[c] == word] for word in ("present", "unsure")}
        order = sorted(range(1, CLASSES), key=lambda c: ANSWERS.index(words[c]))
        return (
            lambda: self.rules.answer(
                who,
                {(bag, c): words[c] for c in [*order, 0]},
                {(bag, c): pointing[c] for c in range(CLASSES)},
            ),
            lambda: self.project.submit(
                Submission(
                    next(self.keys),
                    who,
                    whole_bag_answers(range(CLASSES), chosen["present"], chosen["unsure"], skip),
                    tuple(range(CLASSES)),
                    bag,
                    where=where,
                    elsewhere=elsewhere,
                )
            ),
        )

    def _correct(self, who, back, said):
        return self._correct_number(who, max(1, self.rules.numbers - back), *said)

    def _correct_own(self, who, back, said):
        mine = [number for number, person, *_ in self.rules.all_in_effect() if person == who]
        return self._correct_number(who, mine[-1 - back % len(mine)] if mine else 1, *said)

    def _correct_number(self, who, number, answer, pointing):
        where, elsewhere = pointing
        return (
            lambda: self.rules.correct(who, number, answer, pointing),
            lambda: self.project.correct(number, who, answer, where=where, elsewhere=elsewhere),
        )

    def _correct_imported(self, who, pair, said):
        answer, pointing = said
        where, elsewhere = pointing
        return (
            lambda: self.rules.correct_imported(who, pair, answer, pointing),
            lambda: self.project.correct_imported(pair, who, answer, where=where, elsewhere=elsewhere),
        )

    def _adjudicate(self, who, pair, said):
        answer, pointing = said
        where, elsewhere = pointing
        return (
            lambda: self.rules.adjudicate(who, pair, answer, pointing),
            lambda: self.project.adjudicate(pair, who, answer, where, elsewhere),
        )

    def _undo(self, who):
        return lambda: self.rules.undo(who), lambda: self.asked_again(self.project.undo_together(who, next(self.keys)))

    def asked_again(self, undone):
        """What is open again is asked of the same person, as it was drawn."""
        project = self.project
        with project.database.reading() as connection:
            leases = [
                one for one in stored_leases.open_leases(connection).values() if one.annotator == undone[0].annotator
            ]
        for event in undone:
            if project._state.wants(event.pair, event.annotator, event.instance):
                (question,) = [one.question for one in leases if event.pair in one.question.pairs]
                assert (question.audit, question.probability) == (event.audit, event.probability)

    def compare(self):
        project, rules = self.project, self.rules
        assert len(project.events) == rules.numbers
        effective = project.votes.all_effective()
        in_effect = [
            (
                one.number,
                one.annotator,
                one.pair,
                one.answer,
                one.pointing,
                one.instance,
                (one.audit, one.probability),
            )
            for one in effective
        ]
        assert in_effect == rules.all_in_effect()
        expected = {pair: rules.label(pair) for pair in PAIRS}
        assert {pair: project.counts_as(pair) for pair in PAIRS} == expected
        table = project.labels()
        values = {pair: {"present": 1.0, "absent": 0.0}.get(label) for pair, label in expected.items()}
        assert {pair: None if np.isnan(table.values[pair]) else table.values[pair] for pair in PAIRS} == values
        assert {pair: bool(table.unsure[pair]) for pair in PAIRS} == {p: one == "unsure" for p, one in expected.items()}

        known = instance_labels_of(project.contents, project.votes)
        assert by_instance(known) == rules.instance_labels(PAIRS)
        assert {one.pair: one.disputed for one in disagreements_of(project) if one.disputed} == rules.disputed(PAIRS)

    def compare_audits(self):
        """Every audit in effect with its probability, and what was open at its draw: what a replay leaves open."""
        project = self.project
        history = audit_history(project.contents, project.votes)
        labels = {True: "present", False: "absent", None: "unsure"}
        found = {
            pair: (labels[present], draw.probability)
            for draw in history.draws
            for pair, present in zip(draw.pairs, draw.present, strict=True)
        }
        assert found == self.rules.audits(PAIRS)
        drawn = {}
        for place, draw in enumerate(history.draws):
            before = replaying.Replay(project.contents, project.settings)
            before.count(project.events[: draw.after])
            values, unsure = before.known()
            is_open = (values == queries.UNKNOWN) & ~unsure
            for pair in drawn.setdefault(draw.after, []):
                is_open[pair] = False
            np.testing.assert_array_equal(history.open_before(place), is_open)
            assert all(is_open[pair] for pair in draw.pairs), "what was drawn was open"
            drawn[draw.after] += draw.pairs

    def compare_learned(self):
        """The labels that the model has learned by then, one answer after the other."""
        assert by_instance(self.project.learner.labels.instances) == self.rules.instance_labels(PAIRS)

    def reopen(self):
        self.project.close()
        self.project = Project.open(self.project.folder)
        self.compare()


def by_instance(labels):
    return {(bag, label.instance, label.label_class): label.present for bag, label in labels}


@pytest.mark.parametrize("kind", KINDS)
def test_every_history_follows_the_rules(template, request, tmp_path_factory, kind, monkeypatch):
    """Answers, corrections, adjudications, whole bags and undos of four people, some of them to audits."""
    monkeypatch.setattr(replaying, "REFIT_EVERY", 9)
    probabilities.make_up(monkeypatch)
    tried = audits = 0

    @settings(
        max_examples=max(5, request.config.getoption("--steps") // 5),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(some.lists(moves, min_size=20, max_size=30), some.integers(0, 24))
    def follows(history, reopened):
        nonlocal tried, audits
        tried += 1
        folder = tmp_path_factory.mktemp("history") / "project"
        shutil.copytree(template(kind), folder)
        both = Both(folder, kind)
        try:
            for number, move in enumerate(history):
                both.tell(*move)
                both.compare_learned()
                if number == reopened:
                    both.compare_audits()
                    both.reopen()
            both.compare_audits()
            audits += sum(event.audit for event in both.project.events)
            for _ in range(2):
                assert [found.wrong for found in check(both.project) if found.wrong] == []
                both.reopen()
        finally:
            both.project.close()
            shutil.rmtree(folder.parent)

    follows()
    assert audits > tried, "answers to audits are among what is tried"
    print(f"{tried} histories, {audits} events about audits")
