"""Benchmarks take hours, so tests do not run them: they check that all they call exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STALE = re.compile(r"\[(attr-defined|call-arg|name-defined|import-not-found)\]$")
"""Errors of mypy about code that no longer fits what it calls."""


@pytest.mark.slow
def test_benchmarks_call_what_exists(tmp_path: Path) -> None:
    stale = tmp_path / "stale.py"  # shows that such calls are found
    stale.write_text("from tabnas.runs import FinishedRun\n\nFinishedRun.no_such\n")
    options = ["--config-file=", "--check-untyped-defs", "--follow-imports=silent",
               "--ignore-missing-imports", f"--cache-dir={tmp_path}"]  # fmt: skip
    process = subprocess.run(
        [sys.executable, "-m", "mypy", *options, ".", str(stale)],
        cwd=BENCHMARKS, capture_output=True, text=True,
    )  # fmt: skip
    errors = [line for line in process.stdout.splitlines() if STALE.search(line)]
    assert len(errors) == 1, process.stdout + process.stderr
    assert errors[0].endswith('"type[FinishedRun]" has no attribute "no_such"  [attr-defined]')
