"""Run suites, compare them with the reference, and report regressions."""

from collections.abc import Iterable
from dataclasses import replace

from bagwise.core.errors import BagwiseError
from bagwise.research.bench import Suite
from bagwise.research.bench.comparison import regressions
from bagwise.research.bench.figures import Document, Report
from bagwise.research.bench.machine import describe
from bagwise.research.bench.timing import Log


def run(suites: dict[str, Suite], quick: bool, log: Log) -> tuple[Document, list[str]]:
    """Return the reports of these suites, and an error message for each that could not run."""
    reports: dict[str, Report] = {}
    failures = []
    for name, suite in suites.items():
        try:
            reports[name] = run_one(suite, quick, _prefixed(name, log))
        except BagwiseError as error:
            failures.append(f"{name}: {error}")
    return Document(describe(), reports), failures


def _prefixed(name: str, log: Log) -> Log:
    return lambda message: log(f"{name}: {message}")


def run_one(suite: Suite, quick: bool, log: Log) -> Report:
    """Measure all figures of a suite; an apparent regression is measured a second time before it counts."""
    if quick:
        report = suite.measure(suite.QUICK, log)
        return replace(report, figures=tuple(replace(figure, goal=None) for figure in report.figures))
    report = suite.measure(suite.FULL, log)
    if regressions(report):
        log("again, because some figures are worse than the reference")
        report = report.better_of(suite.measure(suite.FULL, log))
    return report


def regression_message(reports: Iterable[Report]) -> list[str]:
    """Return one message that names every regression, or nothing."""
    found = [str(one) for report in reports for one in regressions(report)]
    return [f"Worse than the reference by more than half: {'; '.join(found)}."] if found else []
