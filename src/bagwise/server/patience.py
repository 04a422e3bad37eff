"""Patience with wrong tokens: a few from one address, then none are looked at for a while."""

import threading
import time
from collections.abc import Callable

from bagwise.errors import BagwiseError

WRONG_TOKENS = 10
SECONDS = 60.0
ADDRESSES = 10_000


class TooManyTries(BagwiseError):
    """An address has to wait."""


class Patience:
    """Counts wrong tokens by address. Sessions are not counted: they are random and shown to nobody."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[float]] = {}

    def failed(self, address: str) -> None:
        """A wrong token came from here."""
        with self._lock:
            times = [*self._recent(address), self._clock()]
            self._failed.pop(address, None)
            self._failed[address] = times[-WRONG_TOKENS:]
            if len(self._failed) > ADDRESSES:
                del self._failed[next(iter(self._failed))]

    def refuse(self, address: str) -> None:
        """Say no, without looking at the token, where too many wrong ones came from."""
        with self._lock:
            if len(self._recent(address)) >= WRONG_TOKENS:
                raise TooManyTries(f"Too many wrong tokens: wait {SECONDS:.0f} seconds.")

    def _recent(self, address: str) -> list[float]:
        return [at for at in self._failed.get(address, []) if at > self._clock() - SECONDS]
