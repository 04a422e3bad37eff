"""A file with another beginning, for files whose header libsndfile cannot use."""

import io
import os
from pathlib import Path
from typing import Any


class PrefixedFile(io.RawIOBase):
    """A file, read-only, with `prefix` in front of its content from `start` on."""

    def __init__(self, path: Path, prefix: bytes, start: int) -> None:
        self._prefix, self._start, self._file, self._position = prefix, start, path.open("rb"), 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Continue at another byte."""
        end = len(self._prefix) + os.fstat(self._file.fileno()).st_size - self._start
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: end}[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return how many bytes there were."""
        view = memoryview(buffer).cast("B")
        data = self._prefix[self._position : self._position + len(view)]
        if len(data) < len(view):
            self._file.seek(self._start + max(0, self._position - len(self._prefix)))
            data += self._file.read(len(view) - len(data))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
