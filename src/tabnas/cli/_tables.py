"""Tables and datasets named on the command line."""

from __future__ import annotations

from pathlib import Path

from tabnas.data import Table, load_dataset, read_table
from tabnas.errors import TabnasError


def named_table(source: str, target: str | None) -> tuple[Table, str]:
    """The table of a file, or of a dataset known by name, and its target column."""
    path = Path(source)
    if path.exists() or path.suffix:
        if target is None:
            raise TabnasError("say which column is to be predicted, with --target NAME")
        return read_table(path), target
    dataset = load_dataset(source, target=target)
    return dataset.table, target or dataset.target


def default_folder(source: str) -> Path:
    """`runs/NAME`, with a number if that is taken."""
    name = Path(source).name.split(".")[0] or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
