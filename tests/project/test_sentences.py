"""One sentence a person can act on: true, in order, and without false precision, whatever was estimated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Forecast
from bagwise.evaluation.stopping import Goal, Verdict
from bagwise.project.reports.quality import ClassReport, Report
from bagwise.project.reports.sentences import (
    SHARES,
    TOO_WIDE,
    having,
    one_in,
    percent,
    rounded,
    sentences_of,
    way_to,
)

ORDER = ["none", *SHARES, "all"]
shares = st.floats(0, 1)
counts = st.integers(0, 10**6)


@st.composite
def intervals(draw):
    low, value, high = sorted(draw(st.tuples(shares, shares, shares)))
    return Interval(value, low, high)


@st.composite
def forecasts(draw):
    low, needed, high = sorted(draw(st.tuples(*[st.one_of(counts, st.just(float("inf")))] * 3)))
    return Forecast(*(None if one == float("inf") else one for one in (needed, low, high)))


maybe_intervals = st.none() | intervals()
classes = st.builds(
    ClassReport, st.just("wren"), maybe_intervals, maybe_intervals, maybe_intervals, st.none() | forecasts()
)


def report_of(*found, accuracy=None, forecast=None, answers=100, audits=10, bags=300, target=0.9):
    verdict = Verdict(False, "")
    accuracies = {"bag_accuracy": accuracy}
    return Report(answers, audits, bags, "bag_accuracy", target, accuracies, list(found), verdict, forecast, [])


def sentence(one, noun="recording", goal=None, **facts):
    return sentences_of(report_of(one, **facts), goal or Goal(), noun).classes[one.name]


@given(shares, shares)
def test_a_larger_share_is_never_said_as_a_smaller_one(first, second):
    small, large = sorted((first, second))
    for at_most in (False, True):
        assert ORDER.index(one_in(small, at_most)) <= ORDER.index(one_in(large, at_most))
    assert ORDER.index(one_in(small)) <= ORDER.index(one_in(small, at_most=True))


@given(shares)
def test_a_limit_is_never_below_the_share(share):
    words = one_in(share, at_most=True)
    assert {"none": 0.0, **SHARES, "all": 1.0}[words] >= share - 1e-6
    assert (words == "none") == (share == 0)


@pytest.mark.parametrize("words", SHARES)
def test_a_share_that_has_words_is_said_by_them(words):
    assert one_in(SHARES[words]) == one_in(SHARES[words], at_most=True) == words


@given(counts, counts)
def test_rounded_numbers_keep_their_order_and_are_near(first, second):
    small, large = sorted((first, second))
    assert rounded(small) <= rounded(large)
    assert abs(rounded(small) - small) <= 0.25 * small
    assert (rounded(small) == 0) == (small == 0)


@given(shares, shares)
def test_per_cent_keeps_its_order_and_100_is_all(first, second):
    small, large = (int(percent(share).removesuffix(" %")) for share in sorted((first, second)))
    assert 0 <= small <= large <= 100
    assert (percent(first) == "100 %") == (first == 1)


@given(
    classes,
    st.none() | intervals(),
    st.none() | forecasts(),
    st.tuples(counts, counts, st.integers(1, 10**6)),
    st.tuples(shares, shares),
    st.sampled_from(["recording", "picture", "document", "bag"]),
)
def test_every_sentence_is_one_whatever_was_estimated(one, accuracy, forecast, counted, wanted, noun):
    answers, audits, bags = counted
    report = report_of(one, accuracy=accuracy, forecast=forecast, answers=answers, audits=audits, bags=bags)
    made = sentences_of(report, Goal(target=wanted[0], recall=wanted[1]), noun)
    for said in (made.overall, made.classes["wren"]):
        assert said.endswith(".")
        assert said.count(".") == 1
        assert not re.search(r"nan|inf\b|None|1 in [01]\b|-\d|  |;;|: ;", said), said
        assert not re.search(r"\b1 (?:more answer|more random check|recording|picture|document|bag)s\b", said), said
        assert not re.search(r"\b(?!1\b)\d+ (?:more answer|more random check|recording|picture|document)\b", said), said
    assert made.classes["wren"].startswith("wren: ")


@given(intervals(), st.integers(1, 1000))
def test_counts_of_bags_are_in_order_and_no_more_than_there_are(prevalence, bags):
    value, low, high = having(prevalence, bags)
    assert 0 <= low <= value <= high <= bags


@given(intervals(), forecasts(), shares)
def test_reached_is_said_where_the_interval_says_so_and_nowhere_else(estimate, forecast, level):
    said = way_to(estimate, forecast, level, "90 %")
    assert (said == "90 % is reached") == (estimate.low >= level)
    assert ("probably" in said) == (estimate.low < level <= estimate.value)


SURE = {"precision": Interval(0.95, 0.86, 1.0), "recall": Interval(0.875, 0.75, 0.96)}
COMMON = Interval(41 / 300, 33 / 300, 52 / 300)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {**SURE, "prevalence": COMMON, "forecast": None},
            "wren: 41 of 300 recordings have it (33 to 52); you would miss 1 in 8 (at most 1 in 4); 1 in 20 found is a "
            "false alarm (at most 1 in 7).",
        ),
        (
            {"precision": Interval(1, 1, 1), "recall": Interval(1, 1, 1), "prevalence": Interval(0.1, 0.1, 0.1)},
            "wren: 30 of 300 recordings have it; you would miss none; none found is a false alarm; missing 1 in 10 is "
            "reached.",
        ),
        (
            {"precision": Interval(1, 0.9, 1), "recall": Interval(1, 0.8, 1), "prevalence": Interval(0.1, 0.1, 0.12)},
            "wren: 30 of 300 recordings have it (30 to 36); you would miss hardly any (at most 1 in 5); hardly any "
            "found is a false alarm (at most 1 in 10); missing 1 in 10 is probably reached; more random checks will "
            "tell.",
        ),
        (
            {"precision": None, "recall": Interval(0, 0, 0), "prevalence": Interval(1 / 300, 1 / 300, 9 / 300)},
            "wren: 1 of 300 recordings has it (1 to 9); the model does not find it yet.",
        ),
        (
            {"precision": None, "recall": None, "prevalence": Interval(0.01, 0.0, 14 / 300)},
            "wren: not found yet, at most 14 of 300 recordings have it.",
        ),
        (
            {"precision": None, "recall": None, "prevalence": Interval(0.0, 0.0, 0.001)},
            "wren: not found yet, and probably in none of the 300 recordings.",
        ),
        (
            {"precision": Interval(0.2, 0.05, 0.4), "recall": Interval(0.3, 0.1, 0.5), "prevalence": COMMON},
            "wren: 41 of 300 recordings have it (33 to 52); you would miss 2 in 3 (at most 9 in 10); 4 in 5 found are "
            "false alarms (at most nearly all).",
        ),
        (
            {"precision": Interval(0.5, 0.0, 1.0), "recall": Interval(0.5, 0.1, 0.9), "prevalence": COMMON},
            "wren: 41 of 300 recordings have it (33 to 52); too early to say how many you would miss or how many found "
            "are false alarms: about 30 more random checks.",
        ),
        (
            {"precision": None, "recall": None, "prevalence": None},
            "wren: too early to say anything: at least 1 more answer.",
        ),
    ],
)
def test_sentences_about_a_class(found, said):
    one = ClassReport("wren", **{"forecast": None, **found})
    assert sentence(one, answers=9 if found["prevalence"] is None else 100) == said


@pytest.mark.parametrize(
    ("forecast", "said"),
    [
        (Forecast(58, 31, 140), "about 60 more answers for missing 1 in 20 (30 to 150)"),
        (Forecast(58, 0, 140), "about 60 more answers for missing 1 in 20 (up to 150)"),
        (Forecast(1, 1, 1), "about 1 more answer for missing 1 in 20"),
        (Forecast(0, 0, 12), "at most 10 more answers for missing 1 in 20"),
        (Forecast(None, 412, None), "at least 400 more answers for missing 1 in 20, perhaps out of reach"),
        (Forecast(None, None, None), "missing 1 in 20 is far away, and more answers alone may not do"),
    ],
)
def test_the_way_to_the_recall_that_is_wanted(forecast, said):
    one = ClassReport("wren", **SURE, prevalence=COMMON, forecast=forecast)
    assert sentence(one, goal=Goal(recall=0.95)).endswith(f"; {said}.")
    assert "missing" not in sentence(one, goal=Goal(target=0)), "without a goal there is no way to it"


@pytest.mark.parametrize("forecast", [None, Forecast(0, 0, 0)])
def test_that_it_is_too_early_is_said_of_all_classes_and_not_of_each(forecast):
    one = ClassReport("wren", **SURE, prevalence=COMMON, forecast=forecast)
    assert sentence(one, goal=Goal(recall=0.95)).endswith("is a false alarm (at most 1 in 7).")


def test_overall_the_metric_the_way_to_its_target_and_what_needs_attention():
    found = [
        ClassReport("wren", **SURE, prevalence=COMMON, forecast=None),
        ClassReport("robin", Interval(0.9, 0.8, 1), Interval(0.65, 0.5, 0.8), COMMON, None),
        *(ClassReport(name, None, None, Interval(0.0, 0.0, 0.1), None) for name in ("owl", "crane", "coot", "rail")),
    ]
    report = report_of(*found, accuracy=Interval(0.82, 0.74, 0.996), forecast=Forecast(58, 31, 140))
    assert sentences_of(report, Goal()).overall == (
        "Overall: bag accuracy 82 % (74 % to 99 %); about 60 more answers for 90 % (30 to 150); most is missed of "
        "robin (1 in 3); not found yet: owl, crane, coot and 1 more."
    )
    wide = report_of(accuracy=Interval(0.5, 0.1, 0.9), audits=3)
    assert sentences_of(wide, Goal()).overall == (
        "Overall: too early to say how good the model is: about 20 more random checks."
    )


def test_a_loss_is_said_as_what_is_right():
    report = Report(
        100,
        10,
        300,
        "hamming_loss",
        0.05,
        {"hamming_loss": Interval(0.1, 0.05, 0.2)},
        [],
        Verdict(False, ""),
        None,
        [],
    )
    assert sentences_of(report, Goal(metric="hamming_loss", target=0.05)).overall == (
        "Overall: pairs right 90 % (80 % to 95 %); too early to forecast 95 %."
    )


@given(st.floats(TOO_WIDE + 0.01, 1), st.floats(TOO_WIDE + 0.01, 1), counts)
def test_a_wider_interval_needs_no_fewer_checks(first, second, audits):
    def checks(width):
        said = sentence(ClassReport("wren", Interval(0, 0, width), None, COMMON, None), audits=audits)
        return int(re.search(r"about (\d+) more random check", said)[1])

    narrow, wide = sorted((first, second))
    assert checks(narrow) <= checks(wide)
    needed = max(audits, 10) * ((wide / TOO_WIDE) ** 2 - 1)
    assert checks(wide) >= needed - 1e-3 * needed
