"""What pytest collects: the tests, and the examples in the docstrings of the package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent / "src"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over modules without examples: every process would import and inspect them all."""
    if collection_path.suffix != ".py" or PACKAGE not in collection_path.parents:
        return None
    return True if ">>> " not in collection_path.read_text(encoding="utf-8") else None
