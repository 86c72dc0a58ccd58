from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tabnas.data import Table
from tabnas.runs import PlannedRun
from tests.conftest import BRIEF, patch_plan_constants
from tests.runs.helpers import ForkServer, make_table, plan_short_run


@pytest.fixture(scope="package", autouse=True)
def short_plans() -> Iterator[None]:
    """Plan short runs in all tests of this package, unless a test asks for the defaults."""
    with patch_plan_constants(BRIEF):
        yield


@pytest.fixture
def fork_server(tmp_path: Path) -> Iterator[ForkServer]:
    """Start processes that a test can kill."""
    fork_server = ForkServer(tmp_path)
    with fork_server._server:  # it ends when its input is closed
        yield fork_server


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    """Return a short run of 300 rows, whose candidates are cross-validated."""
    return plan_short_run(300)


@pytest.fixture
def table() -> Table:
    return make_table()
