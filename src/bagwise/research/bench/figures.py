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

    Examples
    --------
    >>> figure = Figure.of("ours", "numpy", [1.0, 1.5, 2.0], goal=1.6)
    >>> figure.ratio, figure.low, figure.high, figure.reaches_goal
    (1.5, 1.25, 1.75, True)
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
        """Return the figure of these ratios, one for each round.

        Parameters
        ----------
        name, floor : str
            What was measured, and what it is divided by.
        ratios : sequence of float
            One for each round, at least one.
        **rest
            Further parameters of `Figure`.

        Returns
        -------
        Figure
        """
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
        """Return by which factor this is worse than the same figure of another run; below 1 where it is better.

        Parameters
        ----------
        other : Figure
            The same figure of another run.

        Returns
        -------
        float
        """
        return other.judged / self.judged if self.larger_is_better else self.judged / other.judged


@dataclass(frozen=True)
class Report:
    """The figures of one suite at one size.

    Parameters
    ----------
    suite, size : str
        The name of the suite, and of the size that was measured.
    figures : tuple of Figure
        What was measured.
    unit : str
        The unit of the ratios.
    notes : tuple of str
        Caveats for the reader.

    Examples
    --------
    >>> first = Report("sums", "quick", (Figure.of("ours", "numpy", [1.5]),))
    >>> second = Report("sums", "quick", (Figure.of("ours", "numpy", [1.25]),))
    >>> first.better_of(second).figures[0].ratio
    1.25
    """

    suite: str
    size: str
    figures: tuple[Figure, ...]
    unit: str = "times the floor"
    notes: tuple[str, ...] = ()

    def better_of(self, other: "Report") -> "Report":
        """Return the better of two measurements of every figure: a busy machine only makes them worse.

        Parameters
        ----------
        other : Report
            Another measurement of the same figures, in the same order.

        Returns
        -------
        Report
        """
        pairs = zip(self.figures, other.figures, strict=True)
        figures = tuple(second if first.times_worse_than(second) > 1 else first for first, second in pairs)
        return Report(self.suite, self.size, figures, self.unit, self.notes)


@dataclass(frozen=True)
class Document:
    """The reports of one run by suite, and a description of the machine.

    Parameters
    ----------
    machine : mapping of str to any
        Processor, cores and versions, as JSON can hold them.
    reports : mapping of str to Report
        The reports by the names of their suites.

    Examples
    --------
    >>> import tempfile
    >>> report = Report("sums", "quick", (Figure.of("ours", "numpy", [1.5]),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Document({"cores": 2}, {"sums": report}).write(Path(folder) / "run.json")
    ...     Document.read(Path(folder) / "run.json").reports["sums"] == report
    True
    """

    machine: Mapping[str, Any]
    reports: Mapping[str, Report]

    def write(self, path: Path) -> None:
        """Write the document as JSON.

        Parameters
        ----------
        path : Path
            The file; its folder is made if it does not exist.
        """
        content = {
            "format": FORMAT,
            "machine": dict(self.machine),
            "suites": {name: asdict(report) for name, report in self.reports.items()},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Document":
        """Read a document that `write` wrote.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        Document

        Raises
        ------
        FileError
            If it is another kind of file, or of another version.
        """
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
