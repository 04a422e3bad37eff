import numpy as np
import pytest

from bagwise import BagwiseError, Labels
from bagwise.evaluation import ClassQuality, Interval, estimate
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


def test_there_are_six_rules():
    assert list(available()) == ["budget", "found", "plateau", "prevalence_within", "recall", "target"]


def found_of(**classes):
    """Evidence of 200 bags: the most that may have a class (None: not estimated), and how many are confirmed."""
    found = {
        name: ClassQuality(prevalence=None if most is None else Interval(0.0, 0.0, most / 200))
        for name, (most, _) in classes.items()
    }
    return Evidence(100, (), found, 200, {name: confirmed for name, (_, confirmed) in classes.items()})


@pytest.mark.parametrize(
    ("classes", "stop", "why"),
    [
        # 38 of at most 40 are 0.95.
        ({"wren": (40, 38)}, True, "At least 0.95 of the bags with wren are found: 38, and at most 2 are open."),
        ({"wren": (40, 37)}, False, "Not yet 0.95 are found with confidence: wren 37, and up to 3 are open."),
        ({"wren": (41, 38)}, False, "Not yet 0.95 are found with confidence: wren 38, and up to 3 are open."),
        # The high end of 39.8 bags is 39 whole ones, of which 38 are 0.974.
        ({"wren": (39.8, 38)}, True, "At least 0.95 of the bags with wren are found: 38, and at most 1 are open."),
        # Nothing to find is all found; an answer after the estimate may find more than it allowed for.
        ({"wren": (0, 0)}, True, "At least 0.95 of the bags with wren are found: 0, and at most 0 are open."),
        ({"wren": (5, 6)}, True, "At least 0.95 of the bags with wren are found: 6, and at most 0 are open."),
        (
            {"wren": (40, 40), "robin": (10, 4), "owl": (None, 0), "tit": (9, 1), "rail": (3, 1)},
            False,
            "Not yet 0.95 are found with confidence: owl unknown; tit 1, and up to 8 are open; robin 4, and up to 6 "
            "are open; and 1 more.",
        ),
        ({}, False, "Not yet 0.95 are found with confidence: nothing is estimated yet."),
    ],
)
def test_found_by_hand(classes, stop, why):
    verdict = decide(found_of(**classes), Goal(**NO_TARGET, found=0.95))
    assert (verdict.stop, verdict.why) == (stop, why)
    assert decide(found_of(**classes), Goal(**NO_TARGET)).why == "No stopping rule is active."


def when_found(rng, goal, bags=120, classes=2, every=30):
    """Ask for the likeliest open pair, every fifth time at random: the share asked at the stop, and what is found then.

    What is predicted is what the labels are drawn by, so that nothing has to be fitted.
    """
    logits = rng.normal(-2.0, 3.0, size=(bags, classes))
    probability = 1 / (1 + np.exp(-logits))
    truth = rng.random(logits.shape) < probability
    known, audit, names = (
        np.zeros(truth.shape, bool),
        np.zeros(truth.shape, bool),
        [f"class {c}" for c in range(classes)],
    )
    for asked in range(1, truth.size + 1):
        is_audit = asked % 5 == 0
        still_open = np.flatnonzero(~known)
        pair = rng.choice(still_open) if is_audit else still_open[probability.flat[still_open].argmax()]
        known.flat[pair], audit.flat[pair] = True, is_audit
        if asked % every and asked < truth.size:
            continue
        quality = estimate(probability, Labels(truth & known, known), audit, seed=asked)
        confirmed = dict(zip(names, (truth & known).sum(axis=0).tolist(), strict=True))
        evidence = Evidence(asked, (), dict(zip(names, quality.classes, strict=True)), bags, confirmed)
        if decide(evidence, goal).stop:
            return asked / truth.size, (truth & known).sum(axis=0) / truth.sum(axis=0)
    raise AssertionError("everything is known, and still it goes on")


def test_found_stops_neither_at_once_nor_only_when_everything_is_asked():
    goal, rng = Goal(**NO_TARGET, found=0.8), np.random.default_rng(5)
    runs = [when_found(rng, goal) for _ in range(4)]
    asked, found = (np.array(one) for one in zip(*runs, strict=True))
    assert asked.min() > 0.15, "there are twice as many positives as could be found by then"
    assert np.median(asked) < 0.9, "it saves something"
    assert (found >= 0.8).mean() > 0.85, "and what it says is true"


def by_site(**sites):
    """Evidence of one class, which is known within 0.02 overall, by the half-width of its share at sites."""
    shares = {
        site: {"wren": None if half is None else Interval(0.3, 0.3 - half, 0.3 + half)} for site, half in sites.items()
    }
    return Evidence(100, (), {"wren": ClassQuality(prevalence=Interval(0.3, 0.28, 0.32))}, groups=shares)


@pytest.mark.parametrize(
    ("seen", "stop", "why"),
    [
        (by_site(north=0.04, south=0.05), True, "The share of bags with wren is known within 0.05, at every site too."),
        (
            by_site(north=0.04, south=0.06),
            False,
            "The share of bags is not yet known within 0.05: wren at south 0.30 (0.24 to 0.36).",
        ),
        (
            by_site(north=0.04, south=None),
            False,
            "The share of bags is not yet known within 0.05: wren at south unknown.",
        ),
        (by_site(), False, "The share of bags by site is not known: no bag has one."),
    ],
)
def test_prevalence_by_site(seen, stop, why):
    verdict = decide(seen, Goal(**NO_TARGET, prevalence_within=0.05, prevalence_by="site"))
    assert (verdict.stop, verdict.why) == (stop, why)
    assert decide(seen, Goal(**NO_TARGET, prevalence_within=0.05)).stop, "of all sites together it is known"


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
        {"prevalence_by": "month"},
        {"found": 1.5},
    ],
)
def test_an_invalid_goal_is_an_error(wrong):
    with pytest.raises(BagwiseError, match=r"\[stopping\]"):
        Goal(**wrong)
