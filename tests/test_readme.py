"""The code of README and docs runs, and every `# -> value` in it is what the line gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.code_blocks import run_block

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/clusters.md",
    "docs/columns.md",
    "docs/export.md",
    "docs/extending.md",
    "docs/ground_truth.md",
    "docs/limits.md",
    "docs/mathematics.md",
    "docs/resume.md",
    "docs/step_by_step.md",
    "docs/strategies.md",
)
BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_blocks(
    block: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    run_block(block, capsys)


@pytest.mark.parametrize("page", PAGES)
def test_something_is_promised(page: str) -> None:
    assert "# -> " in (ROOT / page).read_text()
