"""Processes that compute for a thread of this one: `tabnas.processes`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest
from joblib.externals.loky import ProcessPoolExecutor

from tabnas import TabNASError
from tabnas.processes import (
    Processes,
    ProcessesClosedError,
    call_in_process,
    start_process,
    use_processes,
)
from tests.processes import TIMEOUT


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_calls_run_in_another_process_only_where_that_is_allowed() -> None:
    assert call_in_process(os.getpid) == os.getpid()
    with use_processes():
        process = call_in_process(os.getpid)
        assert process != os.getpid()
        with use_processes():
            assert call_in_process(os.getpid) == process
        assert is_alive(process)
    assert call_in_process(os.getpid) == os.getpid()
    deadline = time.monotonic() + TIMEOUT
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(process)


def test_threads_with_the_context_of_a_block_use_its_processes() -> None:
    seen: list[int] = []
    with use_processes():
        work = partial(copy_context().run, lambda: seen.append(call_in_process(os.getpid)))
        thread = Thread(target=work)
        thread.start()
        thread.join()
    assert seen != [os.getpid()]


def test_an_error_reaches_the_caller_and_the_process_goes_on(processes: Processes) -> None:
    process = processes.call(os.getpid)
    with pytest.raises(ValueError, match="invalid literal"):
        processes.call(int, "seven")
    assert processes.call(os.getpid) == process


def die_unless(process: int) -> str:
    if os.getpid() != process:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_if_a_process_dies_its_call_is_repeated_here(processes: Processes) -> None:
    assert processes.call(die_unless, os.getpid()) == "done"
    assert processes.call(os.getpid) == os.getpid()  # that one is dead
    assert processes.call(os.getpid) != os.getpid()


def test_closing_ends_a_process_at_work(processes: Processes, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    errors: list[BaseException] = []

    def call() -> None:
        try:
            processes.call(sleep_long, begun)
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=call)
    thread.start()
    while not begun.exists():
        time.sleep(0.01)
    processes.close()
    thread.join(TIMEOUT)
    assert isinstance(errors[0], ProcessesClosedError)
    with pytest.raises(ProcessesClosedError):
        processes.call(os.getpid)


def sleep_long(begun: Path) -> None:
    begun.touch()
    time.sleep(10 * TIMEOUT)


def test_a_process_can_be_prepared(processes: Processes, tmp_path: Path) -> None:
    processes.prepare((tmp_path / "prepared").touch)
    processes.call(os.getpid)  # it comes after
    assert (tmp_path / "prepared").exists()


def test_where_processes_cannot_start_calls_run_here(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError("no semaphores on this machine")

    monkeypatch.setattr("tabnas.processes.start_process", refuse)
    processes.prepare(os.getpid)
    assert processes.call(os.getpid) == os.getpid()


def test_a_joblib_without_loky_leaves_it_to_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib.externals.loky", None)
    monkeypatch.setitem(sys.modules, "loky", None)
    with pytest.raises(TabNASError, match="install it with pip install loky"):
        start_process()
    package = ModuleType("loky")
    package.ProcessPoolExecutor = ProcessPoolExecutor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "loky", package)
    assert isinstance(start_process(), ProcessPoolExecutor)
