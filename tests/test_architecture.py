"""The packages of docs/architecture.md and which may import which."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import tabnas

ROOT = Path(tabnas.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
LEAVES = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
MAX_FILES = 22
"""Of one folder, so that its listing can be read."""
MAX_WALK = 13
"""Modules from `tabnas search` to the files on disk."""


@cache
def list_packages() -> dict[str, set[str]]:
    """Return each package and those it may import, from the table of the page."""
    allowed: dict[str, set[str]] = {}
    for package, imports in re.findall(r"^\| `(\w+)` \|.*\| *(.*?) *\|$", PAGE.read_text(), re.M):
        named = set(re.findall(r"`(\w+)`", imports))
        allowed[package] = set(allowed) if imports in ("the above", "all") else named
    return allowed


@cache
def list_modules() -> dict[str, Path]:
    """Return every module of tabnas by its dotted name."""
    return {
        ".".join(("tabnas", *path.relative_to(ROOT).with_suffix("").parts)): path
        for path in ROOT.rglob("*.py")
    }


@cache
def find_imports(path: Path) -> set[str]:
    """Return the modules of tabnas that a file imports, also in functions and for type checks."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    modules = list_modules()
    resolved = {name if name in modules else name.rpartition(".")[0] for name in found}
    return {name for name in resolved if name.split(".")[0] == "tabnas"}


def find_package_imports(path: Path) -> set[str]:
    """Return the packages and leaves that a file imports."""
    tops = {name.split(".")[1] for name in find_imports(path) if "." in name}
    return {top for top in tops if (ROOT / top).is_dir() or (ROOT / f"{top}.py").exists()}


def test_the_page_lists_the_folders() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders == set(list_packages())


@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_leaves_are_on_the_page_and_import_no_package(leaf: str) -> None:
    assert f"`{leaf}.py`" in PAGE.read_text()
    assert find_package_imports(ROOT / f"{leaf}.py") <= LEAVES


@pytest.mark.parametrize("package", sorted(list_packages()))
def test_packages_import_what_the_page_allows(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        others = find_package_imports(path) - {package} - LEAVES
        assert others <= list_packages()[package], f"{path.relative_to(ROOT)} imports {others}"


@pytest.mark.parametrize("package", sorted(list_packages()))
def test_modules_of_a_package_do_not_import_each_other_in_a_circle(package: str) -> None:
    prefix = f"tabnas.{package}."
    modules = {
        name: path
        for name, path in list_modules().items()
        if name.startswith(prefix) and path.name != "__init__.py"
    }
    graph = {name: find_imports(path) & modules.keys() - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import each other: {' <- '.join(error.args[1])}")


def test_the_steps_of_a_run_import_only_earlier_steps() -> None:
    section = PAGE.read_text().partition("## The steps of a run")[2].partition("\n## ")[0]
    order = re.findall(r"^\d+\. `(\w+)`", section, re.M)
    steps = {path.stem for path in (ROOT / "runs").iterdir() if path.stem.strip("_")}
    assert set(order) == steps - {"__init__", "__pycache__"}
    for name, path in list_modules().items():
        if not name.startswith("tabnas.runs.") or name == "tabnas.runs.__init__":
            continue
        step = order.index(name.split(".")[2])
        used = {other.split(".")[2] for other in find_imports(path) if other.count(".") > 1
                and other.startswith("tabnas.runs.")}  # fmt: skip
        later = {other for other in used if order.index(other) > step}
        assert not later, f"{name} imports {later}"


def test_the_walk_of_a_search_is_short_and_goes_one_way() -> None:
    section = PAGE.read_text().partition("## The walk of a search")[2].partition("\n## ")[0]
    walk = re.findall(r"^\d+\. `([\w/]+)\.py`", section, re.M)
    assert 5 < len(walk) <= MAX_WALK
    names = ["tabnas." + step.replace("/", ".") for step in walk]
    modules = list_modules()
    assert set(names) <= modules.keys()
    packages = [name.split(".")[1] for name in names]
    assert packages == sorted(packages), "the walk goes back to a package"
    for before, name in pairwise(names):
        if before.split(".")[1] == name.split(".")[1]:
            earlier = names[: names.index(name)]
            assert any(name in find_imports(modules[other]) for other in earlier), name


@pytest.mark.parametrize("folder", sorted({path.parent for path in ROOT.rglob("*.py")}), ids=str)
def test_folders_are_small(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= MAX_FILES


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
