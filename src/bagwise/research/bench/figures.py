"""Results of benchmarks: figures, the reports of suites, and the document of a whole run as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.core.errors import FileError

FORMAT = 1


@dataclass(frozen=True)
class Figure:
    """A ratio to `floor`: the median over `rounds` and its quartiles.

    Parameters
    ----------
    name, floor : str
        What was measured, and what it is divided by.
    ratio, low, high : float
        Median and quartiles over the rounds.
    rounds : int
        Number of measurements.
    seconds, floor_seconds : float, optional
        Median times of both sides, where the ratio is one of times.
    one_thread : float, optional
        The same ratio of CPU times on one thread. Other load on the machine does not change it, so runs are compared by
        it where it exists.
    larger_is_better : bool
        Whether a larger ratio is an improvement.
    goal : float, optional
        The target that the project set itself.
    details : mapping
        What is shown beside the ratio (an accuracy, a size).
    """

    name: str
    floor: str
    ratio: float
    low: float
    high: float
    rounds: int
    seconds: float | None = None
    floor_seconds: float | None = None
    one_thread: float | None = None
    larger_is_better: bool = False
    goal: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, floor: str, ratios: Sequence[float], **rest: Any) -> "Figure":
        """Return the figure of these ratios, one for each round."""
        low, median, high = (float(value) for value in np.quantile(ratios, (0.25, 0.5, 0.75)))
        return cls(name, floor, median, low, high, len(ratios), **rest)

    @property
    def reaches_goal(self) -> bool | None:
        """Return whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        return self.judged >= self.goal if self.larger_is_better else self.judged <= self.goal

    @property
    def judged(self) -> float:
        """Return the ratio by which runs are compared."""
        return self.ratio if self.one_thread is None else self.one_thread

    def times_worse_than(self, other: "Figure") -> float:
        """Return by which factor this is worse than the same figure of another run; below 1 where it is better."""
        return other.judged / self.judged if self.larger_is_better else self.judged / other.judged


@dataclass(frozen=True)
class Report:
    """The figures of one suite at one size; `unit` is that of the ratios, `notes` are caveats for the reader."""

    suite: str
    size: str
    figures: tuple[Figure, ...]
    unit: str = "times the floor"
    notes: tuple[str, ...] = ()

    def better_of(self, other: "Report") -> "Report":
        """Return the better of two measurements of every figure: a busy machine only makes them worse."""
        pairs = zip(self.figures, other.figures, strict=True)
        figures = tuple(second if first.times_worse_than(second) > 1 else first for first, second in pairs)
        return Report(self.suite, self.size, figures, self.unit, self.notes)


@dataclass(frozen=True)
class Document:
    """The reports of one run by suite, and a description of the machine."""

    machine: Mapping[str, Any]
    reports: Mapping[str, Report]

    def write(self, path: Path) -> None:
        """Write the document as JSON."""
        content = {
            "format": FORMAT,
            "machine": dict(self.machine),
            "suites": {name: asdict(report) for name, report in self.reports.items()},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Document":
        """Read a document that `write` wrote."""
        try:
            content = json.loads(path.read_text())
            if content["format"] != FORMAT:
                raise FileError(path, f"format {content['format']} is not the one this version writes: measure again.")
            reports = {name: _report(**report) for name, report in content["suites"].items()}
            return cls(content["machine"], reports)
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise FileError(path, "is not a result of `bagwise bench`: give the JSON file that it wrote.") from error


def _report(figures: list[dict[str, Any]], notes: list[str], **rest: Any) -> Report:
    return Report(figures=tuple(Figure(**figure) for figure in figures), notes=tuple(notes), **rest)
