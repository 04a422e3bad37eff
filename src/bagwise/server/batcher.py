"""The desk: everybody who asks, answers or shows a token while others are being served is served together next.

The database takes as long for twenty people as for one, so many at once wait hardly longer than one alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from bagwise.project import Asked, Asker, Event, Invitations, NoQuestion, Project, Said
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.leases import TRIES

Wish = TypeVar("Wish")
Served = TypeVar("Served")


class Together(Generic[Wish, Served]):
    """Calls `serve`, in a thread of its own, with all that came in since the last time."""

    def __init__(self, name: str, serve: Callable[[list[Wish]], Sequence[Served | Exception]]) -> None:
        self._serve = serve
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"bagwise-{name}")
        self._waiting: list[tuple[Wish, asyncio.Future[Served]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, wish: Wish) -> Served:
        """What this wish is served."""
        served: asyncio.Future[Served] = asyncio.get_running_loop().create_future()
        self._waiting.append((wish, served))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        return await served

    async def _serve_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await loop.run_in_executor(self._thread, self._serve, [wish for wish, _ in batch])
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
        """Serve nobody any more."""
        self._thread.shutdown()


class Batcher:
    """Where the people of one project are served."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.who = Together[Shown, str | None]("who", Invitations(project.database).who)
        self.save = Together[Said, Event]("saving", project.answers)
        self._lease_questions = Together[Asker, list[Asked] | None]("handing", project.lease_questions)

    async def ask(self, annotator: str, count: int) -> list[Asked]:
        """As `Project.ask`."""
        for tried in range(TRIES):
            for published, seconds in self.project.waits(count, tried):
                await asyncio.wait([asyncio.wrap_future(published)], timeout=seconds)
            asked = await self._lease_questions(Asker(annotator, count))
            if asked is not None:
                return asked
        raise NoQuestion

    def close(self) -> None:
        """Serve nobody any more."""
        for together in (self.who, self.save, self._lease_questions):
            together.close()
