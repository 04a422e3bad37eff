"""Messages to the shards of a pool and their replies.

A shard that crashes is restarted by Ray and reads its bags again; it is then restored and the message is sent again. So
a reply is always about all bags, unless a timeout allows slow shards to be left out.
"""

import logging
import pickle
import time
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, ObjectLostError, RayActorError, RayTaskError

from bagwise.cluster.shard import OutOfDate, Version, total
from bagwise.core.errors import BagwiseError
from bagwise.data.bags import Bags

WARN_AFTER, WARN_EVERY = 3.0, 30.0
POLL_SECONDS = 0.5
MAX_INLINE_BYTES = 100_000
BRANCHES = 8
MAX_NAMED = 3

log = logging.getLogger("bagwise.cluster")

Arguments = tuple[Any, ...]

LOST = (RayActorError, RayTaskError, ObjectLostError)


class States(Protocol):
    """What shards have to know."""

    def next_version(self, shard: int) -> Version | None:
        """The version that a shard has, with the changes to send with the next message."""
        ...

    def everything(self, shard: int) -> Arguments | None:
        """The arguments of `Shard.begin`, or None before the first set-up."""
        ...


class ShardMessages:
    """Sends messages to shards, and counts them and their bytes.

    Parameters
    ----------
    shards
        The actors.
    names
        Their descriptions, for warnings and errors.
    states
        What they have to know.
    given
        The bags of every shard, where these come from this process.
    """

    def __init__(self, shards: Sequence[Any], names: Sequence[str], states: States, given: Sequence[Bags] = ()) -> None:
        self.shards, self.names, self._states = list(shards), list(names), states
        self.bytes_out = self.bytes_in = self.messages = 0
        self._late: dict[int, Any] = {}
        self._closed = False
        # Objects stay in Ray's store as long as these references exist.
        self._given = [[ray.put(array) for array in (bags.instances, bags.offsets, bags.ids)] for bags in given]
        for shard in range(len(self._given)):
            self._give(shard)

    def broadcast(self, method: str, *arguments: Any, timeout: float | None = None) -> dict[int, Any]:
        """Return the replies of all shards by their numbers; with `timeout`, of those that reply in so many seconds."""
        body = self._shared(arguments)
        return self._replies(dict.fromkeys(range(len(self.shards)), body), method, timeout)

    def send(self, method: str, arguments: Mapping[int, Arguments]) -> dict[int, Any]:
        """Return the replies of some shards, each called with arguments of its own."""
        return self._replies({shard: pickle.dumps(given, 5) for shard, given in arguments.items()}, method, None)

    def begin(self) -> None:
        """Send every shard all that it has to know."""
        self.send("begin", {shard: self._states.everything(shard) or () for shard in range(len(self.shards))})

    def reduce(self, method: str, *arguments: Any) -> Any:
        """Return the sum of the replies of all shards, added in a tree: no process adds more than `BRANCHES`."""
        body = self._shared(arguments)
        while True:
            sent = [self._send(shard, method, body) for shard in range(len(self.shards))]
            nodes, step = sent, 1
            while len(nodes) > BRANCHES:
                step *= BRANCHES
                groups = [nodes[first : first + BRANCHES] for first in range(0, len(nodes), BRANCHES)]
                nodes = [self.shards[n * step].combined.remote(*group) for n, group in enumerate(groups)]
            if ray.wait(nodes, num_returns=len(nodes), timeout=WARN_AFTER)[1]:
                self._warn_waiting(range(len(self.shards)))
            try:
                return total([self._read(reply) for reply in ray.get(nodes)])
            except LOST:
                # The replies are not used: shards that were restarted are restored, and all are called again.
                waiting = dict(enumerate(sent))
                self._wait(waiting, dict.fromkeys(waiting, body), method, None, time.monotonic())

    def close(self) -> None:
        """End the shards."""
        self._closed = True
        for shard in self.shards:
            ray.kill(shard)

    def _shared(self, arguments: Arguments) -> Any:
        """Arguments for all shards, pickled; large ones are sent only once to every machine."""
        body = pickle.dumps(arguments, 5)
        return body if len(body) <= MAX_INLINE_BYTES else _Large(ray.put(body), len(body))

    def _replies(self, bodies: dict[int, Any], method: str, timeout: float | None) -> dict[int, Any]:
        began = time.monotonic()
        left = None if timeout is None else self._left_after_waiting_for_late(bodies, timeout)
        asked = {
            shard: self._send(shard, method, body)
            for shard, body in bodies.items()
            if not self._is_late(shard, timeout)
        }
        try:
            replies = ray.get(list(asked.values()), timeout=WARN_AFTER if left is None else min(WARN_AFTER, left))
        except (GetTimeoutError, *LOST):
            return self._wait(asked, bodies, method, timeout, began)
        self._validate_replies(replies, timeout)
        return {shard: self._read(reply) for shard, reply in zip(asked, replies, strict=True)}

    def _send(self, shard: int, method: str, body: Any) -> Any:
        if self._closed:
            raise BagwiseError("This pool is closed: open another.")
        version = None if method == "begin" else self._states.next_version(shard)
        head = pickle.dumps((method, version), 5)
        self.bytes_out += len(head) + len(body)
        self.messages += 1
        return self.shards[shard].call.remote(head, body.ref if isinstance(body, _Large) else body)

    def _read(self, reply: bytes) -> Any:
        self.bytes_in += len(reply)
        found = pickle.loads(reply)  # noqa: S301 -- from a process of our own
        if isinstance(found, BagwiseError):
            raise found
        return found

    def _left_after_waiting_for_late(self, shards: Iterable[int], timeout: float) -> float:
        """The seconds left of a timeout; where all shards work on a message before, after the first has replied."""
        late = [self._late.get(shard) for shard in shards]
        if not late or None in late:
            return timeout
        began = time.monotonic()
        ray.wait(late, num_returns=1, timeout=timeout)
        return max(0.0, timeout - (time.monotonic() - began))

    def _is_late(self, shard: int, timeout: float | None) -> bool:
        """Whether it still works on the message before, and the timeout allows to leave it out."""
        before = self._late.pop(shard, None)
        if before is None or timeout is None or ray.wait([before], timeout=0)[0]:
            return False
        self._late[shard] = before
        return True

    def _wait(
        self, asked: dict[int, Any], bodies: dict[int, Any], method: str, timeout: float | None, began: float
    ) -> dict[int, Any]:
        """Wait for all replies, warn of slow shards, and restore shards that were restarted."""
        replies: dict[int, Any] = {}
        waiting, restored, warn_at = dict(asked), set[int](), began + WARN_AFTER
        until = began + (float("inf") if timeout is None else timeout)
        while waiting:
            left = until - time.monotonic()
            refs = list(waiting.values())
            done = set(ray.wait(refs, num_returns=len(refs), timeout=max(0.0, min(POLL_SECONDS, left)))[0])
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
            if waiting and time.monotonic() > warn_at:
                self._warn_waiting(waiting)
                warn_at = time.monotonic() + WARN_EVERY
        self._late |= waiting
        self._validate_replies(replies, timeout)
        return dict(sorted(replies.items()))

    def _settled(self, shard: int, reply: Any) -> tuple[Any] | None:
        """The reply of a shard; None where it has to be restored and called again."""
        try:
            found = ray.get(reply)
        except ActorDiedError as error:
            why = str(error).strip().splitlines()[-1]
            raise BagwiseError(f"{self.names[shard]} ended and cannot be restarted: {why}") from error
        except (RayActorError, ObjectLostError):
            log.warning("%s crashed and is restarting.", self.names[shard])
            return None
        except RayTaskError as error:
            if isinstance(error.cause, OutOfDate):
                return None
            raise BagwiseError(f"{self.names[shard]} failed: {error.cause!r}.") from error
        return (None if found is None else self._read(found),)

    def _give(self, shard: int) -> Any:
        return self.shards[shard].take.remote(*self._given[shard])

    def _restore(self, shard: int) -> Any:
        """Send a shard that was restarted all that it has to know: its reply when it has it."""
        given = self._give(shard) if self._given else None
        state = self._states.everything(shard)
        if state is None and given is not None:
            return given
        return self._send(shard, "begin", pickle.dumps(state, 5)) if state is not None else ray.put(None)

    def _warn_waiting(self, shards: Iterable[int]) -> None:
        names = [self.names[shard] for shard in shards]
        more = [f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
        free, total_cpus = (kind.get("CPU", 0.0) for kind in (ray.available_resources(), ray.cluster_resources()))  # type: ignore[no-untyped-call]
        log.warning(
            "Waiting for %s. %g of %g CPUs of the cluster are free.",
            " and ".join([*names[:MAX_NAMED], *more]),
            free,
            total_cpus,
        )

    def _validate_replies(self, replies: Sized, timeout: float | None) -> None:
        if not replies:
            raise BagwiseError(f"No shard replied within {timeout} s: retry, or increase `timeout`.")


class _Large:
    """A reference to bytes in Ray's store."""

    def __init__(self, ref: Any, size: int) -> None:
        self.ref, self._size = ref, size

    def __len__(self) -> int:
        return self._size
