"""Classes are added, renamed, described, merged, split and retired while people answer, as changes that replay."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from bagwise import BagwiseError
from bagwise.core.errors import FileError
from bagwise.formats import LabelTable
from bagwise.project import NotAllowed, Project, Submission, check, quality_of, status_of
from bagwise.project.access.roles import owner_of
from bagwise.project.classes.class_file import read_class_file
from bagwise.project.reports.detections import detections_of
from bagwise.project.reports.review import AnswerFilter, beliefs, history
from tests.conftest import source_of
from tests.project.test_project import all_is_well, answer_some

BAGS = 6


def name(place):
    return f"bag {place}"


@pytest.fixture
def small(tmp_path, synthetic):
    """Three classes and a few bags, answered by one person."""
    data = synthetic.select(range(BAGS))
    with Project.create(tmp_path / "small", source_of(data), classes=["tit", "great tit", "owl"]) as project:
        yield project


def answered(project, *rows):
    """Answer (bag, class, answer) one after the other."""
    for number, (bag, label_class, answer) in enumerate(rows, start=len(project.events)):
        project.answer_listed("ann", answer, [(bag, label_class)], key=f"{number}")


def test_a_class_is_added_and_asked(project, say):
    answer_some(project, say, 20)
    weights = project.learner.model.weights_
    place = project.class_changes.add("cuckoo", "ann", scientific_name="Cuculus canorus")
    assert (place, project.classes[-1]) == (6, "cuckoo")
    assert project.learner.model.weights_.shape[0] == weights.shape[0] + 1
    asked = {question.classes[0] for question in project.rank(10_000).questions}
    assert place in asked
    answered(project, (0, place, "present"))
    assert project.labels().values[0, place] == 1
    all_is_well(project)
    with Project.open(project.folder) as again:
        assert again.classes == project.classes
        assert again.contents.class_list[place].scientific_name == "Cuculus canorus"
        all_is_well(again)


def test_a_name_changes_and_the_model_does_not(project, say):
    answer_some(project, say, 20)
    before, old = project.learner.model.weights_, project.classes[0]
    project.train()
    project.class_changes.rename(old, "heron", "ann")
    assert project.classes[0] == "heron"
    assert np.array_equal(project.learner.model.weights_, before)
    model = project.model()
    assert (model.info.stored, model.classifier.class_names_[0]) == ("current", "heron")
    assert next(iter(model.info.thresholds)) == "heron"
    assert all(event.label_class == 0 for event in history(project, AnswerFilter(label_class=old))), "it is still found"
    assert [one.kind for one in project.class_changes.history()] == ["renamed"]
    assert project.class_changes.add(old, "ann") == 6, "its old name is free"
    assert project.contents.class_list.position(old) == 6
    all_is_well(project)


def test_a_retired_class_is_asked_and_reported_no_more(project, say):
    answer_some(project, say, 30)
    gone = project.classes[1]
    events = list(project.events)
    project.class_changes.retire(gone, "ann")
    assert gone not in project.active_classes
    assert gone not in project.labels().classes
    assert gone not in project.predictions().classes
    assert gone not in set(detections_of(project).frame["class"])
    assert gone not in [one.name for one in status_of(project).classes]
    assert gone not in [one.name for one in quality_of(project).classes]
    assert all(1 not in question.classes for question in project.rank(10_000).questions)
    assert project.events == events
    all_is_well(project)
    project.class_changes.restore(gone, "ann")
    assert project.labels().classes == project.classes
    assert any(1 in question.classes for question in project.rank(10_000).questions)
    all_is_well(project)


def test_merged_classes_are_one(small):
    rows = [(0, 0, "present"), (1, 0, "absent"), (1, 1, "absent"), (2, 1, "absent"), (3, 0, "unsure"), (3, 1, "absent")]
    answered(small, *rows, (4, 1, "present"), (4, 0, "absent"))
    place = small.class_changes.merge(["tit", "great tit"], "tit", "ann")
    assert (place, small.active_classes) == (3, ["owl", "tit"])
    found = small.labels()
    column = found.classes.index("tit")
    assert [found.values[bag, column] for bag in (0, 1, 4)] == [1, 0, 1]
    assert np.isnan(found.values[[2, 3, 5], column]).all()
    assert found.unsure[:, column].tolist() == [False, False, False, True, False, False]
    assert small.classes == ["tit (merged into tit)", "great tit (merged into tit)", "owl", "tit"]
    open_ones = {one.bag for one in beliefs(small, "bob", "tit", 0, 10).bags}
    assert open_ones == {2, 3, 5}, "an unsure one may still be decided by another person"
    assert {bag for question in small.rank(100).questions for bag, c in question.pairs if c == 3} == {2, 5}
    assert set(small.examples(3, 9)) == {0, 4}
    assert len(history(small, AnswerFilter(label_class="tit"))) == 8, "with the answers about its parts"
    all_is_well(small)
    answered(small, (0, 3, "absent"))
    assert small.counts_as((0, 3)) == "absent", "what is answered about the merged class counts"
    small.undo("ann")
    assert small.counts_as((0, 3)) == "present"
    all_is_well(small)
    small.class_changes.split("tit", "ann")
    assert small.active_classes == ["tit", "great tit", "owl"]
    assert small.labels().values[4].tolist()[:2] == [0, 1]
    all_is_well(small)


def test_an_answer_that_was_asked_before_a_merge_says_what_was_asked(small):
    leases = {lease.question.classes[0]: lease for lease in small.ask("bob", 18) if len(lease.question.classes) == 1}
    lease = leases[0]
    small.class_changes.merge(["tit", "great tit"], "tit", "ann")
    assert small.contents.class_list.position("tit") == 3
    (event,) = small.submit(Submission(lease.key, "bob", ("absent",), (3,), lease.bag))
    assert event.label_class == 0, "bob was asked about the tit of then, which is half of the class of now"
    assert small.counts_as((lease.bag, 3)) is None
    answered(small, (lease.bag, 1, "absent"))
    assert small.counts_as((lease.bag, 3)) == "absent"
    all_is_well(small)


def test_what_points_at_instances_points_for_the_merged_class(small):
    small.submit(Submission("1", "ann", ("present",), (0,), 2, where=((1,),)))
    small.class_changes.merge(["tit", "great tit"], "any tit", "ann")
    assert [(one.instance, one.label_class, one.present) for one in small.known_instances(2)] == [(1, 3, True)]
    all_is_well(small)


def test_who_may_change_classes(small):
    answered(small, (0, 0, "present"))
    small.answer_listed("bob", "absent", [(1, 0)], key="bob's")
    with pytest.raises(NotAllowed, match="bob cannot change classes: an adjudicator can"):
        small.class_changes.add("owlet", "bob")
    small.set_role("bob", "adjudicator")
    assert small.class_changes.add("owlet", "bob") == 3
    assert small.class_changes.retire("owlet", owner_of(small.folder)) == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda to: to.add("owl", "ann"), "There is a class owl already."),
        (lambda to: to.add(" ", "ann"), "cannot be the name of a class"),
        (lambda to: to.rename("wolf", "dog", "ann"), "There is no class wolf in the project."),
        (lambda to: to.rename("tit", "owl", "ann"), "There is a class owl already."),
        (lambda to: to.rename("tit", "tit", "ann"), "named tit already"),
        (lambda to: to.merge(["tit", "tit"], "tits", "ann"), "at least two"),
        (lambda to: to.merge(["tit", "great tit"], "owl", "ann"), "There is a class owl already."),
        (lambda to: to.split("owl", "ann"), "was not merged"),
        (lambda to: to.restore("owl", "ann"), "was not retired"),
        (lambda to: to.describe("owl", "ann"), "Give a description"),
    ],
)
def test_what_cannot_be_changed_is_said(small, change, sentence):
    before = small.contents.class_list
    with pytest.raises(BagwiseError, match=sentence):
        change(small.class_changes)
    assert small.contents.class_list == before
    assert small.class_changes.history() == []


def test_a_retired_class_has_to_be_restored_and_the_last_stays(small):
    small.class_changes.retire("owl", "ann")
    with pytest.raises(BagwiseError, match="There is a class owl already, which was retired: restore it instead"):
        small.class_changes.add("owl", "ann")
    with pytest.raises(BagwiseError, match="Class owl was retired"):
        small.class_changes.rename("owl", "eagle owl", "ann")
    small.class_changes.retire("tit", "ann")
    with pytest.raises(BagwiseError, match="last class"):
        small.class_changes.retire("great tit", "ann")


def test_a_class_has_a_guideline_and_an_example(small, tmp_path):
    picture = tmp_path / "owl.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    small.class_changes.describe("owl", "ann", picture, description="Hoots at night.", scientific_name="Strix aluco")
    found = small.contents.class_list[2]
    assert (found.description, found.scientific_name) == ("Hoots at night.", "Strix aluco")
    kept = small.folder / "examples" / found.example
    assert kept.read_bytes() == picture.read_bytes()
    backup = small.backup(tmp_path / "backup")
    assert (backup / "examples" / found.example).exists()
    assert [one.wrong for one in check(small)] == [""] * 7
    kept.write_bytes(b"something else")
    assert "is not what was given" in check(small)[-1].wrong
    kept.unlink()
    assert "the example of owl" in check(small)[-1].wrong
    (tmp_path / "owl.txt").write_text("hoot")
    with pytest.raises(FileError, match="give a picture or a sound"):
        small.class_changes.describe("owl", "ann", tmp_path / "owl.txt")
    (tmp_path / "fake.png").write_text("hoot")
    with pytest.raises(FileError, match="is not what its name says"):
        small.class_changes.describe("owl", "ann", tmp_path / "fake.png")


def test_labels_find_classes_by_any_of_their_names(small):
    small.class_changes.describe("owl", "ann", scientific_name="Strix aluco")
    small.class_changes.rename("tit", "coal tit", "ann")
    small.import_(None, LabelTable([name(0)], ["Strix aluco", "tit"], np.array([[1.0, 0.0]])))
    assert small.labels().values[0].tolist()[::2] == [0, 1]
    with pytest.raises(BagwiseError, match="two of its classes are owl"):
        small.import_(None, LabelTable([name(1)], ["Strix aluco", "owl"], np.array([[1.0, 0.0]])))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("wren\n\nowl \n", [("wren", ""), ("owl", "")]),
        ("name\nwren\n", [("wren", "")]),
        ("Name;Scientific_name\nwren;Troglodytes\n", [("wren", "Troglodytes")]),
        (
            "scientific_name,common_name\nParus major,Great Tit\nCoal,\n",
            [("Great Tit", "Parus major"), ("Coal", "Coal")],
        ),
        (
            "Parus major_Great Tit\nStrix aluco_Tawny Owl\n",
            [("Great Tit", "Parus major"), ("Tawny Owl", "Strix aluco")],
        ),
        ("snake_case\nParus major_Great Tit\n", [("snake_case", ""), ("Parus major_Great Tit", "")]),
    ],
)
def test_class_files(tmp_path, content, expected):
    (tmp_path / "classes.csv").write_text(content)
    assert [(one.name, one.scientific_name) for one in read_class_file(tmp_path / "classes.csv")] == expected


def test_notes_are_kept_once(small):
    one = small.notes.add("ann", 2, " wind \n", 1, key="k")
    assert small.notes.add("ann", 2, "wind", 1, key="k") == one
    assert (one.text, one.bag, one.label_class) == ("wind", 2, 1)
    with pytest.raises(NotAllowed):
        small.notes.add("bob", 2, "wind", 1, key="k")
    with pytest.raises(BagwiseError, match="1 to 5000"):
        small.notes.add("ann", 2, "  ")
    with pytest.raises(BagwiseError, match="no pair"):
        small.notes.add("ann", 99, "where?")
    small.notes.add("bob", 0, "rain")
    assert [note.text for note in small.notes.all()] == ["wind", "rain"]
    assert [note.text for note in small.notes.of(0)] == ["rain"]


# A random history, held against the rules written out the slow way.

CLASSES = ["a", "b", "c"]
moves = some.one_of(
    some.tuples(some.just("answer"), some.integers(0, 2), some.integers(0, 7), some.sampled_from("pau")),
    some.tuples(some.just("answer"), some.integers(0, 2), some.integers(0, 7), some.sampled_from("pa")),
    some.tuples(some.just("undo")),
    some.tuples(some.just("merge"), some.integers(0, 7), some.integers(0, 7)),
    some.tuples(some.just("split"), some.integers(0, 7)),
    some.tuples(some.just("add")),
    some.tuples(some.just("rename"), some.integers(0, 7)),
    some.tuples(some.sampled_from(["retire", "restore"]), some.integers(0, 7)),
)
WORDS = {"p": "present", "a": "absent", "u": "unsure"}


class SlowClasses:
    """What is answered, by bag and class, and which classes are parts of which."""

    def __init__(self):
        self.parts = dict.fromkeys(range(len(CLASSES)), ())
        self.into, self.retired, self.split = {}, set(), set()
        self.said, self.order = {}, []

    def is_active(self, place):
        return place in self.parts and place not in self.into and place not in self.retired

    def of(self, bag, place):
        own = self.said.get((bag, place))
        if own is not None or not self.parts[place]:
            return own
        below = [self.of(bag, part) for part in self.parts[place]]
        if "present" in below:
            return "present"
        if None in below:
            return None
        return "absent" if set(below) == {"absent"} else "unsure"

    def expected(self, bag, place):
        return None if place in self.into else self.of(bag, place)


def move(project, slow, step, number):
    kind, *rest = step
    changes = project.class_changes
    names = project.classes
    if kind == "answer":
        bag, place, answer = rest
        if not slow.is_active(place) or (bag, place) in slow.said:
            return
        answered(project, (bag, place, WORDS[answer]))
        slow.said[bag, place] = WORDS[answer]
        slow.order.append((bag, place))
    elif kind == "undo":
        if slow.order:
            project.undo("ann")
            del slow.said[slow.order.pop()]
    elif kind == "merge":
        one, other = rest
        if one != other and slow.is_active(one) and slow.is_active(other):
            place = changes.merge([names[one], names[other]], names[min(one, other)], "ann")
            slow.parts[place] = (one, other)
            slow.into |= {one: place, other: place}
    elif kind == "split":
        (place,) = rest
        if slow.is_active(place) and slow.parts[place]:
            free = [project.contents.class_list[part].name for part in slow.parts[place]]
            taken = {one.name for c, one in enumerate(project.contents.class_list) if one.holds_name and c != place}
            if taken & set(free):
                with pytest.raises(BagwiseError, match="There is a class"):
                    changes.split(names[place], "ann")
                return
            changes.split(names[place], "ann")
            for part in slow.parts[place]:
                del slow.into[part]
            slow.parts[place] = ()  # What is said of them counts for them alone again.
            slow.retired.add(place)
            slow.split.add(place)
    elif kind == "add":
        slow.parts[changes.add(f"new {number}", "ann")] = ()
    elif kind == "rename":
        (place,) = rest
        if slow.is_active(place):
            changes.rename(names[place], f"other {number}", "ann")
    elif kind == "retire":
        (place,) = rest
        if slow.is_active(place) and sum(map(slow.is_active, slow.parts)) > 1:
            changes.retire(names[place], "ann")
            slow.retired.add(place)
    elif kind == "restore":
        (place,) = rest
        if place in slow.retired - slow.split:
            changes.restore(names[place], "ann")
            slow.retired.discard(place)


@pytest.fixture(scope="module")
def template(tmp_path_factory, synthetic):
    folder = tmp_path_factory.mktemp("classes") / "project"
    Project.create(folder, source_of(synthetic.select(range(3))), classes=CLASSES).close()
    return folder


def test_random_histories_of_classes(template, tmp_path_factory, request):
    steps = request.config.getoption("--steps")

    @settings(max_examples=max(10, steps // 4), deadline=None, suppress_health_check=list(HealthCheck))
    @given(some.lists(moves, min_size=4, max_size=14))
    @example([("answer", 0, 0, "p"), ("merge", 0, 1), ("split", len(CLASSES)), ("add",)])
    def histories(history):
        folder = tmp_path_factory.mktemp("history") / "project"
        shutil.copytree(template, folder)
        slow = SlowClasses()
        with Project.open(folder) as project:
            for number, step in enumerate(history):
                move(project, slow, step, number)
            active = [place for place in slow.parts if slow.is_active(place)]
            assert project.contents.class_list.active.tolist() == active
            assert len(set(project.classes)) == len(project.classes)
            for place in slow.parts:
                found = [project.counts_as((bag, place)) for bag in range(3)]
                assert found == [slow.expected(bag, place) for bag in range(3)], (place, history)
            values, unsure = project.known()
            for place in slow.parts:
                for bag in range(3):
                    said = slow.expected(bag, place)
                    assert values[bag, place] == {"present": 1, "absent": 0}.get(said, -1)
                    assert unsure[bag, place] == (said == "unsure")
            assert [one.wrong for one in check(project)] == [""] * 7
        shutil.rmtree(folder.parent)

    histories()
