"""Write the pages of a finished run: its report and its model card."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tabnas.errors import TabNASError
from tabnas.files import atomic_write, refuse_links
from tabnas.report import render_card, render_report
from tabnas.results import RunResult, Snapshot
from tabnas.runs.folders._read_run import load_config, load_history, load_result

REPORT, CARD = "report.html", "MODEL_CARD.md"


def write_report(
    path: str | Path, result: RunResult | None = None, history: Sequence[Snapshot] | None = None
) -> Path:
    """Write the report of a finished run and return its path.

    The result and the history are read from the folder unless they are given.
    """
    result = result or load_result(path)
    history = load_history(path) if history is None else history
    return write_page(Path(path), REPORT, render_report(result, history, load_config(path)))


def write_card(path: str | Path, result: RunResult | None = None) -> Path:
    """Write the model card of a finished run, unless there is one, and return its path.

    People may have completed a card that is there, so it is never replaced.
    """
    file = Path(path) / CARD
    if file.exists():
        return file
    return write_page(Path(path), CARD, render_card(result or load_result(path), load_config(path)))


PAGES: Mapping[str, Callable[[Path], Path]] = {REPORT: write_report, CARD: write_card}
"""The pages of a finished run, and the functions that write them from its other files."""


def write_pages(folder: Path, pages: Mapping[str, Callable[[Path], Path]]) -> None:
    """Write the pages of a finished run; warn if one fails, since the model is there."""
    for name, write in pages.items():
        try:
            write(folder)
        except Exception as error:
            warnings.warn(f"the run is finished, but has no {name}: {error}", stacklevel=3)


def write_page(folder: Path, name: str, text: str) -> Path:
    """Write a page into a folder, which may come from somebody else."""
    refuse_links(folder, name)
    try:
        atomic_write(folder / name, text)
    except OSError as error:
        raise TabNASError(
            f"{name} cannot be written to {str(folder)!r}: {error.strerror or error}"
        ) from None
    return folder / name
