"""Does it learn? The curve, its truth, and what was said looked at again."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bagwise import Bags
from bagwise.cli._demo import HELD_OUT, make_demo
from bagwise.core.errors import BagwiseError, FileError
from bagwise.data import metrics
from bagwise.formats import LabelTable
from bagwise.project import AlreadyAnswered, Asking, Learning, Project, quality_of, status_of
from bagwise.project.answers import replay
from bagwise.project.reports.exports import EXPORTS, exporter, forms_of
from bagwise.project.reports.progress import CLOSEST, MOST_POINTS, ProgressOf, curve_points, estimated, rare_of
from bagwise.project.reports.quality import stored_quality
from bagwise.project.reports.quality_process import QualityProcess
from bagwise.project.reports.review import AnswerFilter, beliefs, history
from bagwise.project.reports.truth import write_truth

TARGET = 0.9


def answer_some(project, say, count, annotator="ann"):
    for _ in range(count):
        (asked,) = project.ask(annotator)
        project.answer(asked.key, annotator, say(asked), seconds=1.0)


@pytest.fixture
def database():
    """Where answers are kept has nothing to do with what is learned from them: in the folder."""
    return ""


@pytest.fixture
def with_truth(make_project, synthetic):
    """A project whose last twenty bags are in a file of truth as well."""
    project = make_project(learning=Learning(audit=0.5))
    held_out = synthetic.select(np.arange(40, 60))
    write_truth(project.folder, held_out.bags, np.asarray(held_out.labels.value), synthetic.classes)
    return project


@pytest.mark.slow
def test_the_curve_the_quality_and_the_forecast_are_those_of_the_report(project, say):
    answer_some(project, say, 130)
    report = quality_of(project)
    found = estimated(report, report.target)
    assert found.at == {point.answers: point.quality for point in report.history}
    assert (found.now, found.audits, found.verdict) == (report.metrics["bag_accuracy"], report.audits, report.verdict)
    assert found.forecast == report.forecast
    assert estimated(report, 0.01).forecast.needed == 0
    assert estimated(None, 0.9).now is None


@pytest.mark.slow
def test_an_estimate_is_made_beside_the_work_and_is_the_same(project, say):
    answer_some(project, say, 60)
    progress = ProgressOf(project)
    assert progress.now().estimated.now is None, "nobody waits for it"
    assert progress.now().pending
    until = time.monotonic() + 120
    while progress.now().pending:
        assert time.monotonic() < until
        time.sleep(0.05)
    expected = quality_of(project)
    found = progress.now()
    assert found.estimated.now == expected.metrics["bag_accuracy"]
    assert [point.answers for point in found.curve if point.estimate is not None] == [50, 60]
    assert progress.estimating.now() == expected
    progress.close()


@pytest.mark.slow
def test_what_was_estimated_on_the_way_stays_in_the_curve(project, say, monkeypatch):
    for _ in range(3):
        answer_some(project, say, 15)
        quality_of(project)
    assert [point.answers for point in quality_of(project).history] == [15, 30, 45]
    assert stored_quality(project) == quality_of(project)
    monkeypatch.setattr("bagwise.project.reports.quality.MOST_KEPT", 2)
    answer_some(project, say, 15)
    assert [point.answers for point in quality_of(project).history] == [15, 45, 50, 60]


@pytest.mark.parametrize("metric", ["bag_accuracy", "hamming_loss"])
def test_the_truth_has_the_measure_of_the_estimate(with_truth, synthetic, metric):
    path = with_truth.folder / "bagwise.toml"
    path.write_text(path.read_text().replace('metric = "bag_accuracy"', f'metric = "{metric}"'))
    held_out = synthetic.select(np.arange(40, 60))
    with Project.open(with_truth.folder) as project:
        found = ProgressOf(project).now()
        value = getattr(metrics, metric)(held_out.labels.value, project.learner.predict_proba(held_out.bags))
        assert found.metric == metric
        assert found.curve[0].truth == (1 - value if metric == "hamming_loss" else value)


@pytest.mark.parametrize("events", [0, 1, 9, 10, 11, 599, 600, 601, 12_345, 1_000_000])
def test_the_curve_has_few_points_and_ends_now(events):
    points = curve_points(events)
    assert points[0] == 0
    assert points[-1] == events
    assert len(points) <= MOST_POINTS + 2
    assert all(place % CLOSEST == 0 for place in points[:-1])
    assert sorted(set(points)) == (points if events else [0])


@pytest.fixture
def no_estimates(monkeypatch):
    """An estimate is a point of the curve as well, as soon as its process has it: here it never has."""
    monkeypatch.setattr(QualityProcess, "newest", lambda _: (None, False))


@pytest.mark.usefixtures("no_estimates")
def test_the_truth_is_that_of_a_replay_and_the_same_after_a_restart(with_truth, say, synthetic):
    answer_some(with_truth, say, 23)
    live = ProgressOf(with_truth).now(TARGET)
    assert [point.answers for point in live.curve] == [0, 10, 20, 23]
    held_out = synthetic.select(np.arange(40, 60))
    for point in live.curve:
        events = with_truth.events[: point.answers]
        learner = replay.full(with_truth.contents, with_truth.bags, with_truth.settings, events).learner
        assert point.truth == metrics.bag_accuracy(held_out.labels.value, learner.predict_proba(held_out.bags))
    with Project.open(with_truth.folder) as again:
        assert ProgressOf(again).now(TARGET).curve == live.curve


@pytest.mark.usefixtures("no_estimates")
def test_the_truth_catches_up_in_parts_and_misses_no_point(with_truth, say, monkeypatch):
    monkeypatch.setattr("bagwise.project.reports.truth.MOST_REPLAYED_AT_ONCE", 7)
    answer_some(with_truth, say, 15)
    progress = ProgressOf(with_truth)
    assert [point.truth is None for point in progress.now(TARGET).curve] == [False, True, True]
    progress.now(TARGET)
    answer_some(with_truth, say, 6)
    progress.now(TARGET)
    assert [point.truth is None for point in progress.now(TARGET).curve] == [False, False, False, False]


def test_a_backup_keeps_the_truth(with_truth, tmp_path):
    assert (with_truth.backup(tmp_path / "copy") / "truth.npz").exists()


def test_a_truth_that_does_not_fit_is_refused_with_a_sentence(project, synthetic):
    write_truth(project.folder, synthetic.bags, np.asarray(synthetic.labels.value)[:, :2], synthetic.classes[:2])
    with pytest.raises(FileError, match="each of the project's classes"):
        ProgressOf(project)


def test_without_a_truth_there_is_none(project, say):
    answer_some(project, say, 3)
    found = ProgressOf(project).now(TARGET)
    assert [point.truth for point in found.curve] == [None, None]
    assert found.status == status_of(project)


def test_a_class_hardly_ever_present_is_rare(make_project):
    project = make_project()
    project.answer_listed("ann", "absent", [(bag, 0) for bag in range(10)], "a")
    project.answer_listed("ann", "present", [(bag, 1) for bag in range(10)], "b")
    assert rare_of(status_of(project)) == [project.classes[0]]


def test_many_are_said_at_once_and_saved_once(project):
    asked = project.ask("ann", 3)
    pairs = [(one.bag, one.label_class) for one in asked[:2]] + [(7, 0)]
    said = project.answer_listed("ann", "present", pairs, "key")
    assert [event.pair for event in said] == pairs
    assert not any(event.audit for event in said)
    assert all(0 < event.belief < 1 and event.shown == "list" for event in said)
    assert project.answer_listed("ann", "present", pairs, "key") == said
    assert len(project.events) == 3
    assert asked[2].key in {one.key for one in project.ask("ann", 3)}
    assert not {one.key for one in asked[:2]} & {one.key for one in project.ask("ann", 3)}
    with pytest.raises(AlreadyAnswered):
        project.answer_listed("ann", "absent", pairs, "key")


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([(1, 0), (0, 0)], "answered this before"),
        ([(1, 0), (1, 0)], "each pair once"),
        ([], "each pair once"),
        ([(1, 0), (1000, 0)], "no pair"),
    ],
)
def test_many_are_said_all_or_none(project, pairs, sentence):
    project.answer_listed("ann", "present", [(0, 0)], "first")
    with pytest.raises(BagwiseError, match=sentence):
        project.answer_listed("ann", "present", pairs, "second")
    assert len(project.events) == 1
    project.answer_listed("bob", "present", [(0, 0)], "third")
    assert len(project.events) == 2, "another person may"


def test_what_was_imported_is_not_said_again(make_project, synthetic):
    known = np.full((60, len(synthetic.classes)), np.nan)
    known[0, 0] = 1
    project = make_project(labels=LabelTable([f"bag {i}" for i in range(60)], synthetic.classes, known))
    with pytest.raises(BagwiseError, match="imported as known"):
        project.answer_listed("ann", "absent", [(1, 0), (0, 0)], "key")
    assert project.events == []


def test_history_filters(make_project):
    project = make_project(asking=Asking(people=2))
    first, second = project.classes[:2]
    project.answer_listed("ann", "present", [(0, 0), (1, 0)], "a")
    project.answer_listed("bob", "absent", [(0, 0), (2, 1)], "b")
    project.correct(2, "ann", "unsure")

    def numbers(**wanted):
        return [event.number for event in history(project, AnswerFilter(**wanted))]

    assert numbers() == [5, 4, 3, 1]
    assert numbers(label_class=first) == [5, 3, 1]
    assert numbers(label_class=second, answer="absent") == [4]
    assert numbers(annotator="ann") == [5, 1]
    assert numbers(disagreement=True) == [3, 1]
    with pytest.raises(BagwiseError, match="no class"):
        numbers(label_class="nothing")


def test_beliefs_are_those_of_the_model_about_what_is_open(project, say):
    answer_some(project, say, 20)
    name = project.classes[2]
    found = beliefs(project, "ann", name, 0, 1000)
    most, least = found.bags, beliefs(project, "ann", name, 0, 1000, likeliest_first=False).bags
    answered = {event.bag for event in project.events if event.label_class == 2}
    assert {one.bag for one in most} == set(range(60)) - answered
    assert found.of == len(most)
    expected = project.learner.predict_proba(project.bags)[:, 2]
    assert [one.belief for one in most] == sorted((expected[one.bag] for one in most), reverse=True)
    assert [one.belief for one in least] == sorted(one.belief for one in most)
    assert beliefs(project, "ann", name, 5, 3).bags == most[5:8]
    assert beliefs(project, "ann", name, 1000, 3).bags == []


@pytest.mark.parametrize("what", EXPORTS)
def test_everything_can_be_exported_in_all_its_forms(project, say, tmp_path, what):
    answer_some(project, say, 5)
    for form, suffix in forms_of(what).items():
        to = tmp_path / f"{what}-{form}{suffix}"
        if form == "camtrap_dp":
            with pytest.raises(BagwiseError, match="coordinates"):
                exporter(what, to, form)(project)
            continue
        exporter(what, to, form)(project)
        assert to.stat().st_size > 0


def test_bags_of_a_truth_need_the_same_features(project, synthetic):
    narrow = Bags.from_list([np.array(bag)[:, :2] for bag in synthetic.bags])
    write_truth(project.folder, narrow, np.asarray(synthetic.labels.value), synthetic.classes)
    with pytest.raises(BagwiseError):
        ProgressOf(project)


def test_the_demo_holds_strips_out(tmp_path):
    make_demo(tmp_path / "digits")
    with Project.open(tmp_path / "digits") as project:
        found = ProgressOf(project).now(TARGET)
        assert found.curve[0].truth is not None
        with np.load(tmp_path / "digits" / "truth.npz") as truth:
            assert len(truth["offsets"]) - 1 == HELD_OUT
            held_out = {row.tobytes() for row in truth["instances"]}
        assert held_out.isdisjoint(row.tobytes() for row in np.asarray(project.bags.instances))


def test_examples_are_found_while_others_answer(project):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    done = threading.Event()

    def answer():
        for number in range(60):
            project.answer_listed("ann", "present", [(number, 0)], f"key {number}")
        done.set()

    with ThreadPoolExecutor(1) as other:
        working = other.submit(answer)
        try:
            while not done.is_set():
                project.examples(0, 3)
                project.votes.disagreements()
            working.result()
        finally:
            sys.setswitchinterval(before)
    assert project.examples(0, 3) == [59, 58, 57]


def test_answers_are_those_in_effect_everywhere(with_truth, say):
    answer_some(with_truth, say, 31)
    for number in range(5):
        with_truth.undo("ann", f"undo {number}")
    with_truth.correct(3, "ann", "unsure")
    answer_some(with_truth, say, 2)
    report = quality_of(with_truth)
    found = ProgressOf(with_truth).now(TARGET)
    assert found.status.answers == report.answers == report.history[-1].answers == 28
    counts = [point.answers for point in found.curve]
    assert counts == [0, 10, 20, 28], "the point at thirty was taken back"
    votes = replay.Replay(with_truth.contents, with_truth.settings)
    votes.count(with_truth.events)
    for n_events in (0, 5, 31, 34, 36, 37, 39):
        earlier = replay.Replay(with_truth.contents, with_truth.settings)
        earlier.count(with_truth.events[:n_events])
        assert votes.votes.answers_after[n_events] == len(earlier.votes.all_effective())
