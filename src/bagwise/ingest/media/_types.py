"""The content type of a file, and the check that a file has it."""

import re
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError

HEADER_BYTES = 64


@dataclass(frozen=True)
class Type:
    r"""A type of file.

    Parameters
    ----------
    content : str
        The content type that browsers get, as `image/png`.
    begins : bytes, optional
        A regular expression for the first 64 bytes of every such file.

    Examples
    --------
    >>> Type("image/png", rb"\x89PNG").content
    'image/png'
    """

    content: str
    begins: bytes = b""

    def validate_same(self, path: Path) -> None:
        """Raise a FileError unless the file begins as its suffix promises: browsers get it as that type.

        Parameters
        ----------
        path : Path
            The file.
        """
        try:
            with path.open("rb") as file:
                start = file.read(HEADER_BYTES)
        except OSError as error:
            raise FileError(path, f"cannot be read: {error.strerror}.") from error
        if not start:
            raise FileError(path, "is empty.")
        if not re.match(self.begins, start, re.DOTALL):
            raise FileError(path, f"is not what its name says ({self.content}): convert it, or leave it out.")
