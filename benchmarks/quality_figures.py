"""Write what the benchmarks of quality and stopping measured into docs/quality.md, stopping.md and decisions.md.

python benchmarks/quality_figures.py
"""

import json

from marked import table, with_tables
from readme import RESULTS, ROOT

ALL = "all"
PAGES = ("quality", "stopping", "decisions")


def coverage():
    found = json.loads((RESULTS / "coverage.json").read_text())
    rows = [
        [
            one["quantity"],
            one["source"],
            f"{one['estimates']:,}",
            f"{one['coverage']:.1%}",
            f"{one['coverage_without_belief']:.1%}",
            f"{one['mean_width'] / 2:.3f}",
            f"{one['times_width_without_belief']:.2f}",
            f"{one['mean_error']:+.3f} ± {one['standard_error']:.3f}",
            f"{one['naive_mean_error']:+.3f}",
        ]
        for one in sorted(found["results"], key=lambda one: one["source"] != ALL)
    ]
    head = [
        "quantity",
        "source",
        "estimates",
        "coverage",
        "without beliefs",
        "half-width",
        "times without",
        "mean error",
        "naive: mean error",
    ]
    return f"{found['projects']:,} projects, seeds from {found['seed']:,} on.\n\n" + table(head, rows)


def stopping():
    rows = [
        [
            one["dataset"],
            f"{one['stopped_at']:.0f} of {one['budget']:.0f}",
            f"{one['saved']:.0%}",
            f"{one['bag_accuracy_there']:.3f}",
            f"{one['bag_accuracy_in_the_end']:.3f}",
            f"{one['lost']:+.3f}",
        ]
        for one in json.loads((RESULTS / "stopping.json").read_text())
    ]
    return table(["data set", "stopped at", "answers saved", "bag accuracy there", "in the end", "lost"], rows)


def forecasts():
    found = json.loads((RESULTS / "forecasts.json").read_text())
    said = ("too early", "reached", "within a factor of two", "at least twice as many", "far away")
    rows = [
        [
            f"{one['after']} answers",
            one["kind"],
            str(one["forecasts"]),
            f"{one['plain_held']:.0%}",
            str(one["plain_from_0_to_never"]),
            *(str(one[word]) for word in said),
            str(one["given_wrong"]),
        ]
        for one in found["needed"]
    ]
    head = [
        "made after",
        "to",
        "forecasts",
        "curves hold",
        "of them *0 to never*",
        *(f"*{word}*" for word in said),
        "wrong",
    ]
    return f"{found['projects']} projects, seeds from {found['seed']}.\n\n" + table(head, rows)


def decisions():
    keys = ("calibration_error_before", "calibration_error_after", "bag_accuracy_before", "bag_accuracy_calibrated")
    rows = [
        [
            one["dataset"],
            *(f"{one[key]:.3f}" for key in (*keys, "bag_accuracy_with_threshold")),
            f"{one['threshold']:.2f}",
        ]
        for one in json.loads((RESULTS / "stopping.json").read_text())
    ]
    head = ["data set", "calibration error", "calibrated", "bag accuracy", "calibrated", "and threshold", "threshold"]
    return table(head, rows)


def with_figures(text):
    tables = {"coverage": coverage, "stopping": stopping, "forecasts": forecasts, "decisions": decisions}
    return with_tables(text, tables)


if __name__ == "__main__":
    for page in PAGES:
        path = ROOT / "docs" / f"{page}.md"
        path.write_text(with_figures(path.read_text()))
