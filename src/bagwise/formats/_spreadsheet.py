"""Text in CSV files that people open in a spreadsheet: formulas are marked as text, and unmarked when read.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break. An apostrophe before it makes it
text. Cells that begin with apostrophes already get one more, so that every text is read back unchanged. Numbers such as
-1.5 are not formulas and stay as they are.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = r"[=+\-@\t\r\n]"
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_IS_FORMULA = re.compile(rf"'*{FORMULA}")
_IS_MARKED = re.compile(rf"'+{FORMULA}")
_IS_NUMBER = re.compile(NUMBER, re.ASCII)


def marked(text: str) -> str:
    """Return the cell for a text: with an apostrophe before it where a spreadsheet would run it as a formula.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    str

    Examples
    --------
    >>> marked("=1+1"), marked("'=1+1"), marked("-1.5"), marked("wren")
    ("'=1+1", "''=1+1", '-1.5', 'wren')
    """
    return f"'{text}" if _IS_FORMULA.match(text) and not _IS_NUMBER.fullmatch(text) else text


def unmarked(cell: str) -> str:
    """Return the text of a cell.

    >>> unmarked("'=1+1"), unmarked("''=1+1"), unmarked("-1.5"), unmarked("'wren'")
    ('=1+1', "'=1+1", '-1.5', "'wren'")
    """
    return cell[1:] if _IS_MARKED.match(cell) else cell


def marked_frame(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table with every text marked.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.

    Returns
    -------
    polars.DataFrame
        As `marked` does for a single text; columns of other types are unchanged.

    Examples
    --------
    >>> import polars as pl
    >>> marked_frame(pl.DataFrame({"bag": ["=1+1", "wren"]}))["bag"].to_list()
    ["'=1+1", 'wren']
    """
    import polars as pl

    text = pl.col(pl.String)
    formula = text.str.contains(f"^'*{FORMULA}") & ~text.str.contains(rf"^{NUMBER}$")
    return frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep())


def unmarked_series(cells: "pl.Series") -> "pl.Series":
    """Return the texts of a column's cells."""
    return cells.str.replace(f"^'('*{FORMULA})", "${1}")
