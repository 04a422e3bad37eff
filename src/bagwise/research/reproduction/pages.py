"""A report as a list of blocks, written as an HTML page and as Markdown with the same content."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bagwise.research.experiments.curves import Chart


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
    """A chart, stored as figures/NAME.svg."""

    chart: Chart
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
.held { color: #12703d; font-weight: 600; } .inconclusive { color: #8a5a00; font-weight: 600; }
.not-held { color: #a3282f; font-weight: 600; }
"""


def save_pictures(blocks: Sequence[Block], folder: Path) -> None:
    """Draw the charts into FOLDER/figures."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for block in blocks:
        if isinstance(block, Picture):
            block.chart.save(folder / "figures" / f"{block.name}.svg")


def write_page(title: str, blocks: Sequence[Block], file: Path) -> None:
    """Write the blocks as a page beside its figures."""
    file.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><h1>{html.escape(title)}</h1>\n" + "\n".join(map(_html, blocks)) + "\n</body></html>\n",
        encoding="utf-8",
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Rows(columns, rows, summary):
            head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            return f"<details><summary>{html.escape(summary)}</summary>{table}</details>" if summary else table
        case Picture(_, name, caption):
            text = html.escape(caption)
            return f'<figure><img src="figures/{name}.svg" alt="{text}"><figcaption>{text}</figcaption></figure>'


def _inline(text: str) -> str:
    """Return a line of Markdown as HTML: code, emphasis and links, which is all that paragraphs use."""
    found = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    found = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", found)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', found)


def _cell(text: str) -> str:
    verdict = text.replace(" ", "-")
    style = f' class="{verdict}"' if verdict in ("held", "inconclusive", "not-held") else ""
    return f"<td{style}>{html.escape(text)}</td>"


def write_markdown(title: str, blocks: Sequence[Block], file: Path) -> None:
    """Write the blocks as Markdown beside their figures."""
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
        case Picture(_, name, caption):
            return f"![{caption}](figures/{name}.svg)\n\n*{caption}*"
