"""Where the tables of machines are kept, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tabnas.errors import TabnasError
from tabnas.files import user_cache, write_whole
from tabnas.latency._machine import Machine
from tabnas.latency._table import MOST_BYTES, LatencyTable


def kept_path(machine: Machine | None = None) -> Path:
    """The file for a machine's table in the user's folder for caches; for this machine's."""
    return user_cache() / f"latency-{(machine or Machine.here()).key}.json"


def load_table(path: str | Path) -> LatencyTable:
    """A table from a file, which may be anybody's."""
    file = Path(path)
    try:
        if not file.is_file():  # a pipe would be waited for
            raise FileNotFoundError("there is no such file")
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1).decode()
    except (OSError, ValueError) as error:
        raise TabnasError(
            f"the latency table {str(path)!r} cannot be read: {error}; make one with "
            "tabnas latency --out"
        ) from None
    return LatencyTable.from_json(text, repr(str(path)))


def save_table(table: LatencyTable, path: str | Path) -> Path:
    """Write a table, whole or not at all."""
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        write_whole(final, table.to_json())
    except OSError as error:
        raise TabnasError(
            f"the latency table cannot be written to {str(path)!r} ({error.strerror or error}); "
            "name another file"
        ) from None
    return final


def table_here(measure: Callable[[], LatencyTable]) -> LatencyTable:
    """The table of this machine: the kept one, or what `measure` gives, which is kept then.

    One that is damaged is measured again. Where nothing can be kept, it serves for this once; so
    does one of a busy machine, since it would say for good what is calm.
    """
    machine = Machine.here()
    with suppress(TabnasError, RuntimeError):  # there may be no home to have it in
        kept = load_table(kept_path(machine))
        if kept.machine == machine:
            return kept
    table = measure()
    if table.busy:
        return table
    with suppress(TabnasError, RuntimeError):
        save_table(table, kept_path(machine))
    return table
