"""What a medium is made of."""

import re
from dataclasses import dataclass
from pathlib import Path

from bagwise.core.errors import FileError

ENOUGH = 64


@dataclass(frozen=True)
class Type:
    """A type of file: what a browser is told it is, and how every such file begins."""

    content: str
    begins: bytes = b""

    def validate_same(self, path: Path) -> None:
        """A file must be what its name says: it is sent to browsers as that."""
        try:
            with path.open("rb") as file:
                start = file.read(ENOUGH)
        except OSError as error:
            raise FileError(path, f"cannot be read: {error.strerror}.") from error
        if not start:
            raise FileError(path, "is empty.")
        if not re.match(self.begins, start, re.DOTALL):
            raise FileError(path, f"is not what its name says ({self.content}): convert it, or leave it out.")
