"""The report of a reproduction: one page, an appendix, figures and results, all computed from the rows."""

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import altair as alt
import polars as pl

from bagwise.core.wording import counted
from bagwise.research.experiments import curves, measures
from bagwise.research.experiments.statistics import EQUIVALENT, INCONCLUSIVE, INFERIOR, MARGIN, SUPERIOR, Difference
from bagwise.research.reproduction import claims, confounds
from bagwise.research.reproduction.claims import (
    BAG_THEN_CLASS,
    OTHERS,
    OURS,
    PRIMARY,
    RANDOM_BAGS,
    UNCERTAINTY,
    Finding,
    at_shared_epochs,
    differences_of,
    together,
)
from bagwise.research.reproduction.pages import (
    Block,
    Heading,
    Paragraph,
    Picture,
    Rows,
    save_pictures,
    write_markdown,
    write_page,
)
from bagwise.research.reproduction.plan import ANALYSES, FIGURES, MAIN, ONLINE_BAG, REFITS, Figure, Results

TITLE = "Active Learning in Incomplete Label MIML Learning, measured again"
APPENDIX = "The paper, reproduced: appendix"
IN_WORDS = "findings.md"
"""A page with the interpretation of the figures, written by hand; linked where it exists."""
SECONDARY = ("average_precision", "hamming_loss", "one_error")
ON_THE_PAGE = ((4, "E1"), (5, REFITS), (5, ONLINE_BAG), (9, "E3a"), (11, "E3b"))
SPOKEN = ("for", "against", "unclear")
PARTS = {"start": "at query 0", "early": "first tenth", "area": "throughout (area)", "final": "at the end"}
COLOURS = {SUPERIOR: "#12703d", EQUIVALENT: "#3566a8", INFERIOR: "#a3282f", INCONCLUSIVE: "#8a8f98"}


def write(results: Results, folder: Path) -> Path:
    """Write README.md, appendix.md, report.html, figures and results.json; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    findings = claims.judge(results.rows, results.growth)
    page, appendix = list(_page(results, findings)), list(_appendix(results, findings))
    if (folder / IN_WORDS).exists():
        page.insert(0, Paragraph(f"What it means, in words: [findings]({IN_WORDS})."))
    save_pictures(page + appendix, folder)
    write_markdown(TITLE, page, folder / "README.md")
    write_markdown(APPENDIX, appendix, folder / "appendix.md")
    write_page(TITLE, [*page, Heading("Appendix"), *appendix], folder / "report.html")
    (folder / "results.json").write_text(json.dumps(_as_json(results, findings), indent=1) + "\n", encoding="utf-8")
    return folder / "report.html"


def _page(results: Results, findings: Sequence[Finding]) -> Iterable[Block]:
    yield Paragraph(_what_was_run(results))
    yield Heading("Verdicts")
    yield _verdicts([one for one in findings if _is_main(one)])
    yield Paragraph(
        "A claim held where every comparison that it makes came out as it says, did not hold where one came out "
        f"otherwise (the other way, or equivalent within ±{MARGIN}), and is inconclusive where the runs cannot tell. "
        "In brackets: comparisons for, against, unclear. All evidence is in the [appendix](appendix.md); seeds, "
        "statistics and every departure from the paper are in the [design](design.md)."
    )
    selected = [name for name in MAIN if name in results.rows and ANALYSES[name].experiment == "E2"]
    if selected:
        yield Heading("Pairs against the other selections")
        yield Paragraph(
            "Difference in the area under the bag accuracy, of EGL pairs and of uncertainty pairs (claim 2). How many "
            "questions they need, and what else than the selection it could be, is in the appendix."
        )
        yield _outcomes({name: results.rows[name] for name in selected})
    yield from _systems(findings)
    forest = _forest(results)
    if forest:
        yield Heading("Differences in the area under the bag accuracy")
        yield forest
    yield Heading("Figures")
    for number, name in ON_THE_PAGE:
        yield from _pictures(number, name, results)


def _appendix(results: Results, findings: Sequence[Finding]) -> Iterable[Block]:
    yield Heading("Verdicts of all analyses")
    yield _verdicts(findings)
    yield from _evidence(findings)
    earlier = [one for one in findings if one.number == 3 and _is_main(one)]
    if earlier:
        yield Heading("Questions needed")
        yield Paragraph(
            "Questions to 95 % of the accuracy that a run ends at with every label known, of EGL pairs and of "
            "uncertainty pairs, over those of the other selection, with 95 % intervals; *much earlier* is an upper "
            f"limit below {claims.MUCH_EARLIER} (claim 3)."
        )
        yield _ratios(earlier)
    if REFITS in results.rows:
        yield Heading("What else it could be")
        yield Paragraph(
            "Uncertainty pairs against each other arm, at a few points inside the run: as learned, and after a fit "
            "from scratch to the same labels, which sees every label equally often."
        )
        yield _steps(results)
    yield Heading("Figures 3 to 12")
    yield Paragraph("Mean over the runs; bands are 95 % intervals of that mean, corrected for runs that share bags.")
    for name in (one for one in MAIN if one in results.rows):
        for figure in FIGURES:
            if figure.experiment == ANALYSES[name].experiment:
                yield from _pictures(figure.number, name, results)
    yield Heading("All metrics")
    for name in (one for one in MAIN if one in results.rows and ANALYSES[one].experiment == "E2"):
        yield Heading(ANALYSES[name].title, 3)
        yield _areas(results.rows[name])
        yield _differences(
            [one for metric in (PRIMARY, *SECONDARY) for one in _selection(results.rows[name], metric)],
            f"Paired differences in area, {ANALYSES[name].title}",
        )
    yield from _confounds(results)
    yield from _likelihoods(results)
    yield from _full_data(results)
    yield from _choices(results)
    yield Heading("Checksums of the rows")
    yield Rows(["analysis", "rows", "SHA-256 as CSV"], [list(line) for line in _checksums(results)])


def _is_main(finding: Finding) -> bool:
    titles = [ANALYSES[name].title for name in MAIN]
    return finding.number > 3 or finding.setting in titles


def _what_was_run(results: Results) -> str:
    size = results.size
    names = next(iter(results.rows.values()))["dataset"].unique(maintain_order=True).to_list()
    stand_in = " (birds stands in for HJA, whose file does not exist)" if "birds" in names else ""
    few = " Too few runs to conclude from: this is the quick version." if size.runs < 10 else ""
    return (
        f"Data sets: {', '.join(names)}{stand_in}. {counted(size.runs, 'run')} of every arm: "
        f"{counted(len(size.seeds), 'seed')}, {size.of_folds} of {size.folds} folds; sensitivity analyses "
        f"{counted(len(size.sensitivity_seeds), 'seed')}. The paper's "
        "model, without a background class; prior 1, not tuned; 5 % of the training bags labelled at the start; "
        f"letters to exhaustion of the pool, bird song to 3,000 pair queries.{few} Bagwise {version('bagwise')}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}; written by `bagwise reproduce`."
    )


def _verdicts(findings: Sequence[Finding]) -> Rows:
    names = list(dict.fromkeys(name for one in findings for name in one.datasets if name != "drawn pools"))

    def cell(finding: Finding, name: str) -> str:
        if name not in finding.datasets:
            return ""
        counts = " / ".join(str(finding.count(speaks, name)) for speaks in SPOKEN)
        return f"{finding.verdict(name)} ({counts})"

    lines = [
        [
            f"{one.number}. {claims.TEXTS[one.number]}",
            one.setting,
            *(cell(one, name) for name in names),
            one.verdict(),
        ]
        for one in findings
    ]
    return Rows(["claim", "setting", *names, "all"], lines)


def _evidence(findings: Sequence[Finding]) -> Iterable[Block]:
    yield Heading("Evidence")
    for one in findings:
        rows = [[piece.dataset, piece.text, piece.speaks] for piece in one.evidence]
        yield Rows(
            ["data set", f"measure: {claims.RULES[one.number]}", "speaks"],
            rows,
            f"Claim {one.number}, {one.setting}: {one.verdict()}, {len(rows)} measurements",
        )


def _rows_of(name: str, results: Results) -> pl.DataFrame:
    """The rows of an analysis with those of our model that it is compared with."""
    rows = results.rows[name]
    if name == "E3a" and REFITS in results.rows:
        return together(results.rows[REFITS].filter(pl.col("strategy") == BAG_THEN_CLASS), rows)
    return at_shared_epochs(rows) if "epochs" in rows.columns else rows


def _pictures(number: int, name: str, results: Results) -> Iterable[Picture]:
    figure: Figure = next(one for one in FIGURES if one.number == number)
    if name in results.rows:
        title = f"Figure {number}: {measures.title(figure.metric)}, {ANALYSES[name].title}"
        chart = curves.panels(_rows_of(name, results), figure.metric, title, figure.x_title, hover=False)
        yield Picture(chart, f"figure-{number}-{figure.metric}-{name}", f"{title}, against {figure.x_title}.")


def _selection(rows: pl.DataFrame, metric: str) -> list[Difference]:
    return differences_of(rows, metric, [(ours, other) for ours in OURS for other in (*OTHERS, RANDOM_BAGS)])


def _forest(results: Results) -> Picture | None:
    found = [
        (ANALYSES[name].title, one)
        for name in (REFITS, ONLINE_BAG)
        if name in results.rows
        for one in _selection(results.rows[name], PRIMARY)
    ]
    for finding in claims.judge({name: rows for name, rows in results.rows.items() if name != ONLINE_BAG}):
        if finding.number in (4, 5):
            title = f"claim {finding.number}"
            found += [(title, one.difference) for one in finding.evidence if one.difference is not None]
    if not found:
        return None
    points = pl.DataFrame(
        {
            "setting": setting,
            "comparison": _comparison(one),
            "data set": one.dataset,
            "mean": one.mean,
            "low": max(one.low, -1.0),
            "high": min(one.high, 1.0),
            "outcome": one.outcome,
        }
        for setting, one in found
    )
    charts = []
    for setting in points["setting"].unique(maintain_order=True):
        here = points.filter(pl.col("setting") == setting)
        panels = here.partition_by("data set", maintain_order=True)
        row = [
            # A panel whose lines are those of the panel before it needs no names.
            _forest_panel(panel, f"{setting}: {panel['data set'][0]}", labelled=not _same_lines(before, panel))
            for before, panel in pairwise([None, *panels])
            if panel is not None
        ]
        charts.append(alt.hconcat(*row))
    caption = (
        f"Mean paired differences with 95 % intervals; the grey band is ±{MARGIN}. Right of zero our selection, or our "
        "model, is better."
    )
    return Picture(alt.vconcat(*charts), "forest", caption)


def _comparison(one: Difference) -> str:
    if one.first in OURS:
        return f"{one.first} against {one.second}".replace("expected_gradient_length", "EGL")
    return f"against {one.second}, {PARTS[one.part]}"


def _same_lines(before: pl.DataFrame | None, panel: pl.DataFrame) -> bool:
    return before is not None and before["comparison"].to_list() == panel["comparison"].to_list()


def _forest_panel(points: pl.DataFrame, title: str, labelled: bool) -> alt.LayerChart:
    order = points["comparison"].unique(maintain_order=True).to_list()
    axis = alt.Axis(labelLimit=400) if labelled else alt.Axis(labels=False, ticks=False)
    base = alt.Chart(points, title=title).encode(y=alt.Y("comparison:N", sort=order, title=None, axis=axis))
    colour = alt.Color("outcome:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), title=None)
    band = alt.Chart(pl.DataFrame({"low": [-MARGIN], "high": [MARGIN]})).mark_rect(color="#e6eaee")
    zero = alt.Chart(pl.DataFrame({"at": [0.0]})).mark_rule(color="#5b6b7b").encode(x="at:Q")
    limits = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="difference"), x2="high:Q", color=colour)
    means = base.mark_point(filled=True, size=60, opacity=1).encode(x="mean:Q", color=colour)
    layers = [band.encode(x="low:Q", x2="high:Q"), zero, limits, means]
    return alt.LayerChart(layer=layers).properties(width=220)


def _outcomes(analyses: dict[str, pl.DataFrame]) -> Rows:
    """A line for each setting and selection that pairs are compared with: the differences on every data set."""
    lines, names = [], list[str]()
    for name, rows in analyses.items():
        found = {(one.second, one.dataset, one.first): one for one in _selection(rows, PRIMARY)}
        names = rows["dataset"].unique(maintain_order=True).to_list()
        for other in (*OTHERS, RANDOM_BAGS):
            cells = ["; ".join(_short(found[other, dataset, ours]) for ours in OURS) for dataset in names]
            lines.append([ANALYSES[name].title, other, *cells])
    return Rows(["setting", "against", *names], lines)


def _short(one: Difference) -> str:
    return f"{one.mean:+.3f} {one.outcome}"


def _ratios(findings: Sequence[Finding]) -> Rows:
    """A line for each setting and selection: the ratios of questions on every data set."""
    names = list(dict.fromkeys(name for one in findings for name in one.datasets))
    lines = []
    for finding in findings:
        ratios = {(piece.dataset, one.first, one.second): one for piece in finding.evidence if (one := piece.earlier)}
        for other in OTHERS:
            told = [[ratios[name, ours, other].ratio for ours in OURS] for name in names]
            cells = ["; ".join(f"{one.mean:.2f} ({one.low:.2f} to {one.high:.2f})" for one in some) for some in told]
            lines.append([finding.setting, other, *cells])
    return Rows(["setting", "against", *names], lines)


def _systems(findings: Sequence[Finding]) -> Iterable[Block]:
    """The comparisons with the other systems, a line for each preset and moment."""
    judged = [one for one in findings if one.number in (4, 5)]
    if judged:
        yield Heading("Our model against the other systems")
        names = list(dict.fromkeys(name for one in judged for name in one.datasets))
        lines = []
        for finding in judged:
            found = [one.difference for one in finding.evidence if one.difference is not None]
            for part in dict.fromkeys(one.part for one in found):
                of = {one.dataset: one for one in found if one.part == part}
                told = [
                    f"{_short(of[name])} ({of[name].low:+.3f} to {of[name].high:+.3f})" if name in of else ""
                    for name in names
                ]
                lines.append([f"{finding.number}", finding.setting, PARTS[part], *told])
        yield Rows(["claim", "setting", "when", *names], lines)


def _areas(rows: pl.DataFrame) -> Rows:
    metrics = [one for one in (PRIMARY, *SECONDARY) if one in rows.columns]
    return _means(rows, metrics, "area")


def _means(rows: pl.DataFrame, metrics: Sequence[str], first: str) -> Rows:
    """A line for each strategy: the mean over the rows of each metric on each data set."""
    names = rows["dataset"].unique(maintain_order=True).to_list()
    means = rows.group_by("strategy", "dataset", maintain_order=True).agg(pl.col(metrics).mean())
    at = {(one["strategy"], one["dataset"]): one for one in means.to_dicts()}
    lines = [
        [strategy, *(f"{at[strategy, name][metric]:.3f}" for metric in metrics for name in names)]
        for strategy in rows["strategy"].unique(maintain_order=True)
    ]
    return Rows([first, *(f"{measures.title(m)}, {n}" for m in metrics for n in names)], lines)


def _cells(one: Difference) -> list[str]:
    return [f"{one.mean:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", one.outcome]


def _differences(found: Sequence[Difference], summary: str = "") -> Rows:
    lines = [
        [
            *(one.dataset, one.first, one.second, measures.title(one.metric)),
            *_cells(one),
            *(f"{one.p:.4f}", f"{one.p_holm:.4f}", one.unit),
        ]
        for one in found
    ]
    columns = ["data set", "first", "second", "metric", "difference", "95 % interval", "first is"]
    return Rows([*columns, "p", "p (Holm)", "unit"], lines, summary)


def _steps(results: Results) -> Rows:
    lines = [
        [ANALYSES[name].title, learned.dataset, learned.second, *_cells(learned), *_cells(scratch)]
        for name in (REFITS, ONLINE_BAG)
        if name in results.rows
        for learned, scratch in confounds.steps_per_label(results.rows[name])
    ]
    columns = ["setting", "data set", "uncertainty · pair against", "as learned", "95 % interval", "first is"]
    return Rows([*columns, "from scratch", "95 % interval", "first is"], lines)


def _confounds(results: Results) -> Iterable[Block]:
    yield Heading("Warm starts and budgets")
    for name in (one for one in MAIN if one in results.rows and ANALYSES[one].experiment == "E2"):
        title = ANALYSES[name].title
        yield _differences(
            confounds.warm_against_scratch(results.rows[name]),
            f"The arm's own model against a fit from scratch to the same labels, {title}",
        )
        pairs = [(UNCERTAINTY, other) for other in (*OTHERS, RANDOM_BAGS)]
        lines = [
            [one.dataset, one.second, f"{share:.0%}", *_cells(one)]
            for share, found in confounds.budgets(results.rows[name], pairs).items()
            for one in found
        ]
        columns = ["data set", "uncertainty · pair against", "of the questions", "difference", "95 % interval", "is"]
        yield Rows(
            columns, sorted(lines, key=lambda line: (line[0], line[1])), f"Area over a part of the questions, {title}"
        )


def _likelihoods(results: Results) -> Iterable[Block]:
    marginal, joint, em = (
        f"Bagwise, {kind}" for kind in ("marginal likelihood", "joint likelihood", "joint likelihood by EM")
    )
    partial = [results.rows[name] for name in ("likelihoods", "full-data") if name in results.rows]
    if partial:
        yield Heading("Joint against marginal likelihood")
        rows = together(*partial).with_columns(pl.lit(0).alias("asked"))
        for share in rows["known"].unique().sort():
            here = rows.filter(pl.col("known") == share)
            found = differences_of(here, PRIMARY, [(joint, marginal), (em, joint)])
            found += differences_of(here, "objective_value", [(em, joint)])
            yield Heading(f"{share:.0%} of the labels known", 3)
            yield _differences(found)
    if "E2-joint" in results.rows and REFITS in results.rows:
        exact = results.rows["E2-joint"].with_columns(pl.col("strategy") + ", joint")
        seeds = exact["seed"].unique().to_list()
        both = together(results.rows[REFITS].filter(pl.col("seed").is_in(seeds)), exact)
        arms = results.rows[REFITS]["strategy"].unique(maintain_order=True)
        yield Heading("Inside the active loop", 3)
        yield _differences(differences_of(both, PRIMARY, [(f"{arm}, joint", arm) for arm in arms]))
    if results.fit_times:
        lines = [
            [one.dataset, "with" if one.background else "without", f"{one.marginal:.2f} s", f"{one.joint:.2f} s"]
            for one in results.fit_times
        ]
        yield Heading("Time to fit all labels", 3)
        yield Rows(["data set", "background class", "marginal", "joint"], lines)


def _full_data(results: Results) -> Iterable[Block]:
    if "full-data" in results.rows:
        yield Heading("All labels known")
        yield _means(results.rows["full-data"], (PRIMARY, "average_precision", "hamming_loss"), "model")


def _choices(results: Results) -> Iterable[Block]:
    columns = ["analysis", "strategy", "dataset", "parameters"]
    chosen = pl.concat(
        rows.select(*columns, "fold", "seed").unique().with_columns(pl.lit(name).alias("analysis"))
        for name, rows in results.rows.items()
    )
    counts = chosen.group_by(columns).len().sort(pl.all()).rows()
    yield Heading("Constants, given and chosen")
    lines = [
        [*line[:3], ", ".join(f"{n} {v}" for n, v in json.loads(line[3]).items()), str(line[4])] for line in counts
    ]
    yield Rows(["analysis", "strategy", "data set", "parameters", "runs"], lines, f"{len(lines)} sets of constants")


def _checksums(results: Results) -> Iterable[tuple[str, str, str]]:
    for name, rows in results.rows.items():
        yield name, str(rows.height), hashlib.sha256(rows.write_csv().encode()).hexdigest()


def _as_json(results: Results, findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "size": asdict(results.size),
        "claims": [
            {
                "model": one.setting,
                "claim": one.number,
                "text": claims.TEXTS[one.number],
                "main": _is_main(one),
                "verdict": one.verdict(),
                "by_dataset": {name: one.verdict(name) for name in one.datasets},
                "evidence": [
                    {"dataset": piece.dataset, "text": piece.text, "speaks": piece.speaks} for piece in one.evidence
                ],
            }
            for one in findings
        ],
        "growth": [{**asdict(one), "slope": one.slope} for one in results.growth],
        "fit_times": [asdict(one) for one in results.fit_times],
        "checksums": {name: digest for name, _, digest in _checksums(results)},
    }
