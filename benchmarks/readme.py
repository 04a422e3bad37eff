"""Write the measured figures into the README, from what the commands it names left behind.

python benchmarks/readme.py
"""

import json
from pathlib import Path

import polars as pl
from marked import table, with_tables

from bagwise.research.bench import Document
from bagwise.research.experiments.curves import mean_curves

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DATASETS = ("carroll", "frost", "hja")
DEMO_ROWS = ROOT / "results" / "demo" / "rows.parquet"
SHOWN = (0, 100, 200, 300, 400, 500)


def accuracy():
    rows = []
    for one in json.loads((RESULTS / "accuracy.json").read_text()):
        if one["regularisation"].startswith("penalty"):
            error = one["standard_error_over_draws"]
            model = "with background (default)" if one["background"] else "the paper's"
            value = f"{one['bag_accuracy']:.3f}" + (f" ± {error:.3f}" if error else "")
            rows.append([one["dataset"], model, value, f"{one['average_precision']:.3f}"])
    return table(["data set", "model", "bag accuracy", "average precision"], rows)


def bench():
    reports = Document.read(RESULTS / "kernels-learner.json").reports
    figures = {figure.name: figure for report in reports.values() for figure in report.figures}
    names = {
        "uncertainty of all pairs": "uncertainty of all 500,000 pairs",
        "uncertainty, standardised, with background": "the same, standardised, with background class",
        "EGL of all pairs": "expected gradient length of all pairs",
        "tell + ask, the default criterion and update": "one `tell` + `ask` by default",
        "tell + ask, the default criterion and update, mean with a refit": "the same, mean with its refits",
        "tell + ask, bag_sgd, uncertainty": "one `tell` + `ask` with `bag_sgd` and uncertainty",
    }
    rows = [["bare product", "1"], *([title, f"{figures[name].one_thread:.2f}"] for name, title in names.items())]
    explicit = figures["EGL by forming every gradient"].one_thread * figures["EGL of all pairs"].one_thread
    rows.append(["expected gradient length by forming the gradients", f"{explicit:.0f}"])
    memory = figures["peak memory while scoring"]
    text = f"Peak memory while scoring: {memory.ratio:.2f} of ({memory.floor})."
    return table(["", "times the product"], rows) + "\n\n" + text


def demo():
    kept = RESULTS / "demo.json"
    if DEMO_ROWS.exists():
        means = mean_curves(pl.read_parquet(DEMO_ROWS), "bag_accuracy").filter(pl.col("asked").is_in(SHOWN))
        kept.write_text(json.dumps(means.to_dicts(), indent=2) + "\n")
    at = {(row["strategy"], row["asked"]): row["mean"] for row in json.loads(kept.read_text())}
    names = ("widening_uncertainty · pair", "random · pair")
    rows = [[str(asked), *(f"{at[name, asked]:.3f}" for name in names)] for asked in SHOWN]
    return table(["answers", "default", "random"], rows)


def projects():
    found = json.loads((RESULTS / "projects.json").read_text())
    load, opening = found["import"], found["opening"]
    answered, synchronised = (
        1000 * opening[name] for name in ("seconds_of_answer_and_next_question", "seconds_of_fsync")
    )
    rows = [
        [
            f"import {load['instances']:,} instances ({load['gigabytes']:.1f} GB) from Parquet",
            f"{load['seconds']:.0f} s, {load['ratio']:.1f} times a plain copy; peak memory {load['peak_mb']:.0f} MB",
        ],
        [
            f"open a project of {opening['bags']:,} bags with {opening['answers']:,} answers",
            f"{opening['seconds_to_open']:.1f} s",
        ],
        [
            "save an answer, learn it, choose the next question there",
            f"{answered:.0f} ms (median; fsync of the disk {synchronised:.1f} ms)",
        ],
    ]
    return table(["", ""], rows)


def claims():
    found = json.loads((ROOT / "docs" / "reproduction" / "results.json").read_text())["claims"]
    shown = [one for one in found if one["main"]]
    names = [name for name in DATASETS if any(name in one["by_dataset"] for one in shown)]
    rows = [
        [
            f"{one['claim']}. {one['text']}",
            one["model"],
            *(one["by_dataset"].get(name, "") for name in names),
            one["verdict"],
        ]
        for one in shown
    ]
    return table(["claim of the paper", "setting", *names, "all"], rows)


def with_figures(text):
    makers = {"accuracy": accuracy, "bench": bench, "demo": demo, "projects": projects, "claims": claims}
    return with_tables(text, makers)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_figures(readme.read_text()))
