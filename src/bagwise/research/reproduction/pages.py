"""A report as a list of blocks, written as an HTML page and as Markdown with the same content."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import vl_convert

from bagwise.research.experiments.curves import Chart, save_figure


@dataclass(frozen=True)
class Heading:
    """A heading of level 2 or 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table; with a `summary` it is collapsed behind that line."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    summary: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: interactive in the page, static in the folder as `name`.svg and .png."""

    chart: Chart
    still: Chart
    name: str
    caption: str


Block = Heading | Paragraph | Rows | Picture

STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5b6b7b; --line: #dfe5eb; --mark: #f4f7fa; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); max-width: 1180px; margin: 2.5rem auto;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; margin: 2.2rem 0 .6rem; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: left; padding: .28rem .8rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--soft); }
figure { margin: 1.2rem 0; overflow-x: auto; } figcaption { color: var(--soft); font-size: .9rem; }
.held { color: #12703d; font-weight: 600; } .partly { color: #8a5a00; font-weight: 600; }
.not-held { color: #a3282f; font-weight: 600; }
"""


def write_page(title: str, blocks: Sequence[Block], file: Path) -> None:
    """Write one self-contained page: the chart library and the data are embedded."""
    parts = [_html(block) for block in blocks]
    charts = {block.name: block.chart.to_dict() for block in blocks if isinstance(block, Picture)}
    # A chart may hold text from data sets: "</" must not end the script.
    specifications = json.dumps(charts).replace("</", "<\\/")
    library = vl_convert.javascript_bundle(vl_version=_vega_lite()) if charts else ""  # type: ignore[call-arg]
    draw = (
        f"const charts = {specifications};\n"
        "for (const [name, chart] of Object.entries(charts)) {\n"
        "  vegaEmbed(document.getElementById(name), chart, {actions: {export: true, source: false, editor: false}});\n"
        "}"
    )
    file.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><h1>{html.escape(title)}</h1>\n" + "\n".join(parts) + "\n"
        f"<script>{library}</script><script>{draw}</script></body></html>\n",
        encoding="utf-8",
    )


def _vega_lite() -> str:
    return "v" + ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Rows(columns, rows, summary):
            head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            return f"<details><summary>{html.escape(summary)}</summary>{table}</details>" if summary else table
        case Picture(_, _, name, caption):
            return f'<figure><div id="{name}"></div><figcaption>{html.escape(caption)}</figcaption></figure>'


def _cell(text: str) -> str:
    verdict = text.replace(" ", "-")
    style = f' class="{verdict}"' if verdict in ("held", "partly", "not-held", "undecided") else ""
    return f"<td{style}>{html.escape(text)}</td>"


def write_markdown(title: str, blocks: Sequence[Block], file: Path) -> None:
    """Write the same as Markdown; the pictures are stored in `figures/` beside it."""
    for block in blocks:
        if isinstance(block, Picture):
            save_figure(block.still, file.parent / "figures" / block.name, page=False, scale=1)
    file.write_text("\n\n".join([f"# {title}", *map(_markdown, blocks)]) + "\n", encoding="utf-8")


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Rows(columns, rows, summary):
            lines = [columns, ["---"] * len(columns), *rows]
            table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
            return f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>" if summary else table
        case Picture(_, _, name, caption):
            return f"![{caption}](figures/{name}.svg)\n\n*{caption}*"
