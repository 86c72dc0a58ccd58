"""The code of README and docs runs, and every `# -> value` in it is what the line gives."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/clusters.md",
    "docs/export.md",
    "docs/ground_truth.md",
    "docs/limits.md",
    "docs/search.md",
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
    names: dict[str, object] = {}
    for statement in ast.parse(block).body:
        source = ast.unparse(statement)
        promised = re.search(r"# -> (.*)$", block.splitlines()[statement.end_lineno - 1])
        if not isinstance(statement, ast.Expr):
            exec(source, names)
            continue
        value = eval(source, names)
        if promised:
            given = capsys.readouterr().out.strip() if value is None else repr(value)
            assert given == promised[1]


@pytest.mark.parametrize("page", PAGES)
def test_something_is_promised(page: str) -> None:
    assert "# -> " in (ROOT / page).read_text()
