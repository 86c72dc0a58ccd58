"""Commands import only what they need: most of the time before the first step is imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PLAN = """
import sys
from tabnas.cli._main import run
run("search digits --max-parameters 5000 --dry-run --json".split())
print(sorted({"jinja2", "joblib", "onnx", "pandas", "sklearn", "torch"} & set(sys.modules)))
"""
CONVERT = """
from tabnas.cli._tables import configure_arrow
configure_arrow()
import pandas
from tabnas.data import Table
print(Table.from_data({"x": pandas.Series(["a", None], dtype="category")}).arrow.schema.types)
"""


def run_code(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def test_a_search_begins_without_what_only_its_end_needs(tmp_path: Path) -> None:
    assert run_code(PLAN, tmp_path) == "[]"


def test_frames_are_read_after_arrow_has_found_no_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    assert "dictionary" in run_code(CONVERT, tmp_path)
