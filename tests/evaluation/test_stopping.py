import pytest

from bagwise import BagwiseError
from bagwise.evaluation import ClassQuality, Interval
from bagwise.evaluation.forecast import Point
from bagwise.evaluation.stopping import Evidence, Goal, available, decide


def evidence(values, width=0.01, step=100):
    points = tuple(
        Point(step * (i + 1), Interval(value, value - width, value + width)) for i, value in enumerate(values)
    )
    return Evidence(step * len(values), points)


FLAT_AND_LOW = evidence((0.79, 0.8, 0.8, 0.8))
RISING = evidence((0.3, 0.5, 0.6, 0.66))
REACHED = evidence((0.5, 0.8, 0.9, 0.95))


def of_classes(**recalls):
    """Evidence of classes by their recall, half as many bags having them; None: not found yet."""
    found = {
        name: ClassQuality(
            recall=None if value is None else Interval(value, value - 0.05, value + 0.05),
            prevalence=None if value is None else Interval(value / 2, value / 2 - 0.02, value / 2 + 0.04),
        )
        for name, value in recalls.items()
    }
    return Evidence(100, (), found)


NO_TARGET = {"target": 0, "plateau": 0}


def test_there_are_five_rules():
    assert list(available()) == ["budget", "plateau", "prevalence_within", "recall", "target"]


@pytest.mark.parametrize(
    ("goal", "stop", "why"),
    [
        ({"recall": 0.8}, True, "Recall of wren, robin is 0.8 or better with confidence."),
        ({"recall": 0.85}, False, "Recall is not yet 0.85 with confidence: robin 0.88 (0.83 to 0.93)."),
        ({"recall": 0.85, "classes": ["wren"]}, True, "Recall of wren is 0.85 or better with confidence."),
        ({"recall": 0.8, "classes": ["crane"]}, False, "Recall is not yet 0.8 with confidence: crane unknown."),
        ({"prevalence_within": 0.05}, True, "The share of bags with wren, robin is known within 0.05."),
        (
            {"prevalence_within": 0.03, "classes": ["wren"]},
            False,
            "The share of bags is not yet known within 0.03: wren 0.47 (0.45 to 0.52).",
        ),
    ],
)
def test_rules_about_classes(goal, stop, why):
    verdict = decide(of_classes(wren=0.95, robin=0.88), Goal(**NO_TARGET, **goal))
    assert (verdict.stop, verdict.why) == (stop, why)


def test_rules_about_classes_go_on_while_a_class_is_not_found_or_nothing_is_estimated():
    assert not decide(of_classes(wren=0.95, robin=None), Goal(**NO_TARGET, recall=0.8)).stop
    verdict = decide(Evidence(0, ()), Goal(**NO_TARGET, recall=0.8, prevalence_within=0.1))
    assert (verdict.stop, verdict.why.count("nothing is estimated yet")) == (False, 2)


def test_of_many_classes_the_lowest_are_named():
    many = of_classes(**{f"class {i}": 0.5 + i / 100 for i in range(9)})
    why = decide(many, Goal(**NO_TARGET, recall=0.9)).why
    assert why.endswith(
        "class 0 0.50 (0.45 to 0.55), class 1 0.51 (0.46 to 0.56), class 2 0.52 (0.47 to 0.57), and 6 more."
    )


@pytest.mark.parametrize(
    ("seen", "goal", "stop"),
    [
        (REACHED, Goal(target=0.9, plateau=0), True),
        (RISING, Goal(target=0.9, plateau=0), False),
        (evidence((0.5, 0.8, 0.9, 0.95), width=0.1), Goal(target=0.9, plateau=0), False),
        (FLAT_AND_LOW, Goal(target=0, plateau=200), True),
        (RISING, Goal(target=0, plateau=200), False),
        (evidence((0.8, 0.8, 0.8), step=10), Goal(target=0, plateau=200), False),
        (RISING, Goal(target=0, plateau=0, budget=400), True),
        (RISING, Goal(target=0, plateau=0, budget=401), False),
        (REACHED, Goal(target=0.9, plateau=0, budget=1000, when="any"), True),
        (REACHED, Goal(target=0.9, plateau=0, budget=1000, when="all"), False),
        (REACHED, Goal(target=0.9, plateau=0, budget=400, when="all"), True),
        (REACHED, Goal(metric="hamming_loss", target=0.1, plateau=0), True),
        (REACHED, Goal(metric="hamming_loss", target=0.01, plateau=0), False),
        (Evidence(0, ()), Goal(), False),
        (REACHED, Goal(target=0, plateau=0), False),
    ],
)
def test_verdicts(seen, goal, stop):
    verdict = decide(seen, goal)
    assert verdict.stop is stop
    assert verdict.why.endswith(".")


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": "f3"},
        {"when": "some"},
        {"target": 1.5},
        {"least_gain": -1},
        {"budget": -1},
        {"plateau": -5},
        {"recall": 90},
        {"prevalence_within": -0.1},
    ],
)
def test_an_invalid_goal_is_an_error(wrong):
    with pytest.raises(BagwiseError, match=r"\[stopping\]"):
        Goal(**wrong)
