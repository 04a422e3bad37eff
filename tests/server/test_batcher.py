"""People who come while others are being served are served together."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bagwise.core.errors import BagwiseError
from bagwise.project import LeaseRequest, Submission, TrainerStopped
from bagwise.project.access.invitations import Shown
from bagwise.server.batcher import Batch, Batcher


def run(work):
    # In a thread, since Playwright leaves an event loop running in this one.
    found = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work())))
    thread.start()
    thread.join(600)
    return found[0]


def test_all_who_wait_are_served_at_once_each_with_their_own():
    served, goes_on = [], threading.Event()

    def serve(wishes):
        served.append(list(wishes))
        assert goes_on.wait(600)
        return [BagwiseError(f"not {wish}") if wish == 3 else 10 * wish for wish in wishes]

    async def work():
        together = Batch(thread, serve)
        waiting = [asyncio.create_task(together(0))]
        await asyncio.sleep(0.05)
        waiting += [asyncio.create_task(together(wish)) for wish in range(1, 6)]
        await asyncio.sleep(0.05)
        goes_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    with ThreadPoolExecutor(1) as thread:
        found = run(work)
    assert served == [[0], [1, 2, 3, 4, 5]]
    assert [one for one in found if isinstance(one, int)] == [0, 10, 20, 40, 50]
    with pytest.raises(BagwiseError, match="not 3"):
        raise found[3]


def test_what_fails_for_all_fails_for_all_and_the_next_are_served():
    def serve(wishes):
        if "bad" in wishes:
            raise BagwiseError("The database is gone.")
        return wishes

    async def work():
        together = Batch(thread, serve)
        found = await asyncio.gather(together("bad"), together("good"), return_exceptions=True)
        return [*found, await together("later")]

    with ThreadPoolExecutor(1) as thread:
        *failed, later = run(work)
    assert [str(one) for one in failed] == ["The database is gone."] * 2
    assert later == "later"


def test_answers_are_acknowledged_although_nothing_can_be_asked(project, monkeypatch):
    """They are served together, but saved before the next questions are chosen."""
    (question,) = project.ask("ann")

    def stopped(_):
        raise TrainerStopped

    async def work():
        return await asyncio.gather(
            batcher.submit(Shown(), Submission(question.key, "ann", ("absent",))),
            batcher.ask(Shown(), LeaseRequest("bea")),
            return_exceptions=True,
        )

    batcher = Batcher(project, lambda _, leases: list(leases))
    monkeypatch.setattr(project, "lease", stopped)
    saved, refused = run(work)
    batcher.close()
    assert [event.number for event in saved] == [1]
    assert isinstance(refused, TrainerStopped)
