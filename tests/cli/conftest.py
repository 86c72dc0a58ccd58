from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tests import conftest

ROWS = 60
BRIEF = ["--time", "0.1", "--candidates", "1"]


def make_columns(rows: int = ROWS) -> dict[str, list[str]]:
    """A table as texts: a number, a category, a day, a group and both kinds of target."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=rows)
    colour = rng.choice(["red", "blue"], size=rows)
    return {
        "size": [f"{value:.4f}" for value in size],
        "colour": list(map(str, colour)),
        "day": [f"2024-01-{1 + i % 28:02d}" for i in range(rows)],
        "house": [str(i % 6) for i in range(rows)],
        "kind": [
            "high" if s + (c == "red") > 0.5 else "low" for s, c in zip(size, colour, strict=True)
        ],
        "value": [f"{3 * value + 1:.4f}" for value in size],
    }


def write_csv(path: Path, columns: dict[str, list[str]]) -> Path:
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def change(name: str, where: dict[int, str] | str) -> Callable[[], dict[str, list[str]]]:
    """The table with one column changed, in some rows or in all."""

    def changed() -> dict[str, list[str]]:
        columns = make_columns()
        if isinstance(where, str):
            columns[name] = [where] * ROWS
        else:
            for row, text in where.items():
                columns[name][row] = text
        return columns

    return changed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="package", autouse=True)
def brief() -> Iterator[None]:
    """Every run of this room's own process."""
    with conftest.patch_plan_constants(conftest.BRIEF):
        yield


@pytest.fixture(scope="package")
def finished(tmp_path_factory: pytest.TempPathFactory, brief: None) -> Path:
    """A folder with `good.csv` and its finished runs: `classes` and `quantity`."""
    folder = tmp_path_factory.mktemp("finished")
    good = write_csv(folder / "good.csv", make_columns())
    for target, other, name in (("kind", "value", "classes"), ("value", "kind", "quantity")):
        arguments = ["search", str(good), "--target", target, "--drop", other]
        limit = ["--max-parameters", "300", "--out", str(folder / name), "--quiet"]
        assert run([*arguments, *limit, *BRIEF]) == 0
    return folder
