"""Run suites, hold them against the reference, and tell what fell behind."""

from collections.abc import Iterable
from dataclasses import replace

from bagwise.core.errors import BagwiseError
from bagwise.research.bench import Suite
from bagwise.research.bench._comparing import regressions
from bagwise.research.bench._figures import Document, Report
from bagwise.research.bench._machine import describe
from bagwise.research.bench._measuring import Say


def run(suites: dict[str, Suite], quick: bool, say: Say) -> tuple[Document, list[str]]:
    """The reports of these suites, and a sentence for each that could not run."""
    reports: dict[str, Report] = {}
    failures = []
    for name, suite in suites.items():
        try:
            reports[name] = run_one(suite, quick, _named(name, say))
        except BagwiseError as error:
            failures.append(f"{name}: {error}")
    return Document(describe(), reports), failures


def _named(name: str, say: Say) -> Say:
    return lambda what: say(f"{name}: {what}")


def run_one(suite: Suite, quick: bool, say: Say) -> Report:
    """All figures of a suite; what looks like a regression is measured once more before it counts."""
    if quick:
        report = suite.measure(suite.QUICK, say)
        return replace(report, figures=tuple(replace(figure, goal=None) for figure in report.figures))
    report = suite.measure(suite.FULL, say)
    if regressions(report):
        say("once more, because some figures are worse than the reference")
        report = report.better_of(suite.measure(suite.FULL, say))
    return report


def fallen_behind(reports: Iterable[Report]) -> list[str]:
    """A sentence that names every regression, if there are any."""
    found = [str(one) for report in reports for one in regressions(report)]
    return [f"Worse than the reference by more than half: {'; '.join(found)}."] if found else []
