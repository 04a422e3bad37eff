"""Tasks in worker processes, and a child process with messages."""

import multiprocessing
import os
import signal
import subprocess

import pytest

from bagwise.core import processes
from bagwise.core.errors import BagwiseError
from bagwise.core.processes import ChildProcess, RemoteTraceback, TaskTimeout, WorkerCrashed, WorkerPool
from tests.core import work


@pytest.fixture(autouse=True)
def fresh_children(monkeypatch):
    """Here a child process is a Python of its own, as anywhere but in the tests."""
    monkeypatch.setattr(processes, "subprocess", subprocess)


def test_results_come_in_order_or_as_they_complete():
    with WorkerPool(work.slow_first, 2) as pool:
        assert list(pool.in_order(range(40))) == list(range(40))
        assert sorted(pool.as_completed(range(5))) == [(n, n) for n in range(5)]
        assert list(pool.in_order([])) == []


def test_no_more_tasks_are_started_than_may_wait(monkeypatch):
    monkeypatch.setattr(processes, "AHEAD", 1)
    with WorkerPool(work.slow_first, 2) as pool:
        assert list(pool.in_order(range(6))) == list(range(6))


def test_every_worker_is_set_up_and_may_report_progress():
    with WorkerPool(work.run, 1, setup=work.set_up) as pool:
        assert list(pool.in_order("ab")) == [("a", ["set up"]), ("b", ["set up"])]
    reported = []
    with WorkerPool(work.counting, 2, on_progress=reported.append) as pool:
        assert list(pool.in_order([3, 4])) == [-3, -4]
    assert reported == [1] * 7


def test_a_task_that_crashes_its_worker_is_named():
    with WorkerPool(work.run, 1) as pool, pytest.raises(WorkerCrashed, match="killed by SIGKILL while it ran crash: "):
        list(pool.in_order(["a", "crash", "b"]))
    with WorkerPool(work.run, 1) as pool, pytest.raises(WorkerCrashed, match="ended with status 3 while it ran exit"):
        list(pool.in_order(["exit"]))


def test_a_crashed_or_late_worker_is_replaced(monkeypatch):
    monkeypatch.setattr(processes, "POLL_SECONDS", 0.05)

    def on_failure(task, error):
        return task, type(error)

    with WorkerPool(work.run, 2, timeout=5.0, on_failure=on_failure) as pool:
        found = list(pool.in_order(["a", "crash", "hang", "b", "exit", "c"]))
    assert [one[1] for one in found] == [[], WorkerCrashed, TaskTimeout, [], WorkerCrashed, []]


def test_an_error_of_a_task_is_raised_with_its_traceback():
    with WorkerPool(work.run, 2) as pool, pytest.raises(BagwiseError, match=r"^it failed$") as error:
        list(pool.in_order(["a", "fail"]))
    assert isinstance(error.value.__cause__, RemoteTraceback)
    assert 'raise BagwiseError("it failed")' in str(error.value.__cause__)


def test_leaving_the_pool_ends_its_workers():
    with WorkerPool(work.run, 2) as pool:
        next(pool.as_completed(["a", "hang"]))
    assert not [one for one in multiprocessing.active_children() if one.is_alive()]


def test_workers_are_spawned_where_they_cannot_be_forked(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with WorkerPool(work.run, 1) as pool:
        assert list(pool.in_order("a")) == [("a", [])]


@pytest.fixture
def child():
    process = ChildProcess("tests.core.work", "x")
    yield process
    process.kill()


def test_messages_to_a_child_process_and_back(child):
    messages = child.messages()
    child.send({"a": 1})
    message, pid, arguments = next(messages)
    assert (message, arguments) == ({"a": 1}, ["x"])
    os.kill(pid, signal.SIGINT)
    child.send("after an interrupt")
    assert next(messages)[0] == "after an interrupt"
    child.stop(timeout=60)
    assert not child.is_running
    assert list(messages) == []
    child.send("nobody listens")


def test_a_child_process_that_crashes_ends_its_messages(child):
    messages = child.messages()
    child.send(1)
    os.kill(next(messages)[1], signal.SIGKILL)
    assert list(messages) == []
    assert not child.is_running


def test_a_child_process_ends_with_its_parent(child):
    child.send(1)
    next(child.messages())
    child._process.stdin.close()
    child.wait()
    assert child._process.returncode == 1
