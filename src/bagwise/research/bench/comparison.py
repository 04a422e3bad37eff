"""Compare two runs figure by figure, and a run with the reference that comes with the package."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bagwise.research.bench.figures import Document, Figure, Report

REFERENCE = Path(__file__).with_name("reference.json")
MOST_TIMES_WORSE = 1.5
"""A ratio this many times worse than that of the reference is a regression."""

STEADY = 1.15
"""CPU times on one thread vary by less than this factor between runs."""


@dataclass(frozen=True)
class Change:
    """The same figure before and now."""

    suite: str
    before: Figure
    now: Figure

    @property
    def times_worse(self) -> float:
        """Return by which factor the figure got worse; below 1 where it improved."""
        return self.now.times_worse_than(self.before)

    @property
    def verdict(self) -> str:
        """Return `worse`, `better`, or `as before` where the difference is within the variation between runs."""
        if self._within_variation:
            return "as before"
        return "worse" if self.times_worse > 1 else "better"

    @property
    def _within_variation(self) -> bool:
        if self.now.one_thread is not None:
            return 1 / STEADY <= self.times_worse <= STEADY
        return self.before.low <= self.now.high and self.now.low <= self.before.high

    def __str__(self) -> str:
        return f"{self.suite}: {self.now.name} ({self.now.judged:.2f} instead of {self.before.judged:.2f})"


def changes(before: Report, now: Report) -> Iterator[Change]:
    """Yield the figures that both reports have with the same floor; nothing if the reports differ in size."""
    if before.size != now.size:
        return
    old = {(figure.name, figure.floor): figure for figure in before.figures}
    for figure in now.figures:
        if (figure.name, figure.floor) in old:
            yield Change(now.suite, old[figure.name, figure.floor], figure)


def regressions(report: Report) -> list[Change]:
    """Return the figures worse than the reference by more than half; none if the reference has another size."""
    reference = _reference().reports.get(report.suite)
    if reference is None:
        return []
    return [change for change in changes(reference, report) if change.times_worse > MOST_TIMES_WORSE]


def save_reference(document: Document) -> None:
    """Make these reports the reference of their suites; other suites keep theirs."""
    Document(document.machine, {**_reference().reports, **document.reports}).write(REFERENCE)


def _reference() -> Document:
    return Document.read(REFERENCE) if REFERENCE.exists() else Document({}, {})
