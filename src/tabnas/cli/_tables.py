"""Tables and datasets named on the command line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tabnas.cli import _arrow  # noqa: F401
from tabnas.cli._completing import TABLES, column_names
from tabnas.cli._standard_input import DASH
from tabnas.cli._text import plain
from tabnas.data import Table, list_datasets, load_dataset, read_table
from tabnas.data.reading import settle_decimals
from tabnas.errors import TabNASError, find_nearest

MOST_NAMED = 12
STANDARD_INPUT = "stdin"  # the name of a run whose table came from there
LONGEST_FOLDER = 50  # characters of a run's name that is taken from its table's
HERE = ("scikit-learn", "folder")
"""Sources of datasets that are on this machine."""


def named_table(
    source: str, target: str | None, *, text: Collection[str] = (), decimal: str | None = None
) -> tuple[Table, str]:
    """The table of a file, or of a dataset known by name, and its target column.

    The columns `text` of a file are read as they are written; `decimal` is its decimal mark, if it
    is known.
    """
    if "://" in source:
        raise TabNASError(
            f"a table must be a file of this machine, but {source!r} is an address; download "
            "it, and name the file"
        )
    path = Path(source)
    if path.exists() or path.suffix:
        if target is None:
            raise TabNASError(
                "a file must come with --target NAME: the column to be predicted"
                f"{_to_choose_from(path)}"
            )
        return read_table(path, text=text, decimal=decimal), target
    try:
        dataset = load_dataset(source, target=target)
    except TabNASError as error:
        near = find_nearest(source, _stems())
        if near is None or "did you mean" in str(error):
            raise
        raise TabNASError(
            f"there is no dataset {source!r}; did you mean the file {_stems()[near]!r}?"
        ) from None
    return settle_decimals(dataset.table, decimal), target or dataset.target


def _stems() -> dict[str, str]:
    """The tables in this folder, by their names without endings."""
    files = sorted(path.name for path in Path().iterdir() if path.suffix.lower() in TABLES)
    return {name.split(".")[0]: name for name in reversed(files)}


def _to_choose_from(path: Path) -> str:
    """The columns of a file, where it is one."""
    try:
        names = [plain(name) for name in column_names(path)]
    except (OSError, ValueError):  # whoever reads it all says what is wrong
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"; it has {', '.join(names[:MOST_NAMED])}{more}" if names else ""


def is_at_hand(source: str) -> bool:
    """Whether the table of that name can be read without fetching it from elsewhere."""
    if Path(source).is_file():
        return True
    try:
        known = [listing.name for listing in list_datasets() if listing.source in HERE]
    except TabNASError:
        return False
    return any(source in (name, name.split(".")[0]) for name in known)


def default_folder(source: str, ending: str = "") -> Path:
    """`runs/NAME`, with a number if that is taken."""
    source = STANDARD_INPUT if source == DASH else source
    name = (Path(source).name.split(".")[0] or "run")[:LONGEST_FOLDER] + ending
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
