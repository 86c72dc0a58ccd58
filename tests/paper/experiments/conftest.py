from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import run


@pytest.fixture(scope="module")
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the quick form of an experiment with the command, and return its folder.

    A module defines its `NAME`, and may have a function `DATA` that fills a folder of tables.
    """
    name = request.module.NAME
    folder = tmp_path_factory.mktemp(name)
    data = getattr(request.module, "DATA", lambda folder: None)(tmp_path_factory.mktemp("data"))
    options = [] if data is None else ["--data", str(data)]
    assert run(["paper", name, "--quick", *options, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def summary(out: Path) -> dict[str, Any]:
    """Return its summary."""
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return content
