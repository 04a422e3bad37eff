import pytest

from bagwise import BagwiseError
from bagwise.evaluation import Interval
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


def test_there_are_three_rules():
    assert list(available()) == ["budget", "plateau", "target"]


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
    "wrong", [{"metric": "f3"}, {"when": "some"}, {"target": 1.5}, {"least_gain": -1}, {"budget": -1}, {"plateau": -5}]
)
def test_an_invalid_goal_is_an_error(wrong):
    with pytest.raises(BagwiseError, match=r"\[stopping\]"):
        Goal(**wrong)
