from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tabnas.data import Table
from tabnas.runs import PlannedRun
from tests.conftest import BRIEF, planned_with
from tests.runs.helpers import Nursery, made_table, planned


@pytest.fixture(scope="package", autouse=True)
def brief() -> Iterator[None]:
    """Every run of this room's own process, unless a test has the usual ones."""
    with planned_with(BRIEF):
        yield


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    """Where processes begin that are to be killed."""
    nursery = Nursery(tmp_path)
    with nursery._mother:  # ends when nothing more is asked of it
        yield nursery


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    """Return a short run of 300 rows, whose candidates are cross-validated."""
    return planned(300)


@pytest.fixture
def table() -> Table:
    return made_table()
