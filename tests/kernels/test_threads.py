"""What a thread computes is what any other computes, bit for bit."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bagwise.kernels.arithmetic.blocks import _workers, single_threaded_blas, use_threads
from bagwise.kernels.cpu.gradient import log_likelihood_and_gradient


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def held():
    with single_threaded_blas():
        return blas_threads()


def test_blas_is_held_to_one_thread_whoever_asks_for_it():
    before = blas_threads()
    for _ in range(2):
        assert held() == {1}
        assert in_a_thread(held) == {1}
    assert blas_threads() == before
    with single_threaded_blas():
        assert in_a_thread(held) == {1}
        assert held() == {1}


def test_it_is_held_after_this_process_was_limited_and_somebody_raised_it_again(monkeypatch):
    monkeypatch.setenv("BAGWISE_THREADS", os.environ.get("BAGWISE_THREADS", ""))
    with threadpool_limits(2, "blas"):
        use_threads(1)
        with threadpool_limits(2, "blas"):
            assert held() == {1}
            assert in_a_thread(held) == {1}
            assert blas_threads() == {2}


def test_it_is_held_and_given_back_where_another_thread_owns_the_limit():
    """Of threadpoolctl's limits only those of the first thread count, until it lets go."""
    before = blas_threads()
    with threadpool_limits(2, "blas"):
        assert in_a_thread(held) == held() == {1}
        assert blas_threads() == {2}
    assert blas_threads() == before


def test_a_gradient_does_not_depend_on_the_thread(rng):
    x, weights, bias = rng.normal(size=(1000, 64)), rng.normal(size=(51, 64)) / 8, rng.normal(size=51)
    offsets, known = np.arange(0, 1001, 10), rng.random((100, 50)) < 0.1

    def gradient():
        with single_threaded_blas():
            return log_likelihood_and_gradient(x, offsets, weights, bias, rng.random((100, 50)) < 0, known)

    here, there = gradient(), in_a_thread(gradient)
    assert here[0] == there[0]
    assert np.array_equal(here[1], there[1])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are assigned on Linux alone")
def test_a_thread_for_every_core_stays_there_and_fewer_go_anywhere():
    cores = os.sched_getaffinity(0)

    def homes(threads):
        together = threading.Barrier(threads)
        with _workers.__wrapped__(threads) as workers:
            return list(workers.map(lambda _: (together.wait(), os.sched_getaffinity(0))[1], range(threads)))

    assert sorted(homes(len(cores)), key=min) == [{core} for core in sorted(cores)]
    for threads in range(1, len(cores)):
        assert homes(threads) == [cores] * threads
    assert os.sched_getaffinity(0) == cores
