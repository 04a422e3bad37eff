"""Batching: requests that arrive while others are being served are served together, in one transaction.

The database takes as long for twenty requests as for one, so twenty people wait hardly longer than one.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from typing import Generic, TypeVar

from bagwise.project import Event, Invitations, Lease, LeaseRequest, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.leases import none_left

STANDS_STILL = 0.05
"""Seconds for which the event loop waits for a batch that is served, at most."""
ITERATIONS = 3
"""Of the event loop, from the bytes of a request to the call of a batch."""

Request = TypeVar("Request")
Response = TypeVar("Response")
Shows = TypeVar("Shows")


class Batch(Generic[Request, Response]):
    """Calls `serve`, in this thread, with all that came in since the last time."""

    def __init__(
        self, thread: ThreadPoolExecutor, serve: Callable[[list[Request]], Sequence[Response | Exception]]
    ) -> None:
        self._serve, self._thread = serve, thread
        self._waiting: list[tuple[Request, asyncio.Future[Response]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> Response:
        """The response to this request."""
        served: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, served))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        return await served

    async def _all_in(self) -> None:
        """Let the event loop read what has arrived meanwhile."""
        seen = 0
        while seen < len(self._waiting):
            seen = len(self._waiting)
            for _ in range(ITERATIONS):
                await asyncio.sleep(0)

    async def _serve_all(self) -> None:
        while self._waiting:
            await self._all_in()
            batch, self._waiting = self._waiting, []
            try:
                serving = self._thread.submit(self._serve, [request for request, _ in batch])
                # Two threads share one interpreter: beside this one, the other would take a third longer.
                wait([serving], STANDS_STILL)
                found = serving.result() if serving.done() else await asyncio.wrap_future(serving)
            except Exception as error:
                found = [error] * len(batch)
            for (_, served), result in zip(batch, found, strict=True):
                if served.done():
                    continue
                if isinstance(result, Exception):
                    served.set_exception(result)
                else:
                    served.set_result(result)


class Batcher(Generic[Shows]):
    """Batches the sign-ins, answers and leases of one project; `show` makes what is sent of the leases of a batch."""

    def __init__(self, project: Project, show: Callable[[Project, Sequence[Lease]], list[Shows]]) -> None:
        self.project, self._show = project, show
        signing_in, working = (ThreadPoolExecutor(1, f"bagwise-{name}") for name in ("sign-in", "project"))
        self.who = Batch[Shown, str | None](signing_in, Invitations(project.database).who)
        # In one thread: they hold the same lock, and two threads would wait for each other more often than they work.
        self.submit = Batch[Submission, list[Event]](working, project.submit_all)
        self._lease = Batch[LeaseRequest, list[Shows] | None](working, self._leased)
        self._threads = signing_in, working

    async def ask(self, request: LeaseRequest) -> list[Shows]:
        """As `Project.ask`, but what is shown of the leases."""
        for tried in range(request.tries):
            for published, seconds in self.project.waits(request.count, tried):
                await asyncio.wait([asyncio.wrap_future(published)], timeout=seconds)
            shown = await self._lease(request)
            if shown is not None:
                return shown
        none_left(request)
        return []

    def _leased(self, requests: Sequence[LeaseRequest]) -> list[list[Shows] | None]:
        found = self.project.lease(requests)
        shown = iter(self._show(self.project, [lease for leases in found for lease in leases or ()]))
        return [None if leases is None else list(islice(shown, len(leases))) for leases in found]

    def close(self) -> None:
        """Stop serving."""
        for thread in self._threads:
            thread.shutdown()
