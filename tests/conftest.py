from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from hypothesis import settings

from tabnas.latency import _survey
from tabnas.runs.plan import _plan

# No deadline: the first example may have to compile. Derandomised: the same examples every time.
settings.register_profile("tabnas", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("tabnas")

USUAL = {name: getattr(_plan, name) for name in ("MIN_STEPS", "EPOCHS", "TIMING_SECONDS")}
BRIEF = {"MIN_STEPS": 200, "EPOCHS": 8, "TIMING_SECONDS": 0.01}
ONCE = {name: cache(getattr(_survey, name)) for name in ("random_network", "random_table")}


@contextmanager
def patch_plan_constants(numbers: dict[str, float]) -> Iterator[None]:
    """Let runs plan their work with other numbers than are in force.

    Rooms that ask how a run goes, and not how well, have brief ones in a fixture of their own.
    """
    with pytest.MonkeyPatch.context() as patched:
        for name, value in numbers.items():
            patched.setattr(_plan, name, value)
        yield


@pytest.fixture
def default_trainings() -> Iterator[None]:
    """Runs as users have them, where a room has brief ones."""
    with patch_plan_constants(USUAL):
        yield


@pytest.fixture
def probes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks and tables that a machine is measured by, built by the first who asks."""
    for name, remembering in ONCE.items():
        monkeypatch.setattr(_survey, name, remembering)
