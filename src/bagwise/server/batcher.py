"""Batching: requests that arrive while others are being served are served together, in one transaction.

The database takes as long for twenty requests as for one, so twenty people wait hardly longer than one.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from bagwise.project import Event, Invitations, Lease, LeaseRequest, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.leases import none_left

Request = TypeVar("Request")
Response = TypeVar("Response")


class Batch(Generic[Request, Response]):
    """Calls `serve`, in a thread of its own, with all that came in since the last time."""

    def __init__(self, name: str, serve: Callable[[list[Request]], Sequence[Response | Exception]]) -> None:
        self._serve = serve
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"bagwise-{name}")
        self._waiting: list[tuple[Request, asyncio.Future[Response]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> Response:
        """The response to this request."""
        served: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, served))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        return await served

    async def _serve_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await loop.run_in_executor(self._thread, self._serve, [request for request, _ in batch])
            except Exception as error:
                found = [error] * len(batch)
            for (_, served), result in zip(batch, found, strict=True):
                if served.done():
                    continue
                if isinstance(result, Exception):
                    served.set_exception(result)
                else:
                    served.set_result(result)

    def close(self) -> None:
        """Stop serving."""
        self._thread.shutdown()


class Batcher:
    """Batches the sign-ins, answers and leases of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.who = Batch[Shown, str | None]("who", Invitations(project.database).who)
        self.submit = Batch[Submission, list[Event]]("answers", project.submit_all)
        self._lease = Batch[LeaseRequest, list[Lease] | None]("leases", project.lease)

    async def ask(self, request: LeaseRequest) -> list[Lease]:
        """As `Project.ask`."""
        for tried in range(request.tries):
            for published, seconds in self.project.waits(request.count, tried):
                await asyncio.wait([asyncio.wrap_future(published)], timeout=seconds)
            leases = await self._lease(request)
            if leases is not None:
                return leases
        return none_left(request)

    def close(self) -> None:
        """Stop serving."""
        for batch in (self.who, self.submit, self._lease):
            batch.close()
