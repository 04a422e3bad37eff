"""Rate limit of sign-in attempts: a few wrong tokens from one address, then further ones are refused for a while.

A valid token is always accepted, whatever else came from its address: people share addresses, and 256 random bits are
not guessed. What is limited is the load, and a script that goes on with a token that has expired.
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
    """Too many wrong tokens came from one address; it has to wait."""


class RateLimit:
    """Count wrong tokens by address, and how often the same one came from it.

    `WRONG_TOKENS` different ones within `SECONDS`, or the same one as often, are too many. A client that repeats one
    token does not use up the attempts of others at the same address. Sessions are not counted: they are random and
    never shown.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> limit = RateLimit(clock=lambda: 0.0)
    >>> for _ in range(WRONG_TOKENS):
    ...     limit.failed("10.0.0.1", "wrong")
    >>> limit.failed("10.0.0.1", "wrong")
    Traceback (most recent call last):
    ...
    bagwise.server.rate_limit.TooManyAttempts: Too many wrong tokens came from this address: wait 60 seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[Failure]] = {}

    def failed(self, address: str, token: str) -> None:
        """Count a wrong token from an address.

        Raises
        ------
        TooManyAttempts
            Where there were too many before it.
        """
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
