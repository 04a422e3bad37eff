"""The wire to the shards of a pool: every message goes to them and every reply comes back through here.

A shard that dies is begun anew by Ray and reads its bags again; here it is told what it lacks and asked once more. So
a reply is always about all bags, unless whoever asks allows that slow shards are left out after a while.
"""

import logging
import pickle
import time
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, ObjectLostError, RayActorError, RayTaskError

from bagwise.cluster.shard import Knowing, OutOfDate, added
from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags

SAY_AFTER, SAY_AGAIN_AFTER = 3.0, 30.0
LOOK_EVERY = 0.5
LARGEST_INLINE = 100_000
BRANCHES = 8
MOST_NAMED = 3

log = logging.getLogger("bagwise.cluster")

Arguments = tuple[Any, ...]

LOST = (RayActorError, RayTaskError, ObjectLostError)


class Memory(Protocol):
    """What shards are to know."""

    def newest(self, shard: int) -> Knowing | None:
        """What a shard is taken to know, and what it is to learn with the next message."""
        ...

    def everything(self, shard: int) -> Arguments | None:
        """All of it, for `Shard.begin`, once there is something."""
        ...


class ShardMessages:
    """Messages to shards and back; counts what goes over it."""

    def __init__(
        self, shards: Sequence[Any], names: Sequence[str], memory: Memory, handed: Sequence[Bags] = ()
    ) -> None:
        self.shards, self.names, self._memory = list(shards), list(names), memory
        self.bytes_out = self.bytes_in = self.messages = 0
        self._late: dict[int, Any] = {}
        self._closed = False
        # What is handed to shards stays in Ray's store as long as these are kept.
        self._handed = [[ray.put(part) for part in (bags.instances, bags.offsets, bags.ids)] for bags in handed]
        for shard in range(len(self._handed)):
            self._hand(shard)

    def everywhere(self, method: str, *arguments: Any, timeout: float | None = None) -> dict[int, Any]:
        """The replies of all shards; with `timeout`, of those that reply within so many seconds."""
        body = self._shared(arguments)
        return self._replies(dict.fromkeys(range(len(self.shards)), body), method, timeout)

    def each(self, method: str, arguments: Mapping[int, Arguments]) -> dict[int, Any]:
        """The replies of some shards, each asked for something of its own."""
        return self._replies({shard: pickle.dumps(given, 5) for shard, given in arguments.items()}, method, None)

    def begin(self) -> None:
        """Tell every shard all that it has to know."""
        self.each("begin", {shard: self._memory.everything(shard) or () for shard in range(len(self.shards))})

    def summed(self, method: str, *arguments: Any) -> Any:
        """The sum of the replies of all shards, taken up a tree: nobody adds up more than `BRANCHES`."""
        body = self._shared(arguments)
        while True:
            sent = [self._send(shard, method, body) for shard in range(len(self.shards))]
            knots, step = sent, 1
            while len(knots) > BRANCHES:
                step *= BRANCHES
                groups = [knots[first : first + BRANCHES] for first in range(0, len(knots), BRANCHES)]
                knots = [self.shards[n * step].combined.remote(*group) for n, group in enumerate(groups)]
            if ray.wait(knots, num_returns=len(knots), timeout=SAY_AFTER)[1]:
                self._say_waiting(range(len(self.shards)))
            try:
                return added([self._read(reply) for reply in ray.get(knots)])
            except LOST:
                # What each replies does not matter here: whoever lost its memory is told on the way.
                waiting = dict(enumerate(sent))
                self._patiently(waiting, dict.fromkeys(waiting, body), method, None, time.monotonic())

    def close(self) -> None:
        """End the shards."""
        self._closed = True
        for shard in self.shards:
            ray.kill(shard)

    def _shared(self, arguments: Arguments) -> Any:
        """What goes to everybody: large things only once to every machine."""
        body = pickle.dumps(arguments, 5)
        return body if len(body) <= LARGEST_INLINE else _Large(ray.put(body), len(body))

    def _replies(self, bodies: dict[int, Any], method: str, timeout: float | None) -> dict[int, Any]:
        began = time.monotonic()
        asked = {
            shard: self._send(shard, method, body)
            for shard, body in bodies.items()
            if not self._is_late(shard, timeout)
        }
        try:
            quickly = ray.get(list(asked.values()), timeout=SAY_AFTER if timeout is None else min(SAY_AFTER, timeout))
        except (GetTimeoutError, *LOST):
            return self._patiently(asked, bodies, method, timeout, began)
        self._validate_replies(quickly, timeout)
        return {shard: self._read(reply) for shard, reply in zip(asked, quickly, strict=True)}

    def _send(self, shard: int, method: str, body: Any) -> Any:
        if self._closed:
            raise BagwiseError("This pool is closed: its shards have ended. Open another.")
        knowing = None if method == "begin" else self._memory.newest(shard)
        head = pickle.dumps((method, knowing), 5)
        self.bytes_out += len(head) + len(body)
        self.messages += 1
        return self.shards[shard].call.remote(head, body.ref if isinstance(body, _Large) else body)

    def _read(self, reply: bytes) -> Any:
        self.bytes_in += len(reply)
        found = pickle.loads(reply)  # noqa: S301 -- from a process of our own
        if isinstance(found, BagwiseError):
            raise found
        return found

    def _is_late(self, shard: int, timeout: float | None) -> bool:
        """Whether it still works on what it was asked before; whoever allows that leaves it out."""
        before = self._late.pop(shard, None)
        if before is None or timeout is None or ray.wait([before], timeout=0)[0]:
            return False
        self._late[shard] = before
        return True

    def _patiently(
        self, asked: dict[int, Any], bodies: dict[int, Any], method: str, timeout: float | None, began: float
    ) -> dict[int, Any]:
        """One reply after the other, saying what is waited for; shards that were begun anew are told on the way."""
        replies: dict[int, Any] = {}
        waiting, restored, say_at = dict(asked), set[int](), began + SAY_AFTER
        until = began + (float("inf") if timeout is None else timeout)
        while waiting:
            left = until - time.monotonic()
            refs = list(waiting.values())
            done = set(ray.wait(refs, num_returns=len(refs), timeout=max(0.0, min(LOOK_EVERY, left)))[0])
            for shard in [shard for shard, reply in waiting.items() if reply in done]:
                found = self._settled(shard, waiting.pop(shard))
                if found is None:
                    waiting[shard] = self._restore(shard)
                    restored.add(shard)
                elif shard in restored:
                    restored.remove(shard)
                    waiting[shard] = self._send(shard, method, bodies[shard])
                else:
                    replies[shard] = found[0]
            if left <= 0:
                break
            if waiting and time.monotonic() > say_at:
                self._say_waiting(waiting)
                say_at = time.monotonic() + SAY_AGAIN_AFTER
        self._late |= waiting
        self._validate_replies(replies, timeout)
        return dict(sorted(replies.items()))

    def _settled(self, shard: int, reply: Any) -> tuple[Any] | None:
        """What a shard replied; None where it has to be told everything and asked once more."""
        try:
            found = ray.get(reply)
        except ActorDiedError as error:
            why = str(error).strip().splitlines()[-1]
            raise BagwiseError(f"{self.names[shard]} has ended and does not come back: {why}") from error
        except (RayActorError, ObjectLostError):
            log.warning("%s died and is begun anew.", self.names[shard])
            return None
        except RayTaskError as error:
            if isinstance(error.cause, OutOfDate):
                return None
            raise BagwiseError(f"{self.names[shard]} failed: {error.cause!r}.") from error
        return (None if found is None else self._read(found),)

    def _hand(self, shard: int) -> Any:
        return self.shards[shard].take.remote(*self._handed[shard])

    def _restore(self, shard: int) -> Any:
        """Have a shard that was begun anew told all that it has to know: what it says when it knows."""
        handed = self._hand(shard) if self._handed else None
        known = self._memory.everything(shard)
        if known is None and handed is not None:
            return handed
        return self._send(shard, "begin", pickle.dumps(known, 5)) if known is not None else ray.put(None)

    def _say_waiting(self, shards: Iterable[int]) -> None:
        names = [self.names[shard] for shard in shards]
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        free, there = (kind.get("CPU", 0.0) for kind in (ray.available_resources(), ray.cluster_resources()))  # type: ignore[no-untyped-call]
        log.warning(
            "Waiting for %s. The cluster has %g of %g processors free.",
            " and ".join([*names[:MOST_NAMED], *more]),
            free,
            there,
        )

    def _validate_replies(self, replies: Sized, timeout: float | None) -> None:
        if not replies:
            raise BagwiseError(f"No shard replied within {timeout} s: ask again, or increase `timeout`.")


class _Large:
    """Bytes that lie in Ray's store."""

    def __init__(self, ref: Any, size: int) -> None:
        self.ref, self._size = ref, size

    def __len__(self) -> int:
        return self._size
