"""The pool of worker threads."""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings

import pytest

from tabnas.nets.compiled._kernels import KERNELS
from tabnas.nets.compiled._worker_pool import WorkerPool


def test_results_are_in_the_order_of_the_workers():
    pool = WorkerPool(4, KERNELS.count_and_poll)

    def job(worker):
        time.sleep(0.01 * (4 - worker))
        return float(worker)

    assert pool.run(job, 4) == [0.0, 1.0, 2.0, 3.0]
    assert pool.run(job, 2) == [0.0, 1.0]


def test_an_error_is_raised_and_the_pool_can_be_used_again():
    pool = WorkerPool(3, KERNELS.count_and_poll)

    def job(worker):
        if worker == 2:
            raise IndexError("of worker 2")
        return 1.0

    with pytest.raises(IndexError, match="of worker 2"):
        pool.run(job, 3)
    assert pool.run(lambda worker: 2.0, 3) == [2.0] * 3


def test_threads_end_with_their_pool():
    before = set(threading.enumerate())
    pool = WorkerPool(3, KERNELS.count_and_poll)
    pool.run(lambda worker: 0.0, 3)
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del pool
    gc.collect()
    for thread in started:
        thread.join(timeout=5.0)
        assert not thread.is_alive()


def test_results_of_an_interrupted_run_are_dropped():
    pool = WorkerPool(2, lambda *_: None)
    calls = []

    def poll(*_):
        calls.append(True)
        if len(calls) == 1:
            raise KeyboardInterrupt

    pool._count_and_poll = poll
    with pytest.raises(KeyboardInterrupt):
        pool.run(lambda worker: 100.0 + worker, 2)
    assert pool.run(lambda worker: 200.0 + worker, 2) == [200.0, 201.0]
    assert pool.run(lambda worker: 300.0 + worker, 2) == [300.0, 301.0]


def test_a_forked_process_has_its_own_pool():
    pool = WorkerPool(2, KERNELS.count_and_poll)
    assert pool.run(lambda worker: float(worker), 2) == [0.0, 1.0]
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if child == 0:
        done = pool.run(lambda worker: 10.0 + worker, 2) == [10.0, 11.0]
        os.write(write, b"1" if done else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"1"
