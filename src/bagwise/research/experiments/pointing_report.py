"""The report of the pointing suite, Markdown with figures; it writes docs/pointing.md."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bagwise.research.experiments import curves, pointing, statistics
from bagwise.research.experiments.efficiency import SEED
from bagwise.research.experiments.efficiency_report import LEVEL, METRIC, table
from bagwise.research.experiments.pointing import ARMS, CLICK, KEY, PLAIN

GOALS = {"hja": 400, "carroll": 700, "frost": 400}
LEAST_GAIN = 0.08
SECONDS, SECONDS_OF_CLICK = 4.0, 1.0
FROM_NOTHING = {"hja": (0.60, 200)}


def write(rows: pl.DataFrame, ceilings: pl.DataFrame, folder: Path, size: pointing.Size) -> Path:
    """Write the page and its figure; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    labelled = rows.filter(pl.col("initial") > 0)
    exact, nothing = labelled.filter(pl.col("strategy").is_in(ARMS)), rows.filter(pl.col("initial") == 0)
    levels = dict(ceilings.group_by("dataset", maintain_order=True).agg(pl.col(METRIC).mean()).iter_rows())
    page = folder / "pointing.md"
    sections = [
        _head(size),
        _areas(exact, size.questions, "Area over the first questions, a twentieth of the bags labelled"),
        _to_the_level(exact, levels),
        _areas(nothing, size.from_nothing, "From nothing") + "\n\n" + _goal_from_nothing(nothing),
        _wrong(labelled, size.questions),
        _seconds(exact, size.questions),
    ]
    page.write_text("\n\n".join(section for section in sections if section) + "\n", encoding="utf-8")
    shown = exact.filter(pl.col("dataset").is_in(["hja", "carroll", "frost", "digits"]))
    chart = curves.panels(shown, METRIC, "a twentieth of the bags labelled", "questions answered", hover=False)
    curves.save_figure(chart, folder / "images" / "pointing", page=False, scale=1)
    return page


def _head(size: pointing.Size) -> str:
    return f"""# What pointing is worth

Written by `bagwise compare --suite pointing`. {size.fold_count} folds of {size.folds}, with a seed that no pilot used
({SEED}); every arm on the same folds from the same start, with the defaults of Bagwise. *{PLAIN.capitalize()}*: an
answer is about the bag. *{KEY.capitalize()}*: a yes says whether the marked instance is of the class (*yes, the
marked one* or *yes, elsewhere*). *{CLICK.capitalize()}*: a yes names one instance of the class, with a click where that
is not the marked one. Area: mean bag accuracy over the questions; intervals: 95 %, paired by fold, corrected
for folds that share training bags.

![Learning curves with and without pointing](images/pointing.png)"""


def _areas(rows: pl.DataFrame, questions: int, title: str) -> str:
    here = rows.filter(pl.col("asked") <= questions)
    areas = statistics.run_values(here, METRIC).group_by("dataset", "strategy").agg(pl.col("value").mean())
    area = {(name, arm): value for name, arm, value in areas.iter_rows()}
    gained = {(one.dataset, one.first): one for one in statistics.differences(here, METRIC, PLAIN)}
    lines = [
        [
            name,
            f"{area[name, PLAIN]:.3f}",
            *(_gain(gained[name, arm]) for arm in (KEY, CLICK)),
            "yes" if gained[name, CLICK].mean >= LEAST_GAIN else "no",
        ]
        for name in here["dataset"].unique(maintain_order=True)
    ]
    head = ["data set", PLAIN, f"{KEY}: gain", f"{CLICK}: gain", f"at least {LEAST_GAIN:.2f}"]
    return f"## {title}\n\n{questions} questions.\n\n{table(head, lines)}"


def _gain(one: statistics.Difference) -> str:
    return f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def _to_the_level(rows: pl.DataFrame, levels: dict[str, float]) -> str:
    lines = []
    for name in rows["dataset"].unique(maintain_order=True):
        here = rows.filter(pl.col("dataset") == name)
        most, needed = int(here["asked"].max()), statistics.queries_to(here, METRIC, LEVEL * levels[name])  # type: ignore[arg-type]
        goal = GOALS.get(name)
        met = "" if goal is None else "yes" if (needed[CLICK] or most + 1) <= goal else "no"
        cells = [_count(needed[arm], most) for arm in ARMS]
        lines.append([name, f"{LEVEL * levels[name]:.3f}", *cells, "" if goal is None else str(goal), met])
    head = ["data set", "95 % of all labels", *ARMS, "goal", "met"]
    text = "Questions until the mean curve first reaches 95 % of the bag accuracy that all labels give."
    return f"## Questions to 95 % of what all labels give\n\n{text}\n\n{table(head, lines)}"


def _count(asked: int | None, most: int) -> str:
    return f"not in {most}" if asked is None else str(asked)


def _goal_from_nothing(rows: pl.DataFrame) -> str:
    sentences = []
    for name, (level, questions) in FROM_NOTHING.items():
        here = rows.filter((pl.col("dataset") == name) & (pl.col("asked") == questions))
        means = dict(here.group_by("strategy", maintain_order=True).agg(pl.col(METRIC).mean()).iter_rows())
        if means:
            reached = ", ".join(f"{means[arm]:.3f} ({arm})" for arm in ARMS)
            sentences.append(f"Bag accuracy of {name} after {questions} answers: {reached}; the goal was {level:.2f}.")
    return " ".join(sentences)


def _wrong(rows: pl.DataFrame, questions: int) -> str:
    arms = [PLAIN, CLICK, *pointing.wrong_arms()]
    here = rows.filter(pl.col("dataset").is_in(pointing.WRONG_SETS) & (pl.col("asked") <= questions))
    if here.is_empty():
        return ""
    gained = {(one.dataset, one.first): one for one in statistics.differences(here, METRIC, PLAIN)}
    lines = [
        [name, *(_gain(gained[name, arm]) for arm in arms[1:])] for name in here["dataset"].unique(maintain_order=True)
    ]
    text = (
        f"Gain in area over *{PLAIN}*, {questions} questions. A wrong click is on another instance of the bag; it is "
        "taken as right, or with the rate at which it is wrong."
    )
    return f"## Pointing that is wrong\n\n{text}\n\n{table(['data set', *arms[1:]], lines)}"


def _seconds(rows: pl.DataFrame, questions: int) -> str:
    """Areas over the time that so many plain answers take: a click beyond the key costs a second."""
    time = SECONDS * pl.col("asked") + SECONDS_OF_CLICK * pl.col("clicks").fill_null(0)
    here = rows.with_columns(time.alias("seconds")).filter(pl.col("seconds") <= SECONDS * questions)
    lines = [
        [name, *_over_time(here.filter(pl.col("dataset") == name))]
        for name in here["dataset"].unique(maintain_order=True)
    ]
    text = (
        f"Mean bag accuracy over the time that {questions} answers without a click take, at {SECONDS:.0f} s an answer "
        f"and {SECONDS_OF_CLICK:.0f} s more for a click."
    )
    return f"## Per second instead of per question\n\n{text}\n\n{table(['data set', *ARMS], lines)}"


def _over_time(rows: pl.DataFrame) -> Sequence[str]:
    """The mean over equally spaced times of the last value before each."""
    end = float(rows["seconds"].max())  # type: ignore[arg-type]
    found = []
    for arm in ARMS:
        values = []
        for _, run in rows.filter(pl.col("strategy") == arm).group_by("seed", "fold"):
            grid = pl.DataFrame({"seconds": [end * step / 100 for step in range(101)]})
            joined = grid.join_asof(run.sort("seconds").select("seconds", METRIC), on="seconds")
            values.append(float(joined[METRIC].mean()))  # type: ignore[arg-type]
        found.append(f"{sum(values) / len(values):.3f}")
    return found
