"""The code of a page: run, and held against what the page promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tabnas.data import DATASETS
from tabnas.nets import ENGINES
from tabnas.policy import REWARDS
from tabnas.space import COSTS
from tabnas.strategies import STRATEGIES
from tests.processes import default_signals

REGISTRIES: tuple[dict[str, Any], ...] = (COSTS, DATASETS, ENGINES, REWARDS, STRATEGIES)


def run_block(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run Python of a page; where a line ends in `# -> value`, that must be what it gives."""
    names: dict[str, object] = {}
    with restored_registries(), default_signals():
        for statement in ast.parse(block).body:
            source = ast.unparse(statement)
            promised = re.search(r"# -> (.*)$", block.splitlines()[statement.end_lineno - 1])
            if not isinstance(statement, ast.Expr):
                assert not promised, f"only an expression has a value: {source}"
                exec(source, names)
                continue
            value = eval(source, names)
            if promised:
                given = capsys.readouterr().out.strip() if value is None else repr(value)
                assert given == promised[1]


@contextmanager
def restored_registries() -> Iterator[None]:
    """What a page enters by name is gone afterwards: other tests look at all names there are."""
    before = [dict(registry) for registry in REGISTRIES]
    try:
        yield
    finally:
        for registry, entries in zip(REGISTRIES, before, strict=True):
            registry.clear()
            registry.update(entries)
