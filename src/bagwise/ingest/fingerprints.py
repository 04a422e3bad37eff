"""Fingerprints of files, which tell whether a file has changed since it was segmented."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


@dataclass(frozen=True)
class Fingerprint:
    """Size, modification time and digest of a file.

    Parameters
    ----------
    size : int
        In bytes.
    changed : int
        Time of the last modification, in nanoseconds since the epoch.
    digest : str
        BLAKE2b of the content, 16 bytes as hexadecimal digits.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.txt"
    ...     _ = file.write_text("a wren")
    ...     before = Fingerprint.of(file)
    ...     _ = file.write_text("a robin")
    ...     print(before.size, before.unchanged(file))
    6 False
    """

    size: int
    changed: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> "Fingerprint":
        """Return the fingerprint of a file as it is now.

        Parameters
        ----------
        path : Path
            The file, which is read.

        Returns
        -------
        Fingerprint
        """
        now = path.stat()
        return cls(now.st_size, now.st_mtime_ns, _digest(path))

    def same_content(self, path: Path) -> bool:
        """Return whether a file has the same content, as this one after it was renamed; False if it is unreadable.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        bool
        """
        try:
            return path.stat().st_size == self.size and _digest(path) == self.digest
        except OSError:
            return False

    def unchanged(self, path: Path) -> bool:
        """Return whether the file still has the same content; True if it is unreadable.

        The content is read only if size or modification time differ.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        bool
        """
        try:
            now = path.stat()
            if (now.st_size, now.st_mtime_ns) == (self.size, self.changed):
                return True
            return now.st_size == self.size and _digest(path) == self.digest
        except OSError:
            return True


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
