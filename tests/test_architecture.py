"""The rooms of docs/architecture.md and who may import whom."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tabnas

ROOT = Path(tabnas.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
LEAVES = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}


def rooms() -> dict[str, set[str]]:
    """Each room and those it may import, from the table of the page."""
    allowed: dict[str, set[str]] = {}
    for room, imports in re.findall(r"^\| `(\w+)` \|.*\| *(.*?) *\|$", PAGE.read_text(), re.M):
        named = set(re.findall(r"`(\w+)`", imports))
        allowed[room] = set(allowed) if imports in ("the above", "all") else named
    return allowed


def imported(path: Path) -> set[str]:
    """The rooms that a module imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    tops = {name.split(".")[1] for name in names if name.startswith("tabnas.")}
    return {top for top in tops if (ROOT / top).is_dir() or (ROOT / f"{top}.py").exists()}


def test_the_page_lists_the_folders() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders == set(rooms())


@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_leaves_are_on_the_page_and_import_no_room(leaf: str) -> None:
    assert f"`{leaf}.py`" in PAGE.read_text()
    assert imported(ROOT / f"{leaf}.py") <= LEAVES


@pytest.mark.parametrize("room", sorted(rooms()))
def test_rooms_import_what_the_page_allows(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        others = imported(path) - {room} - LEAVES
        assert others <= rooms()[room], f"{path.relative_to(ROOT)} imports {others}"


def test_importing_tabnas_is_light() -> None:
    heavy = [
        "numba",
        "onnx",
        "onnxruntime",
        "torch",
        "matplotlib",
        "plotly",
        "scipy",
        "pandas",
        "sklearn",
    ]
    code = f"import sys, tabnas; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
