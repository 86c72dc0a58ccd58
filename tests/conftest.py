from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import monotonic, sleep

import pytest
from hypothesis import settings

from tabnas import threads
from tabnas.latency import _survey
from tabnas.runs.plan import _default_plan, _teacher_plan, _time_estimates
from tabnas.threads import limit_threads

# No deadline, since the first example may compile. Derandomised, so that examples stay the same.
settings.register_profile("tabnas", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("tabnas")

MODULES = {
    "MIN_STEPS": _default_plan,
    "EPOCHS": _default_plan,
    "TIMING_SECONDS": _time_estimates,
    "AUTO_TEACHERS": _teacher_plan,
}
USUAL = {name: getattr(module, name) for name, module in MODULES.items()}
BRIEF = {"MIN_STEPS": 200, "EPOCHS": 8, "TIMING_SECONDS": 0.01, "AUTO_TEACHERS": ()}
PROBES = ("random_network", "random_table", "random_embedded_network")
MAKE_CALL = cache(_survey.Probe.make_call)
CACHED = {name: cache(getattr(_survey, name)) for name in PROBES}


@contextmanager
def patch_plan_constants(numbers: Mapping[str, object]) -> Iterator[None]:
    """Patch the constants that runs are planned with.

    Packages whose tests do not depend on the quality of a run use `BRIEF` in a fixture.
    """
    with pytest.MonkeyPatch.context() as patched:
        for name, value in numbers.items():
            patched.setattr(MODULES[name], name, value)
        yield


@pytest.fixture(autouse=True, scope="session")
def single_threaded_runs() -> Iterator[None]:
    """Let runs in the processes of the tests use one thread, unless a test says otherwise.

    There is a process for each core already. Runs in processes that tests start use all cores.
    """
    with limit_threads(1):
        yield


@pytest.fixture
def default_trainings() -> Iterator[None]:
    """Plan runs with the defaults in a package whose runs are brief."""
    with patch_plan_constants(USUAL):
        yield


@pytest.fixture
def idle_cores() -> None:
    """Wait until threads of earlier tests have ended and have released their cores."""
    end = monotonic() + 60
    while threads._claimed and monotonic() < end:
        sleep(0.01)
    assert threads._claimed == 0, "an earlier test in this process has not released its cores"


@pytest.fixture
def probes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the networks and tables for measuring a machine only once."""
    for name, cached in CACHED.items():
        monkeypatch.setattr(_survey, name, cached)
    monkeypatch.setattr(_survey.Probe, "make_call", MAKE_CALL)
