"""The folder of a report: tables as CSV, figures, `report.md`, which shows both, and `quality.html`, to be printed."""

import re
from pathlib import Path
from typing import Any

import polars as pl

from bagwise.core.errors import BagwiseError
from bagwise.core.extras import is_installed
from bagwise.evaluation.prevalence import FEWEST_AUDITS
from bagwise.formats import available, marked_frame
from bagwise.project.reports import quality_page
from bagwise.project.reports.sentences import Sentences
from bagwise.project.reports.summary import ALL, Summary

PAGE, HISTORIES, FIGURES = "report.md", "histories", "figures"
MOST_ROWS = 60
TITLES = {
    "activity_by_hour": "Activity by hour of the day",
    "activity_by_site": "Activity by site",
    "accumulation": "Accumulation of classes",
}
NOT_IN_FILE_NAMES = re.compile(r"[^\w\-. ]+")


def write_report(summary: Summary, folder: Path, sentences: Sentences, page_to_print: str) -> Path:
    """Write a report into a folder, which is made; files of the same names are replaced.

    Parameters
    ----------
    summary : Summary
        What `summary_of` returned.
    folder : Path
        The folder.
    sentences : Sentences
        The quality in words.
    page_to_print : str
        What `quality_page` returned.

    Returns
    -------
    Path
        The page, `report.md`.

    Raises
    ------
    BagwiseError
        If the folder cannot be written.
    """
    try:
        (folder / HISTORIES).mkdir(parents=True, exist_ok=True)
        tables = {"summary": summary.counts, "shares": summary.shares, "visits": summary.visits}
        for name, frame in tables.items():
            marked_frame(frame).write_csv(folder / f"{name}.csv")
        available()["csv"].write_detections(summary.detections, folder / "detections.csv")
        for file, label_class in history_files(summary.classes).items():
            marked_frame(summary.history(label_class)).write_csv(folder / HISTORIES / file, null_value="NA")
        marked_frame(summary.effort()).write_csv(folder / HISTORIES / EFFORT, null_value="NA")
        figures = _draw(summary, folder / FIGURES)
        page = folder / PAGE
        page.write_text(_page(summary, figures, sentences), encoding="utf-8")
        (folder / quality_page.FILE).write_text(page_to_print, encoding="utf-8")
    except OSError as error:
        raise BagwiseError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return page


EFFORT = "effort_hours.csv"


def history_files(classes: list[str]) -> dict[str, str]:
    """Return the name of the file of each class's detection history: its own, as far as a file can be called so.

    >>> history_files(["great tit", "owl?", "owl/"])
    {'great tit.csv': 'great tit', 'owl_.csv': 'owl?', 'owl_ 2.csv': 'owl/'}
    """
    found, taken = dict[str, str](), {EFFORT}
    for name in classes:
        stem = NOT_IN_FILE_NAMES.sub("_", name).strip(" .") or "class"
        file, number = f"{stem}.csv", 2
        # Some systems do not tell upper case from lower case.
        while file.lower() in taken:
            file, number = f"{stem} {number}.csv", number + 1
        taken.add(file.lower())
        found[file] = name
    return found


def _draw(summary: Summary, folder: Path) -> list[str]:
    """The names of the figures; none where the library that draws them is not installed."""
    if not is_installed("figures"):
        return []
    from bagwise.project.reports.figures import draw

    folder.mkdir(exist_ok=True)
    return draw(summary, folder)


def _page(summary: Summary, figures: list[str], sentences: Sentences) -> str:
    shares, counts = summary.shares, summary.counts
    overall = shares.filter(site=ALL)
    effort = counts.filter(pl.col("class") == summary.classes[0])
    recordings, clips = summary.accumulation.filter(site=ALL)["recordings"][-1], int(overall["clips"][0])
    hours = effort["hours"].sum()
    of_hours = f", {hours:.1f} hours of sound" if effort["hours"].null_count() < len(effort) else ""
    lines = [
        f"# {_text(summary.project)}: results",
        "",
        f"{recordings} recordings, {clips} clips{of_hours}. A clip has a class where people say so, or where it is "
        f"predicted. Model: {_text(summary.detections.model) or 'not named'}.",
        "",
        "## How good the model is",
        "",
        f"On all bags of the project, in every period and at every site. `{quality_page.FILE}` has the figures with "
        "their intervals, how they were made and what was audited, to be printed.",
        "",
        *(f"- {_text(sentence)}" for sentence in (sentences.overall, *sentences.classes.values())),
        "",
        "## Share of clips with each class",
        "",
        "`share` counts clips that are predicted or confirmed. `estimate` is the share of clips that truly have the "
        "class, with an interval (`low` to `high`) that contains the truth in about 95 of 100 projects. It counts "
        "labelled clips as they are labelled, and learns from audits, which are drawn at random, how many of the "
        "others, with and without a prediction, have the class.",
        "",
        *_rows(overall.select("class", "clips", "clips_with", "share", "estimate", "low", "high", "audits", "note")),
        "",
    ]
    of_sites = shares.filter(pl.col("site") != ALL)
    if len(of_sites):
        lines += [
            "## By site",
            "",
            "An interval of a site rests on the audits at this site alone, since the model may be better or worse "
            f"there than elsewhere. Where there are fewer than {FEWEST_AUDITS}, none is given: compare the shares of "
            "sites with care then.",
            "",
            *_rows(of_sites.select("class", "site", "clips", "clips_with", "share", "low", "high", "audits")),
            "",
        ]
    for name in figures:
        lines += [f"## {TITLES[name]}", "", f"![{TITLES[name]}]({FIGURES}/{name}.png)", ""]
    if not figures:
        lines += ["No figures: they need `pip install 'bagwise[figures]'`.", ""]
    lines += [
        f"## By site and {'hour of the day' if summary.by == 'hour' else summary.by}",
        "",
        *_rows(counts.filter(pl.col("clips_with") > 0), "Nothing was found."),
        "",
        "Site, period and class without a clip are left out here; `summary.csv` has all of them.",
        "",
        "## Files",
        "",
        f"- `{quality_page.FILE}`: a page to print: the estimated quality, how it was estimated, what was audited.",
        "- `summary.csv`: by site, period and class: effort, recordings and clips with it, detections, audits, and "
        "intervals where these are enough.",
        "- `shares.csv`: the tables of shares above.",
        f"- `{HISTORIES}/CLASS.csv`: detection histories for occupancy models: a row for each site, a column for each "
        f"visit; 1 found, 0 searched and not found, NA not visited. `{HISTORIES}/{EFFORT}` has the hours of visits. "
        "In R: `y <- read.csv(file, row.names = 1); unmarked::unmarkedFrameOccu(as.matrix(y))`.",
        "- `visits.csv`: the same as one long table.",
        "- `detections.csv`: every detection, with its file and times.",
        "",
    ]
    return "\n".join(lines)


def _rows(frame: pl.DataFrame, otherwise: str = "") -> list[str]:
    """A table in Markdown, without columns that are empty."""
    if not len(frame):
        return [otherwise]
    used = [name for name in frame.columns if any(value not in (None, "") for value in frame[name])]
    shown = frame.select(used).head(MOST_ROWS)
    lines = ["| " + " | ".join(name.replace("_", " ") for name in used) + " |"]
    lines.append("|" + "|".join(" --- " if shown[name].dtype == pl.String else " ---: " for name in used) + "|")
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in shown.iter_rows()]
    more = len(frame) - len(shown)
    return [*lines, "", f"{more} more rows are in the CSV."] if more else lines


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else _text(str(value))


def _text(text: str) -> str:
    """A name as Markdown: nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]<>|#&!])", r"\\\1", text)
