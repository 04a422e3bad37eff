"""The report of the efficiency suite, Markdown with figures; it writes docs/label-efficiency.md."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from bagwise import datasets
from bagwise.research.experiments import curves, efficiency, statistics
from bagwise.research.experiments.efficiency import NO_SEARCH, OURS, PAPER, PAPERS_SETS, RANDOM
from bagwise.research.experiments.simulation import AFTER_DISCOVERY

LEVEL = 0.95
GOALS = {"hja": 1 / 3, "carroll": 1 / 2, "frost": 1 / 2}
LEAST_GAIN = 0.10
FOUND_WITHIN = 80
METRIC = "bag_accuracy"
SEARCHED = ("scarce", "rare", "hja_full", "birds")
RARE_BELOW = 0.1


def write(rows: pl.DataFrame, ceilings: pl.DataFrame, folder: Path, size: efficiency.Size) -> Path:
    """Write the page and its figures; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    searching = rows.filter(pl.col("seed") == efficiency.SEARCH_SEED)
    rows = rows.filter(pl.col("seed") == efficiency.SEED)
    labelled = rows.filter(pl.col("initial") > 0)
    nothing = rows.filter(pl.col("initial") == 0)
    levels = dict(ceilings.group_by("dataset", maintain_order=True).agg(pl.col(METRIC).mean()).iter_rows())
    page = folder / "label-efficiency.md"
    sections = [
        _head(size),
        _to_the_level(labelled, levels),
        _against_the_paper(labelled, size),
        _against_random(labelled, size),
        _from_nothing(nothing),
        _rare(labelled),
        _search(searching),
    ]
    page.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    shown = rows.filter(pl.col("strategy").is_in([OURS, RANDOM, *PAPER]))
    for start, selected in (("labelled", shown.filter(pl.col("initial") > 0)), ("nothing", nothing)):
        sets = selected.filter(pl.col("dataset").is_in(PAPERS_SETS) | (pl.col("dataset") == "digits"))
        chart = curves.panels(sets, METRIC, f"start: {start}", "questions answered", hover=False)
        curves.save_figure(chart, folder / "images" / f"label-efficiency-{start}", page=False, scale=1)
    return page


def _head(size: efficiency.Size) -> str:
    return f"""# Label efficiency

Written by `bagwise compare --suite efficiency`. {size.fold_count} folds of {size.folds}, with a seed that no pilot used
({efficiency.SEED}); every arm on the same folds from the same start. *Bagwise* is the default of `ActiveLearner` and of
projects: background class, prior 1, `widening_uncertainty` with 10 % audit questions, `update="replay"`, and from
nothing a cold start of class discovery, bag completion and active search (*without scouting*: none; *without search*:
without the last). *Random pairs* has the same model and update. *The paper's system* has no background class, penalty
1e-4, `bag_sgd` and EGL or uncertainty. Area: mean bag accuracy over the questions; intervals: 95 %, paired by fold,
corrected for folds that share training bags. All answers here are yes or no; what is gained where a yes says which
instance it is stands in [what pointing is worth](pointing.md).

![Learning curves from a twentieth of the bags labelled](images/label-efficiency-labelled.png)"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _to_the_level(rows: pl.DataFrame, levels: dict[str, float]) -> str:
    found = []
    for name, goal in GOALS.items():
        here = rows.filter((pl.col("dataset") == name) & pl.col("strategy").is_in([OURS, RANDOM]))
        if here.is_empty():
            continue
        level = LEVEL * levels[name]
        needed = statistics.queries_to(here, METRIC, level)
        ours, random = needed[OURS], needed[RANDOM]
        most = int(here["asked"].max())  # type: ignore[arg-type]
        share = "" if ours is None else f"{ours / (random or most):.2f}" + ("" if random else " or less")
        met = ours is not None and ours <= goal * (random or most)
        cells = [_count(ours, most), _count(random, most), share, f"{goal:.2f}", "yes" if met else "no"]
        found.append([name, f"{levels[name]:.3f}", f"{level:.3f}", *cells])
    head = ["data set", "all labels", "95 % of it", "Bagwise", "random pairs", "share", "goal", "met"]
    text = "Where the mean curve first reaches it."
    return f"## Questions to 95 % of what all labels give\n\n{text}\n\n{table(head, found)}"


def _count(asked: int | None, most: int) -> str:
    return f"not in {most}" if asked is None else str(asked)


def _against_the_paper(rows: pl.DataFrame, size: efficiency.Size) -> str:
    here = rows.filter(pl.col("dataset").is_in(PAPERS_SETS) & (pl.col("asked") <= size.of_the_paper))
    here = here.filter(pl.col("strategy").is_in([OURS, *PAPER]))
    lines = [
        [one.dataset, one.second, *_difference(one), "yes" if one.mean >= LEAST_GAIN else "no"]
        for one in statistics.compare_pairs(here, METRIC, [(OURS, arm) for arm in PAPER])
    ]
    head = ["data set", "against", "area gained", "95 % interval", "at least 0.10"]
    return f"## Against the paper's own system\n\nFirst {size.of_the_paper} questions.\n\n{table(head, lines)}"


def _difference(one: statistics.Difference) -> list[str]:
    return [f"{one.mean:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}"]


def _against_random(rows: pl.DataFrame, size: efficiency.Size) -> str:
    here = rows.filter((pl.col("asked") <= size.of_others) & ~pl.col("strategy").is_in(PAPER))
    values = statistics.run_values(here, METRIC)
    means = dict(
        values.filter(pl.col("strategy") == RANDOM).group_by("dataset").agg(pl.col("value").mean()).iter_rows()
    )
    found = statistics.differences(here, METRIC, RANDOM)
    arms = list(dict.fromkeys(one.first for one in found))
    lines = [
        [
            name,
            f"{means[name]:.3f}",
            *(_short(next(o for o in found if (o.dataset, o.first) == (name, a))) for a in arms),
        ]
        for name in means
    ]
    below = [one.dataset for one in found if one.first == OURS and one.mean < 0]
    verdict = f"Below random on average: {', '.join(below)}." if below else "Bagwise is on no data set below random."
    text = f"Area over the first {size.of_others} questions: random pairs, and what every arm gains (half interval)."
    return f"## Against random questions, and what each part does\n\n{text} {verdict}\n\n" + table(
        ["data set", "random pairs", *arms], lines
    )


def _short(one: statistics.Difference) -> str:
    return f"{one.mean:+.3f} ± {(one.high - one.low) / 2:.3f}"


def _from_nothing(rows: pl.DataFrame) -> str:
    last = rows.filter(pl.col("asked") == pl.col("asked").max().over("dataset", "strategy"))
    most = int(rows["asked"].max())  # type: ignore[arg-type]
    areas = statistics.run_values(rows, METRIC).group_by("dataset", "strategy").agg(pl.col("value").mean())
    area = {(name, arm): value for name, arm, value in areas.iter_rows()}
    arms = rows["strategy"].unique(maintain_order=True).to_list()
    gained = {one.dataset: one for one in statistics.differences(rows, METRIC, RANDOM) if one.first == OURS}
    lines = []
    for name in rows["dataset"].unique(maintain_order=True):
        after = [_median(last.filter((pl.col("dataset") == name) & (pl.col("strategy") == arm)), most) for arm in arms]
        lines.append([name, *after, *(f"{area[name, arm]:.3f}" for arm in arms), _short(gained[name])])
    head = ["data set", *(f"found: {arm}" for arm in arms), *(f"area: {arm}" for arm in arms), "gained on random"]
    below = [name for name, one in gained.items() if one.mean < 0]
    verdict = f"Below random on average: {', '.join(below)}." if below else "Bagwise is on no data set below random."
    text = (
        f"No label at the start, {most} questions. *Found*: answers until every class that a training bag has was "
        f"answered yes once, median over folds (goal for hja: {FOUND_WITHIN}). The paper starts from fully labelled "
        "bags: a twentieth of them is "
        + ", ".join(f"{count} labels on {name}" for name, count in _labels_at_start(rows).items())
        + f". {verdict}"
    )
    figure = "![Learning curves from nothing](images/label-efficiency-nothing.png)"
    return f"## From nothing\n\n{text}\n\n{table(head, lines)}\n\n{figure}"


def _labels_at_start(rows: pl.DataFrame) -> dict[str, int]:
    found = {}
    for name in rows["dataset"].unique(maintain_order=True):
        if name in PAPERS_SETS:
            data = datasets.load(name, efficiency.SEED)
            found[name] = round(0.05 * 0.9 * len(data.bags)) * len(data.classes)
    return found


def _median(last: pl.DataFrame, most: int) -> str:
    middle = last["all_found_after"].fill_null(most + 1).median()
    return f"> {most}" if middle is None or float(middle) > most else f"{float(middle):.0f}"  # type: ignore[arg-type]


def _rare(rows: pl.DataFrame) -> str:
    here = rows.filter((pl.col("dataset") == "rare") & pl.col("strategy").is_in([OURS, RANDOM, "uncertainty"]))
    if here.is_empty():
        return ""
    last = here.filter(pl.col("asked") == pl.col("asked").max())
    lines = []
    for arm in (OURS, RANDOM, "uncertainty"):
        recalls = pl.DataFrame(last.filter(pl.col("strategy") == arm)["recall"].to_list(), orient="row")
        lines.append([arm, *(f"{value:.2f}" if value is not None else "" for value in recalls.mean().row(0))])
    shares = [f"{share:.0%}" for share in _prevalence("rare", efficiency.SEED)]
    head = ["recall after the last question", *shares]
    text = "The made set `rare`, class by class, by the share of bags that have it."
    return f"## Rare classes\n\n{text}\n\n{table(head, lines)}"


def _prevalence(name: str, seed: int) -> list[float]:
    return [float(share) for share in datasets.load(name, seed).labels.value.mean(axis=0)]


def _search(rows: pl.DataFrame) -> str:
    """What the active search finds, and that it costs no accuracy."""
    here = rows.filter(pl.col("strategy").is_in([OURS, NO_SEARCH]))
    last = here.filter(pl.col("asked") == pl.col("asked").max())
    most = int(last["asked"].max())  # type: ignore[arg-type]
    text = (
        f"From nothing, with and without the active search of the cold start, on other folds (seed "
        f"{efficiency.SEARCH_SEED}): where positives are rare, some questions "
        f"are about the likeliest bag of a class that was found. *Yes among {AFTER_DISCOVERY}*: answers *yes* to the "
        f"{AFTER_DISCOVERY} questions that follow the first yes of the last class that class discovery found. *Recall "
        f"of rare classes*: after {most} answers, mean over the classes in less than {100 * RARE_BELOW:.0f} % "
        "of the bags, of those held-out bags that have them."
    )
    found = []
    for name in [name for name in SEARCHED if name in here["dataset"]]:
        per_arm = [last.filter((pl.col("dataset") == name) & (pl.col("strategy") == arm)) for arm in (NO_SEARCH, OURS)]
        prevalence = _prevalence(name, efficiency.SEARCH_SEED)
        yes = [f"{_mean(one['yes_after_discovery']):.1f}" for one in per_arm]
        recall = [_recall_of_rare(one, prevalence) for one in per_arm]
        found.append([name, f"{100 * sum(prevalence) / len(prevalence):.1f} %", *yes, *recall])
    yes_head = f"yes among {AFTER_DISCOVERY}"
    head = ["data set", "pairs present", f"{yes_head}: without", f"{yes_head}: with search"]
    finds = table([*head, "recall of rare classes: without", "recall of rare classes: with search"], found)
    by_class = "\n\n".join(_recall_by_class(last, name) for name in SEARCHED if name in here["dataset"])
    return f"## Where positives are rare\n\n{text}\n\n{finds}\n\n{_accuracy_kept(here)}\n\n{by_class}"


def _mean(values: pl.Series) -> float:
    return float(values.mean())  # type: ignore[arg-type]


def _recalls(rows: pl.DataFrame) -> list[float | None]:
    """Return the mean recall of every class over the runs in which a held-out bag has it."""
    return list(pl.DataFrame(rows["recall"].to_list(), orient="row").mean().row(0))


def _recall_of_rare(rows: pl.DataFrame, prevalence: list[float]) -> str:
    of_rare = [
        recall
        for recall, share in zip(_recalls(rows), prevalence, strict=True)
        if share < RARE_BELOW and recall is not None
    ]
    return f"{sum(of_rare) / len(of_rare):.2f}" if of_rare else ""


def _recall_by_class(last: pl.DataFrame, name: str) -> str:
    here, prevalence = last.filter(pl.col("dataset") == name), _prevalence(name, efficiency.SEARCH_SEED)
    rare = sorted((place for place, share in enumerate(prevalence) if share < RARE_BELOW), key=lambda c: prevalence[c])
    lines = []
    for arm in (NO_SEARCH, OURS):
        recalls = _recalls(here.filter(pl.col("strategy") == arm))
        cells = [recalls[place] for place in rare]
        lines.append([arm, *("" if one is None else f"{one:.2f}" for one in cells)])
    return table([f"recall on {name}", *(f"{100 * prevalence[place]:.1f} %" for place in rare)], lines)


def _accuracy_kept(here: pl.DataFrame) -> str:
    """Return the bag accuracy with and without search after some numbers of answers."""
    most = int(here["asked"].max())  # type: ignore[arg-type]
    points = [most // 4, most // 2, most]
    lines = []
    final = {one.dataset: one for one in statistics.compare_pairs(here, METRIC, [(OURS, NO_SEARCH)], "final")}
    area = {one.dataset: one for one in statistics.compare_pairs(here, METRIC, [(OURS, NO_SEARCH)])}
    for name in here["dataset"].unique(maintain_order=True):
        means = [
            here.filter((pl.col("dataset") == name) & (pl.col("strategy") == arm) & (pl.col("asked") == point))
            for point in points
            for arm in (NO_SEARCH, OURS)
        ]
        cells = [f"{_mean(one[METRIC]):.3f}" for one in means]
        pairs = [f"{without} → {searching}" for without, searching in zip(cells[::2], cells[1::2], strict=True)]
        lines.append([name, *pairs, _short(final[name]), _short(area[name])])
    head = [
        "bag accuracy, without → with search",
        *(f"{point} answers" for point in points),
        f"gained at {most}",
        "gained in area",
    ]
    return table(head, lines)
