"""What a file was when it was cut, to notice whether it is another one now."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


@dataclass(frozen=True)
class Seen:
    """Bytes, time of the last change in nanoseconds, and a digest of what was in it."""

    size: int
    changed: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> "Seen":
        """The file as it is."""
        now = path.stat()
        return cls(now.st_size, now.st_mtime_ns, _digest(path))

    def same_content(self, path: Path) -> bool:
        """Whether the same is in another file, as in this one after it was renamed. What cannot be read is not."""
        try:
            return path.stat().st_size == self.size and _digest(path) == self.digest
        except OSError:
            return False

    def is_still(self, path: Path) -> bool:
        """Whether the same is in it; read only where it was touched. One that cannot be read is not another."""
        try:
            now = path.stat()
            if (now.st_size, now.st_mtime_ns) == (self.size, self.changed):
                return True
            return now.st_size == self.size and _digest(path) == self.digest
        except OSError:
            return True


def _digest(path: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            found.update(part)
    return found.hexdigest()
