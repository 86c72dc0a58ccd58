from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import run


@pytest.fixture(scope="module")
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment's quick form, made by the command.

    A module gives its `NAME`, and may have a function `DATA` that fills a folder of tables.
    """
    name = request.module.NAME
    folder = tmp_path_factory.mktemp(name)
    data = getattr(request.module, "DATA", lambda folder: None)(tmp_path_factory.mktemp("data"))
    own = [] if data is None else ["--data", str(data)]
    assert run(["paper", name, "--quick", *own, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def summary(out: Path) -> dict[str, Any]:
    """What its rows say."""
    found: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return found
