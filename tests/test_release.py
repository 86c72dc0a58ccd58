"""What is released: a wheel with what it needs and nothing else, sources that test themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import tabnas

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tabnas"
COMPILED = "__pycache__"  # bytecode and machine code beside the sources


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    from hatchling import build

    folder = tmp_path_factory.mktemp("wheel")
    with chdir(ROOT):
        name = build.build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as opened:
        yield opened


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return message_from_bytes(wheel.read(f"tabnas-{tabnas.__version__}.dist-info/METADATA"))


def test_the_wheel_is_the_package(wheel: zipfile.ZipFile) -> None:
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and COMPILED not in path.parts]
    expected = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected
    assert "tabnas/py.typed" in held
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    assert sum(one.file_size for one in wheel.infolist()) < 9e6  # more than half of it are tables


def test_the_sources_test_themselves(tmp_path: Path) -> None:
    from hatchling import build

    with chdir(ROOT):
        name = build.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as opened:
        held = {Path(*Path(one).parts[1:]).as_posix() for one in opened.getnames()}
    needed = ["Makefile", "constraints.txt", "mkdocs.yml", "tests/conftest.py", "docs/search.md"]
    needed += ["results/README.md", "examples/README.md", "benchmarks/engine.py", "SECURITY.md"]
    assert set(needed) <= held
    assert not [one for one in held if one.startswith((".ci", ".venv", "runs/", "site/"))]
    assert not [one for one in held if COMPILED in one]


def test_one_version_everywhere(metadata: Message) -> None:
    version = tabnas.__version__
    assert metadata["Version"] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    changes = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    released = [change for change in changes if change != "Unreleased"]
    assert re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", released[0])


def test_only_systems_that_are_tested_are_promised(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier", [])
    systems = [one for one in classifiers if one.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert "Python 3.11 or later, on Linux" in (ROOT / "README.md").read_text()


def test_what_everybody_installs_is_small(metadata: Message) -> None:
    """Torch and other large things are extras, and each extra is what the docs call it."""
    required = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    names = {re.split(r"[<>=;\[ ]", one)[0] for one in required}
    assert not names & {"torch", "pandas", "matplotlib", "onnxruntime", "ray", "dask", "mkdocs"}
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ])  # fmt: skip
    assert set(metadata.get_all("Provides-Extra", [])) == extras
    assert not [one for one in required if "==" in one]  # lower bounds only


def test_both_commands_are_one() -> None:
    """`tabnas` and `python -m tabnas` say the same, also of themselves."""
    script = Path(sys.executable).with_name("tabnas")
    said = [
        subprocess.run(
            [*command, "search", "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "80"},
        ).stdout
        for command in ([script], [sys.executable, "-m", "tabnas"])
    ]
    assert said[0] == said[1]
    assert "Usage: tabnas search" in said[0]
