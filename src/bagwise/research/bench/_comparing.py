"""Two runs side by side: what moved, and what fell behind the reference that comes with the package."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bagwise.research.bench._figures import Document, Figure, Report

REFERENCE = Path(__file__).with_name("reference.json")
MOST_TIMES_WORSE = 1.5
"""A ratio that is this many times worse than the reference's is a regression."""

STEADY = 1.15
"""CPU times on one thread differ by less than this from run to run."""


@dataclass(frozen=True)
class Change:
    """The same figure before and now."""

    suite: str
    before: Figure
    now: Figure

    @property
    def times_worse(self) -> float:
        """Above 1 where it got worse."""
        return self.now.times_worse_than(self.before)

    @property
    def moved(self) -> str:
        """In a word; as before where the difference may be chance."""
        if self._by_chance:
            return "as before"
        return "worse" if self.times_worse > 1 else "better"

    @property
    def _by_chance(self) -> bool:
        if self.now.one_thread is not None:
            return 1 / STEADY <= self.times_worse <= STEADY
        return self.before.low <= self.now.high and self.now.low <= self.before.high

    def __str__(self) -> str:
        return f"{self.suite}: {self.now.name} ({self.now.judged:.2f} instead of {self.before.judged:.2f})"


def changes(before: Report, now: Report) -> Iterator[Change]:
    """The figures both have, if they are of the same size; a figure against another floor is another figure."""
    if before.size != now.size:
        return
    old = {(figure.name, figure.floor): figure for figure in before.figures}
    for figure in now.figures:
        if (figure.name, figure.floor) in old:
            yield Change(now.suite, old[figure.name, figure.floor], figure)


def regressions(report: Report) -> list[Change]:
    """What is worse than the reference by more than half; nothing where the reference is of another size."""
    reference = _reference().reports.get(report.suite)
    if reference is None:
        return []
    return [change for change in changes(reference, report) if change.times_worse > MOST_TIMES_WORSE]


def keep(document: Document) -> None:
    """Make these reports the reference of their suites."""
    Document(document.machine, {**_reference().reports, **document.reports}).write(REFERENCE)


def _reference() -> Document:
    return Document.read(REFERENCE) if REFERENCE.exists() else Document({}, {})
