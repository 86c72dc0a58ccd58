"""The README's code runs, and every `# -> value` in it is what the line gives."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_code_blocks(block: str, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_something_is_promised() -> None:
    assert "# -> " in README.read_text()
