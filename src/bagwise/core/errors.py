"""Exceptions whose message is a sentence for the user."""

from pathlib import Path
from typing import Any


class BagwiseError(ValueError):
    """Input that cannot be used. The message is one sentence: what is wrong, where, and what to do.

    Examples
    --------
    >>> from bagwise import Bags
    >>> try:
    ...     Bags.from_list([])
    ... except BagwiseError as error:
    ...     print(error)
    There are no bags: give at least one (instances x features) array.
    """

    exit_code = 1


class FileError(BagwiseError):
    r"""A file that cannot be used; the message names the file and, where known, the line and the column.

    What the file itself says, as the name of a column, may contain anything: a character that cannot be printed is a
    question mark, so that the message stays one line.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What is wrong and what to do: the end of a sentence that begins with the file's name.
    line : int, optional
        The line or row, counted from 1.
    column : str or int, optional
        The name or number of the column.
    row : str
        What a row of the file is called, as "line" or "row".

    Examples
    --------
    >>> print(FileError(Path("bags.csv"), "is not a number.", line=3, column="weight"))
    bags.csv, line 3, column weight: is not a number.
    >>> print(FileError(Path("bags.csv"), "is not a number.", column="weight\n"))
    bags.csv, column weight?: is not a number.
    """

    exit_code = 2

    def __init__(
        self, path: Path, what: str, line: int | None = None, column: str | int | None = None, row: str = "line"
    ) -> None:
        place = str(path)
        if line is not None:
            place += f", {row} {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__("".join(one if one.isprintable() else "?" for one in f"{place}: {what}"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message only: errors of worker processes are rebuilt from it."""
        return _from_message, (type(self), str(self))


def _from_message(kind: type[FileError], message: str) -> FileError:
    error = kind.__new__(kind)
    error.args = (message,)
    return error
