"""Tables and datasets named on the command line."""

from __future__ import annotations

import glob
from pathlib import Path

from tabnas.data import Table, list_datasets, load_dataset, read_table
from tabnas.errors import TabnasError

HERE = ("scikit-learn", "folder")
"""Sources of datasets that are on this machine."""


def named_table(source: str, target: str | None) -> tuple[Table, str]:
    """The table of a file, or of a dataset known by name, and its target column."""
    path = Path(source)
    if path.exists() or path.suffix:
        if target is None:
            raise TabnasError("a file must come with --target NAME: the column to be predicted")
        return read_table(path), target
    try:
        dataset = load_dataset(source, target=target)
    except TabnasError:
        near = [file.name for file in Path().glob(f"{glob.escape(source)}.*") if file.is_file()]
        if not near:
            raise
        raise TabnasError(
            f"there is no dataset {source!r}; did you mean the file {sorted(near)[0]!r}?"
        ) from None
    return dataset.table, target or dataset.target


def is_at_hand(source: str) -> bool:
    """Whether the table of that name can be read without fetching it from elsewhere."""
    if Path(source).is_file():
        return True
    try:
        known = [listing.name for listing in list_datasets() if listing.source in HERE]
    except TabnasError:
        return False
    return any(source in (name, name.split(".")[0]) for name in known)


def default_folder(source: str) -> Path:
    """`runs/NAME`, with a number if that is taken."""
    name = Path(source).name.split(".")[0] or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
