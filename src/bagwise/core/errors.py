"""The exceptions that carry a sentence meant for a person."""

from pathlib import Path
from typing import Any


class BagwiseError(ValueError):
    """Input that cannot be used; the message is one sentence that says where and what to do."""

    exit_code = 1


class FileError(BagwiseError):
    """A file that cannot be used: the sentence names the file and, where there is one, line and column."""

    exit_code = 2

    def __init__(
        self, path: Path, what: str, line: int | None = None, column: str | int | None = None, row: str = "line"
    ) -> None:
        place = str(path)
        if line is not None:
            place += f", {row} {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {what}")

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is: it comes from other processes too, and there is made of its sentence alone."""
        return _as_said, (type(self), str(self))


def _as_said(kind: type[FileError], sentence: str) -> FileError:
    error = kind.__new__(kind)
    error.args = (sentence,)
    return error
