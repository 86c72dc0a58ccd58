"""Latency tables on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tabnas.errors import TabNASError
from tabnas.files import atomic_write, user_cache_folder
from tabnas.latency._machine import DEFAULT_RUNTIME, Machine
from tabnas.latency._table import MAX_BYTES, LatencyTable
from tabnas.latency.runtimes import Runtime


def cached_table_path(machine: Machine | None = None) -> Path:
    """Return the file for a machine's table in the cache folder.

    By default this machine's, for the default runtime.
    """
    return user_cache_folder() / f"latency-{(machine or Machine.here()).key}.json"


def load_table(path: str | Path) -> LatencyTable:
    """Load a table from a file, which need not be trusted."""
    file = Path(path)
    try:
        if not file.is_file():  # opening a pipe would block
            raise FileNotFoundError("no such file")
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES + 1).decode()
    except (OSError, ValueError) as error:
        raise TabNASError(
            f"the latency table {str(path)!r} cannot be read: {error}; make one with "
            "tabnas latency --out"
        ) from None
    return LatencyTable.from_json(text, repr(str(path)))


def save_table(table: LatencyTable, path: str | Path) -> Path:
    """Write a table atomically."""
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(final, table.to_json())
    except OSError as error:
        raise TabNASError(
            f"the latency table cannot be written to {str(path)!r} ({error.strerror or error}); "
            "choose another file"
        ) from None
    return final


def load_or_measure_table(
    measure: Callable[[], LatencyTable], runtime: Runtime = DEFAULT_RUNTIME
) -> LatencyTable:
    """Return the cached table of this machine for a runtime, or measure one and cache it.

    A damaged table is measured again. A table is used once and not cached if no file can be
    written, or if the machine was busy: later runs would take its latencies for those of an idle
    machine.
    """
    machine = Machine.here(runtime)
    with suppress(TabNASError, RuntimeError):  # there may be no home folder
        cached = load_table(cached_table_path(machine))
        if cached.machine == machine:
            return cached
    table = measure()
    if table.is_busy:
        return table
    with suppress(TabNASError, RuntimeError):
        save_table(table, cached_table_path(machine))
    return table
