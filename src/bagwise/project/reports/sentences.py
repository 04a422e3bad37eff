"""The quality of a project in sentences that a person can act on: those of page, terminal, API and report.

    wren: 41 of 300 recordings have it (33 to 52); you would miss 1 in 8 (at most 1 in 4); 1 in 20 found is a false
    alarm (at most 1 in 7); about 60 more answers for missing 1 in 20 (30 to 150).

Shares are said as *1 in N* for a few N, the nearest one, or for *at most* the next one that is not smaller, so that
nothing sounds more precise than it is. Where an interval is wider than `TOO_WIDE`, the share is not said at all, but
how many random checks are missing: the width falls with the root of their number.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, log10
from typing import Any

from bagwise.core.wording import counted
from bagwise.data import metrics
from bagwise.evaluation import Interval
from bagwise.evaluation.estimate import FEWEST_ANSWERS
from bagwise.evaluation.forecast import Forecast
from bagwise.evaluation.stopping import Goal
from bagwise.project.project import Project
from bagwise.project.reports.quality import ClassReport, Report

ONE_IN = (1000, 500, 300, 200, 150, 100, 80, 60, 50, 40, 30, 25, 20, 15, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2)
OTHERS = {
    "2 in 5": 0.4,
    "3 in 5": 0.6,
    "2 in 3": 2 / 3,
    "3 in 4": 0.75,
    "4 in 5": 0.8,
    "9 in 10": 0.9,
    "nearly all": 0.97,
}
SHARES = dict(sorted(({f"1 in {count}": 1 / count for count in ONE_IN} | OTHERS).items(), key=lambda one: one[1]))
"""All shares between none and all that are said, from the smallest to the largest."""
MANTISSAS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
TOO_WIDE = 0.5
TOO_EARLY = "too early to forecast"
FEWEST_CHECKS = 10
MOST_NAMED = 3
ROUNDING = 1e-9


@dataclass(frozen=True)
class Sentences:
    """One sentence about all classes, and one about each.

    Parameters
    ----------
    overall : str
        About all classes.
    classes : dict of str to str
        By the name of the class, with which the sentence begins.

    Examples
    --------
    >>> Sentences("Too early to say.", {"wren": "wren: not found yet."}).classes["wren"]
    'wren: not found yet.'
    """

    overall: str
    classes: dict[str, str]

    def added_to(self, report: Report) -> dict[str, Any]:
        """Return the report as plain values, with `sentence` for all of it and for every class.

        Parameters
        ----------
        report : Report
            The report that the sentences were made from.

        Returns
        -------
        dict
        """
        found = report.as_json()
        of_classes = [{**one, "sentence": self.classes[one["name"]]} for one in found["classes"]]
        return {**found, "sentence": self.overall, "classes": of_classes}


def sentences_about(project: Project, report: Report) -> Sentences:
    """Return the sentences for a report of a project, in the words of its medium.

    Parameters
    ----------
    project : Project
        An open project.
    report : Report
        What `quality_of` returned for it.

    Returns
    -------
    Sentences
    """
    return sentences_of(report, project.settings.stopping, project.settings.display.bag)


def sentences_of(report: Report, goal: Goal, noun: str = "bag") -> Sentences:
    """Return the sentences for a report.

    Parameters
    ----------
    report : Report
        The quality.
    goal : Goal
        What is to be reached: the `[stopping]` of the project.
    noun : str
        The word for one bag, as *recording*.

    Returns
    -------
    Sentences

    Examples
    --------
    >>> from bagwise.evaluation.stopping import Verdict
    >>> wren = ClassReport(
    ...     "wren",
    ...     precision=Interval(0.95, 0.86, 1.0),
    ...     recall=Interval(0.875, 0.75, 0.96),
    ...     prevalence=Interval(41 / 300, 33 / 300, 52 / 300),
    ...     forecast=Forecast(58, 31, 140),
    ... )
    >>> accuracy, verdict = {"bag_accuracy": Interval(0.82, 0.74, 0.9)}, Verdict(False, "")
    >>> report = Report(300, 30, 300, "bag_accuracy", 0.9, accuracy, [wren], verdict, Forecast(60, 30, 160), [])
    >>> made = sentences_of(report, Goal(), "recording")
    >>> for part in made.classes["wren"].split("; "):
    ...     print(part)
    wren: 41 of 300 recordings have it (33 to 52)
    you would miss 1 in 8 (at most 1 in 4)
    1 in 20 found is a false alarm (at most 1 in 7)
    about 60 more answers for missing 1 in 10 (30 to 150).
    >>> made.overall
    'Overall: bag accuracy 82 % (74 % to 90 %); about 60 more answers for 90 % (30 to 150).'
    """
    return Sentences(
        _overall(report),
        {one.name: _of_class(one, report, goal.recall_level, noun) for one in report.classes},
    )


def way_to(estimate: Interval | None, forecast: Forecast | None, level: float, wanted: str = "") -> str:
    """Return how far it is to a level: reached, so many more answers, out of reach, or too early to say.

    Parameters
    ----------
    estimate : Interval or None
        The quality now, on a scale where more is better.
    forecast : Forecast or None
        The answers that are still needed.
    level : float
        The quality to reach.
    wanted : str
        The words for it, as *90 %*; empty where they were said before.

    Returns
    -------
    str
        The beginning of a sentence or a part of one.

    Examples
    --------
    >>> way_to(Interval(0.8, 0.7, 0.9), Forecast(58, 31, 140), 0.95, "95 %")
    'about 60 more answers for 95 % (30 to 150)'
    >>> way_to(Interval(0.8, 0.7, 0.9), None, 0.95, "95 %")
    'too early to forecast 95 %'
    >>> way_to(Interval(0.9, 0.8, 0.99), None, 0.85)
    'probably reached; more random checks will tell'
    """
    is_wanted, for_wanted = (f"{wanted} is ", f" for {wanted}") if wanted else ("", "")
    if estimate is not None and estimate.low >= level:
        return f"{is_wanted}reached"
    if estimate is not None and estimate.value >= level:
        return f"{is_wanted}probably reached; more random checks will tell"
    # A curve may lie above the last estimate; that it is reached would contradict what was said of this one.
    if forecast is None or forecast.high == 0:
        return f"{TOO_EARLY} {wanted}".rstrip()
    if forecast.high is None:
        if forecast.low is None:
            return f"{wanted or 'it'} is far away, and more answers alone may not do"
        return f"at least {_more_answers(forecast.low)}{for_wanted}, perhaps out of reach"
    if not forecast.needed:
        return f"at most {_more_answers(forecast.high)}{for_wanted}"
    low, high = rounded(forecast.low or 0), rounded(forecast.high)
    between = f" ({low} to {high})" if low else f" (up to {high})"
    return f"about {_more_answers(forecast.needed)}{for_wanted}{between if high > low else ''}"


def one_in(share: float, at_most: bool = False) -> str:
    """Return a share in words: the nearest of a few, or the next that is not smaller.

    Parameters
    ----------
    share : float
        Between 0 and 1.
    at_most : bool
        Whether the share is a limit, so that its words must not say less.

    Returns
    -------
    str

    Examples
    --------
    >>> [one_in(share) for share in (0, 0.0002, 0.05, 0.13, 0.4, 0.66, 0.99, 1)]
    ['none', '1 in 1000', '1 in 20', '1 in 8', '2 in 5', '2 in 3', 'nearly all', 'all']
    >>> one_in(0.13, at_most=True)
    '1 in 7'
    """
    if share <= 0 or share >= 1:
        return "all" if share >= 1 else "none"
    words, values = list(SHARES), list(SHARES.values())
    above = bisect_left(values, share - ROUNDING)
    if above == len(values):
        return "all" if at_most else words[-1]
    if at_most or above == 0:
        return words[above]
    below_is_nearer = _log_odds(share) - _log_odds(values[above - 1]) < _log_odds(values[above]) - _log_odds(share)
    return words[above - below_is_nearer]


def percent(share: float) -> str:
    """Return a share in per cent; 0 and 100 only where it is exactly that.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.824), percent(0.9999), percent(1.0)
    ('82 %', '99 %', '100 %')
    """
    return f"{round(100 * share) if share in (0.0, 1.0) else min(99, max(1, round(100 * share)))} %"


def rounded(count: int) -> int:
    """Return a number of answers without false precision: the nearest of 10, 15, 20, 30, 40, 50, 60, 80, 100, ...

    Parameters
    ----------
    count : int
        At least 0; up to 10 it stays as it is.

    Returns
    -------
    int

    Examples
    --------
    >>> [rounded(count) for count in (0, 7, 58, 104, 1234)]
    [0, 7, 60, 100, 1000]
    """
    return count if count <= 10 else min(_round_numbers(count), key=lambda one: (abs(one - count), one))


def having(prevalence: Interval, bags: int) -> tuple[int, int, int]:
    """Return how many of the bags have a class: the estimate and the ends of its interval.

    Parameters
    ----------
    prevalence : Interval
        The share.
    bags : int
        Number of bags.

    Returns
    -------
    value, low, high : int

    Examples
    --------
    >>> having(Interval(0.137, 0.11, 0.173), 300)
    (41, 33, 52)
    """
    value, low, high = (round(bags * share) for share in (prevalence.value, prevalence.low, prevalence.high))
    return value, low, high


def _overall(report: Report) -> str:
    metric = metrics.get(report.metric)
    found = report.metrics.get(report.metric)
    if found is None:
        return f"Overall: {_nothing_yet(report)}."
    low, high = sorted((metric.goodness(found.low), metric.goodness(found.high)))
    estimate, level = Interval(metric.goodness(found.value), low, high), metric.goodness(report.target)
    if high - low > TOO_WIDE:
        parts = [f"too early to say how good the model is: {_more_checks(high - low, report.audits)}"]
    else:
        interval = f" ({percent(low)} to {percent(high)})" if high > low else ""
        parts = [f"{metric.goodness_title} {percent(estimate.value)}{interval}"]
        if report.target:
            parts.append(way_to(estimate, report.forecast, level, percent(level)))
    return f"Overall: {'; '.join([*parts, *_attention(report.classes)])}."


def _attention(classes: Sequence[ClassReport]) -> list[str]:
    """Return which class the model misses most of, and which were not found yet."""
    sure = [
        (one.name, miss)
        for one in classes
        if one.precision is not None and one.recall is not None and _is_narrow(miss := one.recall.complement())
    ]
    worst = max(sure, key=lambda one: one[1].value, default=None)
    parts = []
    if len(sure) > 1 and worst is not None and worst[1].value > 0:
        parts.append(f"most is missed of {worst[0]} ({one_in(worst[1].value)})")
    unseen = [one.name for one in classes if one.prevalence is not None and one.recall is None]
    if unseen:
        more = f" and {len(unseen) - MOST_NAMED} more" if len(unseen) > MOST_NAMED else ""
        parts.append(f"not found yet: {', '.join(unseen[:MOST_NAMED])}{more}")
    return parts


def _of_class(one: ClassReport, report: Report, level: float, noun: str) -> str:
    if one.prevalence is None:
        return f"{one.name}: {_nothing_yet(report)}."
    parts = [_having(one, report.bags, noun)]
    miss = None if one.recall is None or one.precision is None else one.recall.complement()
    alarms = one.false_alarms
    if one.precision is None and one.recall is not None:
        parts.append("the model does not find it yet")
    unknown = []
    if miss is not None:
        if _is_narrow(miss):
            parts.append(_missing(miss))
        else:
            unknown.append("how many you would miss")
    if alarms is not None:
        if _is_narrow(alarms):
            parts.append(_alarms(alarms))
        else:
            unknown.append("how many found are false alarms")
    if unknown:
        width = max(share.high - share.low for share in (miss, alarms) if share is not None)
        parts.append(f"too early to say {' or '.join(unknown)}: {_more_checks(width, report.audits)}")
    if one.recall is not None and miss is not None and _is_narrow(miss) and level:
        way = way_to(one.recall, one.forecast, level, f"missing {one_in(1 - level)}")
        # The sentence about all classes says so once; said of each, it hides what is known.
        parts += [] if way.startswith(TOO_EARLY) else [way]
    return f"{one.name}: {'; '.join(parts)}."


def _having(one: ClassReport, bags: int, noun: str) -> str:
    assert one.prevalence is not None
    value, low, high = having(one.prevalence, bags)
    if one.recall is None:
        most = f"at most {high} of {counted(bags, noun)} {_have(high)} it" if high else f"in none of {_all(bags, noun)}"
        return f"not found yet, {most}" if high else f"not found yet, and probably {most}"
    interval = f" ({low} to {high})" if low < high else ""
    return f"{value} of {counted(bags, noun)} {_have(value)} it{interval}"


def _all(bags: int, noun: str) -> str:
    return f"the {counted(bags, noun)}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _missing(miss: Interval) -> str:
    return f"you would miss {_with_limit(miss)}"


def _alarms(alarms: Interval) -> str:
    words = one_in(alarms.value)
    if alarms.high <= 0:
        return "none found is a false alarm"
    limit = _limit(alarms)
    if alarms.value <= 0:
        return f"hardly any found is a false alarm{limit}"
    return f"{words} found {'is a false alarm' if words.startswith('1 in') else 'are false alarms'}{limit}"


def _with_limit(share: Interval) -> str:
    if share.high <= 0:
        return "none"
    return f"{one_in(share.value) if share.value > 0 else 'hardly any'}{_limit(share)}"


def _limit(share: Interval) -> str:
    """Return the high end in brackets, unless it is what was said already."""
    limit = one_in(share.high, at_most=True)
    return "" if limit == one_in(share.value) else f" (at most {limit})"


def _is_narrow(share: Interval) -> bool:
    return share.high - share.low <= TOO_WIDE


def _nothing_yet(report: Report) -> str:
    missing = max(1, FEWEST_ANSWERS - report.answers)
    return f"too early to say anything: at least {counted(missing, 'more answer')}"


def _more_checks(width: float, audits: int) -> str:
    """Return how many random checks more, drawn as before, make an interval of this width no wider than `TOO_WIDE`."""
    missing = ceil(max(audits, FEWEST_CHECKS) * ((width / TOO_WIDE) ** 2 - 1) - ROUNDING)
    return f"about {counted(next(one for one in _round_numbers(missing) if one >= missing), 'more random check')}"


def _more_answers(count: int) -> str:
    return counted(rounded(count), "more answer")


def _round_numbers(count: int) -> list[int]:
    """Return the round numbers about as large as a count, from 10 on."""
    scale = 10 ** max(1, int(log10(max(count, 10))))
    return [int(mantissa * scale) for mantissa in MANTISSAS]


def _log_odds(share: float) -> float:
    return log(share / (1 - share)) if share < 1 else inf
