"""Wrong answers in a project: rates that replay exactly, answers that are doubted, and adjudicators who settle them."""

import json

import numpy as np
import pytest

from bagwise import datasets
from bagwise.core.errors import BagwiseError
from bagwise.evaluation.noise import PRIOR_RATE
from bagwise.project import Asking, Learning, Project, Settings, status_of
from bagwise.project.answers import replay as replaying
from bagwise.project.settings import Data
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.project.test_project import all_is_well, answer_some

OTHER = {"present": "absent", "absent": "present"}


@pytest.fixture
def database():
    """These results do not depend on the database."""
    return ""


@pytest.fixture
def digits(tmp_path):
    """Makes projects of strips of digits; `answer` fills random pairs in and tells the numbers of the wrong answers."""
    data = datasets.load("digits").select(range(200))
    opened = []

    def make(**options):
        opened.append(Project.create(tmp_path / "digits", source_of(data), classes=data.classes, **options))
        return opened[-1]

    def answer(project, count):
        rng = np.random.default_rng(0)
        wrong = set()
        for number, place in enumerate(rng.choice(data.labels.value.size, count, replace=False)):
            pair = tuple(int(n) for n in np.unravel_index(place, data.labels.value.shape))
            who = ("ann", "bob")[number % 2]
            mistaken = who == "bob" and rng.random() < 0.25
            answer = "present" if data.labels.value[pair] != mistaken else "absent"
            event = project.answer(f"{number}", who, answer, pair=pair)
            wrong |= {event.number} if mistaken else set()
        return wrong

    make.answer = answer
    yield make
    for project in opened:
        project.close()


@pytest.fixture
def sloppy(say, rng):
    """Answers wrong at a rate, by person."""
    rates = {"ann": 0.0, "bob": 0.25}
    return lambda asked, who: OTHER[say(asked)] if rng.random() < rates[who] else say(asked)


def answer_with(project, sloppy, count):
    for number in range(count):
        who = ("ann", "bob")[number % 2]
        (asked,) = project.ask(who)
        project.answer(asked.key, who, sloppy(asked, who))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, "estimate"])
def test_histories_with_rates_replay_bit_for_bit(make_project, sloppy, rng, monkeypatch, noise):
    monkeypatch.setattr(replaying, "REFIT_EVERY", 40)
    project = make_project(learning=Learning(noise=noise))
    for _ in range(6):
        answer_with(project, sloppy, 16)
        project.undo("ann")
        number = int(rng.integers(1, len(project.events)))
        if (in_effect := project.votes.effective(number)) is not None:
            project.correct(number, in_effect.annotator, "present")
        all_is_well(project)
    assert project.learner.labels.flip.any()
    weights, people = project.learner.model.weights_, project.people()
    assert bool(people.rates) == (noise == "estimate")
    project.close()
    with Project.open(project.folder) as again:
        np.testing.assert_array_equal(again.learner.model.weights_, weights)
        assert again.people() == people, "from the snapshot"
    for snapshot in (project.folder / "snapshots").iterdir():
        snapshot.unlink()
    with Project.open(project.folder) as afresh:
        np.testing.assert_array_equal(afresh.learner.model.weights_, weights)
        assert afresh.people() == people, "from the answers"


@pytest.mark.slow
def test_error_rates_separate_sloppy_from_careful_annotators(digits, monkeypatch):
    monkeypatch.setattr(replaying, "REFIT_EVERY", 600)
    project = digits(learning=Learning(noise="estimate", scaling="centre"))
    assert project.people().rate("ann") == PRIOR_RATE, "nothing answered yet"
    digits.answer(project, 600)
    ann, bob = (status_of(project).wrong_by_person[who] for who in ("ann", "bob"))
    assert ann.rate < 0.05 < bob.rate
    assert ann.low == 0
    assert bob.low <= 0.25 <= bob.high
    flips = project.learner.labels.flip
    assert set(np.unique(flips[flips > 0])) == {ann.rate, bob.rate}
    np.testing.assert_array_equal(project.fit_model().weights_, project.learner.model.weights_)


def test_without_noise_nothing_is_assumed(project, say):
    answer_some(project, say, 20)
    assert project.learner.labels.flip is None
    assert status_of(project).wrong_by_person == {}


def test_several_answers_count_together_and_an_adjudicator_is_right(make_project):
    project = make_project(learning=Learning(noise=0.1), asking=Asking(people=3))
    pair = None
    for who, answer in (("ann", "present"), ("bob", "present"), ("cem", "absent")):
        asked = next(one for one in project.ask(who, 10) if pair in (None, (one.bag, one.label_class)))
        pair = asked.bag, asked.label_class
        project.answer(asked.key, who, answer)
    assert project.learner.labels.flip[pair] == pytest.approx(0.1), "two against one is worth one"
    project.set_role("eve", "adjudicator")
    project.adjudicate(pair, "eve", "absent")
    assert not project.learner.labels.value[pair]
    assert project.learner.labels.flip[pair] == 0
    all_is_well(project)


@pytest.mark.slow
def test_wrong_answers_are_doubted_until_they_are_settled(digits):
    project = digits(learning=Learning(scaling="centre"))
    wrong = digits.answer(project, 600)
    doubts = project.doubts()
    assert len(doubts) == 600
    assert [one.wrong for one in doubts] == sorted((one.wrong for one in doubts), reverse=True)
    found = wrong & {one.number for one in doubts[: len(wrong)]}
    assert len(found) > 0.6 * len(wrong), "a list drawn at random would have an eighth"
    project.set_role("eve", "adjudicator")
    event = project.votes.effective(doubts[0].number)
    project.adjudicate(event.pair, "eve", OTHER[event.answer])
    assert doubts[0].number not in {one.number for one in project.doubts()}


def test_the_doubtful_are_listed(make_project, say):
    project = make_project()
    assert project.doubts() == []
    code, out, _ = bagwise("doubtful", project.folder)
    assert (code, out.strip()) == (0, "There are no answers to doubt.")
    answer_some(project, say, 30)
    code, out, _ = bagwise("doubtful", project.folder, "--count", 3, "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found) == 3
    assert set(found[0]) == {"number", "bag", "label_class", "annotator", "answer", "belief", "wrong"}
    code, out, _ = bagwise("doubtful", project.folder)
    assert code == 0
    assert found[0]["bag"] in out


def test_status_shows_the_rates(make_project, say):
    project = make_project(learning=Learning(noise="estimate"))
    answer_some(project, say, 10)
    project.set_role("eve", "adjudicator")
    code, out, err = bagwise("status", project.folder)
    assert code == 0, err
    assert "wrong (estimate)" in out
    code, out, _ = bagwise("status", project.folder, "--json")
    assert json.loads(out)["wrong_by_person"]["ann"]["answers"] == 10


@pytest.mark.parametrize("noise", [0.5, -0.01, "sometimes", float("nan")])
def test_senseless_rates_are_refused(noise):
    with pytest.raises(BagwiseError, match="must be the share of wrong answers"):
        Settings("p", Data(3, "float64"), Learning(noise=noise))


@pytest.mark.parametrize("noise", [0, 0.25, "estimate"])
def test_settings_are_written_and_read(tmp_path, noise):
    settings = Settings("p", Data(3, "float64"), Learning(noise=noise))
    settings.write(tmp_path)
    assert Settings.read(tmp_path) == settings


def test_a_rate_is_a_number_or_a_word(tmp_path):
    Settings("p", Data(3, "float64")).write(tmp_path)
    file = tmp_path / "bagwise.toml"
    file.write_text(file.read_text().replace("noise = 0.0", "noise = true"))
    with pytest.raises(BagwiseError, match="noise = True must be the share of wrong answers"):
        Settings.read(tmp_path)
