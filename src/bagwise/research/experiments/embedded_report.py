"""The report of the embedded suite, Markdown; its table is in docs/embeddings.md."""

from pathlib import Path

import polars as pl

from bagwise.research.experiments import embedded, statistics
from bagwise.research.experiments.efficiency import OURS, RANDOM
from bagwise.research.experiments.efficiency_report import table
from bagwise.research.experiments.measures import title

METRICS = ("bag_accuracy", "class_average_precision", "roc_auc")
LEAST_GAIN = 0.08


def write(rows: pl.DataFrame, ceilings: pl.DataFrame, folder: Path, size: embedded.Size) -> Path:
    """Write the page; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "embedded.md"
    sections = [_head(size), *(_of_metric(rows, ceilings, metric) for metric in METRICS)]
    page.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    return page


def _head(size: embedded.Size) -> str:
    return f"""# Embeddings of trained models

Written by `bagwise compare --suite embedded`. {size.fold_count} folds of {size.folds}, with a seed that no pilot used
({embedded.SEED}); no label at the start, {size.questions} questions. Area: mean over the questions; intervals: 95 %,
paired by fold, corrected for folds that share training bags."""


def _of_metric(rows: pl.DataFrame, ceilings: pl.DataFrame, metric: str) -> str:
    areas = statistics.run_values(rows, metric).group_by("dataset", "strategy").agg(pl.col("value").mean())
    finals = statistics.run_values(rows, metric, "final").group_by("dataset", "strategy").agg(pl.col("value").mean())
    area, final = ({(name, arm): value for name, arm, value in means.iter_rows()} for means in (areas, finals))
    levels = dict(ceilings.group_by("dataset").agg(pl.col(metric).mean()).iter_rows())
    lines = [
        [
            one.dataset,
            *(f"{area[one.dataset, arm]:.3f}" for arm in (OURS, RANDOM)),
            f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})",
            "yes" if one.mean >= LEAST_GAIN else "no",
            *(f"{final[one.dataset, arm]:.3f}" for arm in (OURS, RANDOM)),
            f"{levels[one.dataset]:.3f}",
        ]
        for one in statistics.differences(rows, metric, RANDOM)
    ]
    head = ["data set", "area: Bagwise", "area: random", "gained", f"at least {LEAST_GAIN:.2f}"]
    head += ["last: Bagwise", "last: random", "all labels"]
    name = title(metric)
    return f"## {name[0].upper()}{name[1:]}\n\n{table(head, lines)}"
