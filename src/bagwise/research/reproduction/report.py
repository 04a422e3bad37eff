"""The report of a reproduction: verdicts, figures, and tables, all computed from the rows."""

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import polars as pl

from bagwise.research.experiments import curves, measures
from bagwise.research.experiments.statistics import Difference, queries_to
from bagwise.research.reproduction import claims
from bagwise.research.reproduction.claims import LEVELS, Finding
from bagwise.research.reproduction.pages import Block, Heading, Paragraph, Picture, Rows, write_markdown, write_page
from bagwise.research.reproduction.plan import FIGURES, FIXED, Figure, Results, Variant, paired_differences

TITLE = "Active Learning in Incomplete Label MIML Learning, measured again"
FULL_DATA_METRICS = ("bag_accuracy", "average_precision", "hamming_loss")


def write(results: Results, folder: Path) -> Path:
    """Write report.html, README.md, figures, results.json and checksums of the rows; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    findings = judged(results)
    sums = checksums(results)
    blocks = list(_blocks(results, findings, sums))
    page = folder / "report.html"
    write_page(TITLE, blocks, page)
    write_markdown(TITLE, blocks, folder / "README.md")
    (folder / "checksums.txt").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    (folder / "results.json").write_text(json.dumps(_as_json(results, findings), indent=1) + "\n")
    return page


def judged(results: Results) -> dict[Variant, list[Finding]]:
    """Return the findings about the claims that each model was run for."""
    return {
        variant: [
            one for one in claims.judge(rows, results.growth) if variant != FIXED or one.number in claims.OF_SELECTION
        ]
        for variant, rows in results.rows.items()
    }


def checksums(results: Results) -> dict[str, str]:
    """Return the SHA-256 of the rows of every experiment as CSV, to compare runs."""
    return {
        f"{experiment}, {variant.title}": hashlib.sha256(rows.write_csv().encode()).hexdigest()
        for variant, by_experiment in results.rows.items()
        for experiment, rows in by_experiment.items()
    }


def _blocks(results: Results, findings: dict[Variant, list[Finding]], sums: dict[str, str]) -> Iterable[Block]:
    yield Paragraph(_what_was_run(results))
    yield Heading("Verdicts")
    yield _verdicts(findings)
    yield Paragraph(
        "A claim held when everything measured speaks for it, partly when at least as much speaks for it as against "
        "it, and did not hold when more speaks against it; undecided when all is unclear. Unclear means too small a "
        "difference to tell on these folds: the bootstrap interval of the paired difference includes 0, or the "
        "Holm-corrected p (Student's test with Nadeau and Bengio's correction for folds that share training bags) is "
        "0.05 or more."
    )
    yield from _evidence(findings)
    yield Heading("Figures")
    yield Paragraph("Mean over the folds; bands are 95 % intervals of that mean. In the page, hover for values.")
    for figure in FIGURES:
        yield from _pictures(figure, results)
    yield from _tables(results)
    yield from _full_data(results)
    yield from _likelihood_times(results)
    yield from _choices(results)
    yield Heading("Checksums of the rows")
    yield Paragraph(
        "SHA-256 of the rows as CSV. The same command with the same versions of Bagwise, NumPy and scikit-learn gives "
        "the same rows bit for bit for our own learner; the compared systems use linear algebra of the processor."
    )
    yield Rows(["rows", "SHA-256"], [[name, digest] for name, digest in sums.items()])


def _what_was_run(results: Results) -> str:
    size, rows = results.size, next(iter(results.rows.values()))
    names = next(iter(rows.values()))["dataset"].unique(maintain_order=True).to_list()
    stand_in = (
        " (birds stands in for HJA, whose file does not exist)" if "birds" in names and "hja" not in names else ""
    )
    folds = f"{size.of_folds} of {size.folds} folds" if size.of_folds < size.folds else f"{size.folds} folds"
    few = " Too few folds to conclude from: this is the quick version." if size.of_folds < 5 else ""
    return (
        f"Data sets: {', '.join(names)}{stand_in}; {folds}; {size.epochs} epochs; {size.pair_queries} pair queries; "
        f"{size.bag_queries} bag queries; 5 % of the training bags labelled at the start; models: "
        f"{' and '.join(variant.title for variant in results.rows)}. Refits by warm L-BFGS after every answer. "
        "Penalties and the compared systems' parameters are chosen among four candidates each, by cross validation "
        "inside the bags labelled at the start; step sizes by the likelihood of the training fold: the tuning looks at "
        f"no test fold.{few} Bagwise {version('bagwise')}, Python {platform.python_version()}, "
        f"NumPy {version('numpy')}."
    )


def _verdicts(findings: dict[Variant, list[Finding]]) -> Rows:
    numbers = sorted({one.number for found in findings.values() for one in found})
    columns = [
        "claim",
        *(title for variant in findings for title in (variant.title, "for / against / unclear")),
    ]
    rows = []
    for number in numbers:
        cells = [f"{number}. {claims.TEXTS[number]}"]
        for found in findings.values():
            one = next((one for one in found if one.number == number), None)
            if one is None:
                cells += ["", ""]
            else:
                cells += [one.verdict, " / ".join(str(one.count(speaks)) for speaks in ("for", "against", "unclear"))]
        rows.append(cells)
    return Rows(columns, rows)


def _evidence(findings: dict[Variant, list[Finding]]) -> Iterable[Block]:
    for variant, found in findings.items():
        yield Heading(f"Evidence: {variant.title}", 3)
        for one in found:
            closest = "" if one.verdict == "held" else f" It comes closest on {one.closest}."
            yield Paragraph(
                f"Claim {one.number}, {one.verdict}. {claims.TEXTS[one.number]} "
                f"Measure: {claims.RULES[one.number]}. {one.leaning} of {len(one.evidence)} measurements point its "
                f"way, clearly or not.{closest}"
            )
            datasets = list(dict.fromkeys(piece.dataset for piece in one.evidence))
            if len(datasets) > 1:
                yield Rows(
                    ["data set", "for", "against", "unclear"],
                    [[name, *(str(one.count(s, name)) for s in ("for", "against", "unclear"))] for name in datasets],
                )
            rows = [[piece.dataset, piece.text, piece.speaks] for piece in one.evidence]
            yield Rows(["data set", "measured", "speaks"], rows, f"{len(rows)} measurements of claim {one.number}")


def _pictures(figure: Figure, results: Results) -> Iterable[Picture]:
    for variant, rows in results.of(figure.experiment).items():
        title = f"Figure {figure.number}: {measures.title(figure.metric)}"
        name = f"figure-{figure.number}-{figure.metric}{'' if variant.name == 'paper' else '-' + variant.name}"
        chart, still = (
            curves.panels(rows, figure.metric, f"{title}, {variant.title}", figure.x_title, hover)
            for hover in (True, False)
        )
        yield Picture(chart, still, name, f"{title} against {figure.x_title}, {variant.title}.")


def _tables(results: Results) -> Iterable[Block]:
    experiments = list(dict.fromkeys(figure.experiment for figure in FIGURES))
    yield Heading("Tables")
    for experiment in experiments:
        for variant, rows in results.of(experiment).items():
            where = f"{experiment}, {variant.title}"
            if experiment != "E1":
                yield Heading(f"Area under the curve: {where}", 3)
                yield _areas(experiment, rows)
            if experiment == "E2" and variant in results.of("full data"):
                yield Heading(f"Queries to a share of full-data bag accuracy: {where}", 3)
                yield _queries(rows, results.of("full data")[variant])
            found = paired_differences(experiment, rows)
            yield _differences(found, f"Paired differences, {where}, against {found[0].second}")


def _areas(experiment: str, rows: pl.DataFrame) -> Rows:
    metrics = [figure.metric for figure in FIGURES if figure.experiment == experiment]
    names = rows["dataset"].unique(maintain_order=True).to_list()
    tables = {metric: claims.area_table(rows, metric) for metric in metrics}
    lines = [
        [strategy, *(f"{tables[m].filter(pl.col('strategy') == strategy)[n][0]:.3f}" for m in metrics for n in names)]
        for strategy in rows["strategy"].unique(maintain_order=True)
    ]
    return Rows(["strategy", *(f"{measures.title(m)}, {n}" for m in metrics for n in names)], lines)


def _queries(rows: pl.DataFrame, full_data: pl.DataFrame) -> Rows:
    full = claims.full_data_levels(full_data)
    needed = {
        (name, level): queries_to(rows.filter(pl.col("dataset") == name), "bag_accuracy", level * reached)
        for name, reached in full.items()
        for level in LEVELS
    }
    most = int(rows["asked"].to_numpy().max())
    lines = [
        [strategy, *(f"> {most}" if one[strategy] is None else str(one[strategy]) for one in needed.values())]
        for strategy in rows["strategy"].unique(maintain_order=True)
    ]
    columns = [f"{name}: {level:.0%} of {full[name]:.3f}" for name, level in needed]
    return Rows(["strategy", *columns], lines)


def _differences(found: Sequence[Difference], summary: str) -> Rows:
    lines = [
        [
            one.first,
            one.dataset,
            measures.title(one.metric),
            f"{one.mean:+.3f}",
            f"{one.low:+.3f} to {one.high:+.3f}",
            f"{one.p:.3f}",
            "better" if one.better else "worse" if one.worse else "unclear",
        ]
        for one in found
    ]
    part = "at the end" if found[0].part == "final" else "area"
    columns = ["strategy", "data set", f"metric ({part})", "difference", "95 % interval", "p (Holm)", ""]
    return Rows(columns, lines, summary)


def _full_data(results: Results) -> Iterable[Block]:
    for variant, rows in results.of("full data").items():
        if variant == FIXED:
            continue
        yield Heading(f"All labels known: {variant.title}", 3)
        draws = rows["seed"].n_unique()
        yield Paragraph(
            f"Mean over {results.size.of_folds} folds and {draws} draws of the letters and the folds, with the "
            "standard error over the draws where there are several. Ranking by class frequency is the floor."
        )
        yield _means(rows, FULL_DATA_METRICS)


def _means(rows: pl.DataFrame, metrics: Sequence[str]) -> Rows:
    by_draw = rows.group_by("strategy", "dataset", "seed", maintain_order=True).agg(pl.col(metrics).mean())
    names = rows["dataset"].unique(maintain_order=True).to_list()

    def cell(strategy: str, metric: str, name: str) -> str:
        values = by_draw.filter((pl.col("strategy") == strategy) & (pl.col("dataset") == name))[metric].to_numpy()
        mean = f"{values.mean():.3f}"
        return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"

    lines = [
        [strategy, *(cell(strategy, metric, name) for metric in metrics for name in names)]
        for strategy in rows["strategy"].unique(maintain_order=True)
    ]
    return Rows(["model", *(f"{measures.title(m)}, {n}" for m in metrics for n in names)], lines)


def _likelihood_times(results: Results) -> Iterable[Block]:
    if results.fit_times:
        yield Heading("Joint against marginal likelihood: time to fit all labels", 3)
        yield Paragraph("Penalty 1e-4, one thread, fastest of three; accuracies in the tables above.")
        lines = [
            [
                one.dataset,
                ("with a background class" if one.background else "the paper's model"),
                f"{one.marginal:.2f} s",
                f"{one.joint:.2f} s",
                f"{one.joint / one.marginal:.1f}",
            ]
            for one in results.fit_times
        ]
        yield Rows(["data set", "model", "marginal", "joint", "ratio"], lines)


def _choices(results: Results) -> Iterable[Block]:
    columns = ["model", "strategy", "dataset", "parameters", "fold", "seed"]
    chosen = pl.concat(
        rows.with_columns(pl.lit(variant.title).alias("model")).select(columns).unique()
        for variant, by_experiment in results.rows.items()
        for rows in by_experiment.values()
    ).unique()
    counts = chosen.group_by(columns[:4]).len().sort(pl.all())
    lines = [
        [one["strategy"], one["dataset"], one["model"], _tuned(one["parameters"]), str(one["len"])]
        for one in counts.to_dicts()
    ]
    yield Heading("What tuning chose", 3)
    yield Rows(["strategy", "data set", "model", "parameters", "runs"], lines, f"{len(lines)} choices")


def _tuned(parameters: str) -> str:
    known = json.loads(parameters)
    return ", ".join(f"{name} {value}" for name, value in known.items() if name not in ("random_state", "background"))


def _as_json(results: Results, findings: dict[Variant, list[Finding]]) -> dict[str, object]:
    return {
        "size": asdict(results.size),
        "claims": [
            {
                "model": variant.title,
                "claim": one.number,
                "text": claims.TEXTS[one.number],
                "verdict": one.verdict,
                "evidence": [asdict(piece) for piece in one.evidence],
            }
            for variant, found in findings.items()
            for one in found
        ],
        "differences": [
            {"model": variant.title, "experiment": experiment, **asdict(one)}
            for variant, by_experiment in results.rows.items()
            for experiment in by_experiment
            if experiment != "full data"
            for one in paired_differences(experiment, by_experiment[experiment])
        ],
        "growth": [{**asdict(one), "slope": one.slope} for one in results.growth],
        "fit_times": [asdict(one) for one in results.fit_times],
    }
