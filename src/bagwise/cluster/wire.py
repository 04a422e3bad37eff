"""The wire to the shards of a pool: every message goes to them and every reply comes back through here.

A shard that dies is begun anew by Ray and reads its bags again; here it is told what it lacks and asked once more. So
a reply is always about all bags, unless whoever asks allows that slow shards are left out after a while.
"""

import logging
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from bagwise.cluster.shard import Behind
from bagwise.errors import BagwiseError

SAY_AFTER = 3.0
LARGEST_INLINE = 100_000
BRANCHES = 8

log = logging.getLogger("bagwise.cluster")

Message = Callable[[int], bytes]


class Wire:
    """Messages to shards and back; `tell` brings a shard that lost its memory up to date."""

    def __init__(self, shards: Sequence[Any], names: Sequence[str], tell: Callable[[int], bytes]) -> None:
        self.shards, self.names, self._tell = list(shards), list(names), tell
        self.bytes_out = self.bytes_in = self.messages = 0
        self._late: dict[int, Any] = {}

    def everywhere(self, message: Message, patience: float | None = None) -> dict[int, Any]:
        """The replies of all shards; with `patience`, of those that reply within so many seconds."""
        return self.to(range(len(self.shards)), message, patience)

    def to(self, shards: Sequence[int], message: Message, patience: float | None = None) -> dict[int, Any]:
        """The replies of these shards."""
        asked = {shard: self._send(shard, message(shard)) for shard in shards if not self._is_late(shard, patience)}
        try:
            quickly = ray.get(list(asked.values()), timeout=SAY_AFTER if patience is None else min(SAY_AFTER, patience))
            return {shard: self._read(reply) for shard, reply in zip(asked, quickly, strict=True)}
        except (GetTimeoutError, RayActorError, RayTaskError):
            return self._patiently(asked, message, patience)

    def summed(self, message: Message) -> Any:
        """The sum of the replies of all shards, taken up a tree: nobody adds up more than `BRANCHES`."""
        everywhere = range(len(self.shards))
        while True:
            sent = {shard: self._send(shard, message(shard)) for shard in everywhere}
            knots = list(sent.values())
            while len(knots) > BRANCHES:
                groups = [knots[first : first + BRANCHES] for first in range(0, len(knots), BRANCHES)]
                knots = [self.shards[n * BRANCHES].combined.remote(*group) for n, group in enumerate(groups)]
            try:
                from bagwise.cluster.shard import added

                return added([self._read(reply) for reply in ray.get(knots)])
            except (RayActorError, RayTaskError):
                # What they reply one by one does not matter: whoever lost its memory is told on the way.
                self._patiently(sent, message, None)

    def _send(self, shard: int, message: bytes) -> Any:
        self.bytes_out += len(message)
        self.messages += 1
        return self.shards[shard].call.remote(message)

    def _read(self, reply: bytes) -> Any:
        self.bytes_in += len(reply)
        found = pickle.loads(reply)  # noqa: S301 -- from a process of our own
        if isinstance(found, BagwiseError):
            raise found
        return found

    def _is_late(self, shard: int, patience: float | None) -> bool:
        """Whether it still works on what it was asked before; whoever allows that leaves it out."""
        ref = self._late.pop(shard, None)
        if ref is None or patience is None or ray.wait([ref], timeout=0)[0]:
            return False
        self._late[shard] = ref
        return True

    def _patiently(self, asked: dict[int, Any], message: Message, patience: float | None) -> dict[int, Any]:
        """One reply after the other, saying what is waited for."""
        began, said = time.monotonic(), False
        replies: dict[int, Any] = {}
        waiting = dict(asked)
        while waiting:
            for shard in list(waiting):
                if ray.wait([waiting[shard]], timeout=0)[0]:
                    found = self._settled(shard, waiting.pop(shard))
                    if found is None:
                        waiting[shard] = self._send(shard, message(shard))
                    else:
                        replies[shard] = found[0]
            waited = time.monotonic() - began
            if waiting and patience is not None and waited > patience:
                self._late |= waiting
                break
            if waiting and waited > SAY_AFTER and not said:
                log.warning("Waiting for %s.", " and ".join(self.names[shard] for shard in waiting))
                said = True
            if waiting:
                ray.wait(list(waiting.values()), timeout=0.1 if patience is None else min(0.1, patience / 4))
        if not replies:
            raise BagwiseError(f"No shard replied within {patience} s: {'; '.join(self.names)}. Ask again, or wait longer.")
        return replies

    def _settled(self, shard: int, reply: Any) -> tuple[Any] | None:
        """What a shard replied; None where it has to be asked once more."""
        try:
            return (self._read(ray.get(reply)),)
        except RayActorError:
            log.warning("%s died and is begun anew.", self.names[shard])
            self._restore(shard)
        except RayTaskError as error:
            if not isinstance(error.cause, Behind):
                raise BagwiseError(f"{self.names[shard]} failed: {error.cause!r}.") from error
            self._restore(shard)
        return None

    def _restore(self, shard: int) -> None:
        """Tell a shard that was begun anew all that it has to know, however often it dies meanwhile."""
        while True:
            try:
                self._read(ray.get(self._send(shard, self._tell(shard))))
            except RayActorError:
                time.sleep(0.1)
            else:
                return
