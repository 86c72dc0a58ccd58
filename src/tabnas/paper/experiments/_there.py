"""Which of the tables that a definition names are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tabnas.paper._ground_truth import ground_truth_names
from tabnas.paper._table_files import find_file
from tabnas.paper._tables import paper_table


def tables_with_files(names: Iterable[str], folder: Path | None) -> list[str]:
    """Return the tables whose files are in the folder or come with tabnas."""
    return [name for name in names if find_file(paper_table(name).file, folder)]


def tables_with_ground_truth(said: Mapping[str, Any]) -> list[str]:
    """Return the tables whose ground truth comes with tabnas."""
    there = ground_truth_names()
    return [name for name in said["tables"] if name in there]


def describe_absent(names: Iterable[str], run: Iterable[str]) -> str:
    """Name the tables that were not run; an empty text if all were."""
    run = set(run)
    absent = [paper_table(name) for name in dict.fromkeys(names) if name not in run]
    if not absent:
        return ""
    named = ", ".join(
        f"{one.name} (`{one.file}`" + (f", OpenML {one.openml})" if one.openml else ")")
        for one in absent
    )
    return f"Not here, and so not run: {named}. They run once their files are among the tables."
