"""Annotations of another tool: what becomes of their versions, of imported labels, and of answers of others."""

import numpy as np
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.formats import LabelTable
from bagwise.project import Annotation, NotAllowed, Project
from tests.conftest import source_of

CLASSES = 3


def labels(project, bag, *values, unsure=()):
    """1 present, 0 absent, None: not said."""
    row = np.array([[np.nan if value is None else float(value) for value in values]])
    marks = np.array([[place in unsure for place in range(len(values))]])
    return LabelTable([str(project.contents.ids[bag])], project.classes[: len(values)], row, marks)


def say(project, version, bag, *values, name="a1", person="bea", unsure=()):
    return project.annotate(Annotation(name, version, person, labels(project, bag, *values, unsure=unsure), 2.0))


def counts(project, bag):
    return [project.counts_as((bag, c)) for c in range(CLASSES)]


def test_a_version_is_compared_with_what_the_annotation_said_before(project):
    assert len(say(project, 1, 4, 1, 0, None, unsure=[2])) == 3
    assert counts(project, 4) == ["present", "absent", "unsure"]
    assert say(project, 1, 4, 1, 0, None, unsure=[2]) == []
    (event,) = say(project, 5, 4, 1, 1, None, unsure=[2])
    assert (event.kind, event.annotator, event.answer) == ("correction", "bea", "present")
    assert say(project, 3, 4, 0, 0, 0) == [], "older than what is known"
    (undone,) = say(project, 6, 4, 1, None, None, unsure=[2])[-1:]
    assert undone.kind == "retraction"
    assert counts(project, 4) == ["present", None, "unsure"]
    assert project.annotation_versions("a") == {"a1": 6}
    project.annotate(Annotation("a1", 0, "", None))
    assert counts(project, 4) == [None] * CLASSES
    assert project.annotation_versions("a") == {"a1": float("inf")}
    assert say(project, 9, 4, 1) == []


def test_an_annotation_on_top_of_an_answer_and_off_again(project):
    project.answer_listed("bea", "absent", [(4, 0)], key="page")
    say(project, 1, 4, 1)
    say(project, 2, 4, 0)
    say(project, 3, 4, 1)
    assert counts(project, 4)[0] == "present"
    project.annotate(Annotation("a1", 0, "", None))
    assert counts(project, 4)[0] == "absent", "the answer before it is in effect again"
    assert project.votes.last_of("bea").key == "page:0"


def test_one_version_corrects_and_undoes(project):
    project.answer_listed("ann", "present", [(9, 0)], key="before")
    say(project, 1, 4, 1, 1, 1)
    numbers = [event.number for event in project.events if event.key.startswith("a1.")]
    assert set(numbers) & set(range(CLASSES)), "a number of an event that is also the number of a class"
    say(project, 2, 4, None, 0, 0)
    assert counts(project, 4) == [None, "absent", "absent"]


def test_one_undo_undoes_a_whole_annotation(project):
    say(project, 1, 4, 1, 0, 1)
    assert len(project.undo_together("bea")) == CLASSES
    assert counts(project, 4) == [None] * CLASSES


def test_the_ids_of_annotations_are_not_mixed_up(project):
    say(project, 1, 4, 1, name="a1")
    say(project, 1, 5, 1, name="a11")
    project.annotate(Annotation("a1", 0, "", None))
    assert (counts(project, 4)[0], counts(project, 5)[0]) == (None, "present")
    with pytest.raises(BagwiseError, match="is about"):
        say(project, 2, 6, 1, name="a11")
    with pytest.raises(BagwiseError, match="without dots"):
        say(project, 1, 4, 1, name="a-1")
    with pytest.raises(BagwiseError, match="There is no bag"):
        project.annotate(Annotation("a2", 1, "bea", LabelTable(["other"], [], np.empty((1, 0)))))


def test_what_is_rejected_does_not_keep_the_rest(project):
    say(project, 1, 4, 1, 1, 1)
    project.set_role("eve", "adjudicator")
    number = next(event.number for event in project.events if event.label_class == 1)
    project.correct(number, "eve", "unsure")
    with pytest.raises(NotAllowed):
        say(project, 2, 4, 0, 0, 0)
    assert counts(project, 4) == ["absent", "unsure", "absent"]
    with pytest.raises(NotAllowed):
        say(project, 2, 4, 0, 0, 0)
    assert len([event for event in project.events if event.key.startswith("a1.2")]) == 2, "nothing is saved twice"


def test_one_that_was_interrupted_is_completed(project, monkeypatch):
    say(project, 1, 4, 1, 1)
    correct, calls = project._corrections.correct, []

    def interrupted(*arguments, **more):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return correct(*arguments, **more)

    monkeypatch.setattr(project._corrections, "correct", interrupted)
    with pytest.raises(KeyboardInterrupt):
        say(project, 2, 4, 0, 0, 0)
    monkeypatch.undo()
    assert counts(project, 4) == ["absent", "present", None]
    assert len(say(project, 2, 4, 0, 0, 0)) == 2
    assert counts(project, 4) == ["absent", "absent", "absent"]


def test_imported_labels(tmp_path, synthetic):
    source = source_of(synthetic)
    known = LabelTable([str(source.ids[4])], synthetic.classes[:2], np.array([[1.0, 0.0]]))
    with Project.create(tmp_path / "p", source, known, classes=synthetic.classes) as project:
        assert [event.label_class for event in say(project, 1, 4, 1, 0, 1)] == [2], "what was imported is known"
        (event,) = say(project, 2, 4, 0, 0, 1)
        assert event.kind == "correction"
        assert counts(project, 4) == ["absent", "absent", "present"]
        project.annotate(Annotation("a1", 0, "", None))
        assert counts(project, 4) == ["present", "absent", None]


def test_undo_of_one_answer_by_its_number(project):
    one, two = (project.answer_listed("bea", "present", [(bag, 0)], key=str(bag))[0] for bag in (4, 5))
    (event,) = project._corrections.undo("bea", "k", together=False, number=one.number)
    assert (event.kind, event.pair) == ("retraction", (4, 0))
    for number, person in ((one.number, "bea"), (two.number, "ann"), (99, "bea")):
        with pytest.raises(BagwiseError, match="to undo"):
            project._corrections.undo(person, None, together=False, number=number)
