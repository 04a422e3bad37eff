"""Patience with wrong tokens: a few from one address, then the rest are refused for a while.

A right token always gets in, whatever else came from its address: people share addresses, and 256 random bits are not
guessed. What is limited is the noise, and a script that goes on with a token that has run out.
"""

import hashlib
import threading
import time
from collections.abc import Callable

from bagwise.core.errors import BagwiseError

WRONG_TOKENS = 10
SECONDS = 60.0
ADDRESSES = 10_000

Failure = tuple[float, bytes]


class TooManyAttempts(BagwiseError):
    """An address has to wait."""


class RateLimit:
    """Counts wrong tokens by address, and how often the same one came from there.

    So many different ones, or the same so often, is too many. Whoever repeats one token does not use up the tries of
    others at the same address. Sessions are not counted: they are random and never shown.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[Failure]] = {}

    def failed(self, address: str, token: str) -> None:
        """Count a wrong token that came from here; raise an error where there were too many before it."""
        mark = hashlib.sha256(token.encode("utf-8", "replace")).digest()[:8]
        with self._lock:
            recent = [one for one in self._failed.pop(address, []) if one[0] > self._clock() - SECONDS]
            self._failed[address] = recent
            different = {one for _, one in recent} - {mark}
            if len(different) >= WRONG_TOKENS or sum(one == mark for _, one in recent) >= WRONG_TOKENS:
                raise TooManyAttempts(f"Too many wrong tokens came from this address: wait {SECONDS:.0f} seconds.")
            recent.append((self._clock(), mark))
            if len(self._failed) > ADDRESSES:
                del self._failed[next(iter(self._failed))]
