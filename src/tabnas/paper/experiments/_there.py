"""Which of the tables that a definition names are there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.paper._ground_truth import ground_truth_names
from tabnas.paper._tables import paper_table


def tables_with_files(said: Mapping[str, Any], folder: Path) -> list[str]:
    """Those whose files are in the folder of the tables."""
    return [name for name in said["tables"] if (folder / paper_table(name).file).exists()]


def tables_with_ground_truth(said: Mapping[str, Any]) -> list[str]:
    """Those whose ground truth comes with tabnas."""
    there = ground_truth_names()
    return [name for name in said["tables"] if name in there]


def absent_tables(said: Mapping[str, Any], folder: Path) -> str:
    """A sentence on those that are named but not there; nothing if all are."""
    there = tables_with_files(said, folder)
    absent = [paper_table(name) for name in said["tables"] if name not in there]
    if not absent:
        return ""
    named = ", ".join(
        f"{one.name} (`{one.file}`" + (f", OpenML {one.openml})" if one.openml else ")")
        for one in absent
    )
    return f"Not here, and so not run: {named}. They run once their files are among the tables."
