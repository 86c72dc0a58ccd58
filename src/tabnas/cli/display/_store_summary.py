"""Print what a store of encoded rows contains, and whether its files are intact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tabnas.cli.display._formatting import make_console, make_two_column_table, safe_text
from tabnas.cli.display._progress import make_progress_bars
from tabnas.formatting import count_column_kinds, format_bytes, format_count, quote_path, shorten

if TYPE_CHECKING:
    from tabnas.stores import Store

MAX_PATH_LENGTH = 200


def verify_store(path: Path, *, quiet: bool, as_json: bool) -> None:
    """Read all of a store and print that it is as it was written; raise an error if not."""
    from tabnas.stores import open_store

    store = open_store(path)
    size = format_bytes(store.bytes)
    console = make_console(stderr=True)
    if quiet or as_json or not console.is_terminal:
        store.verify()
    else:
        with make_progress_bars(console) as bars:
            task = bars.add_task("checking", total=max(store.bytes, 1), note=size)
            store.verify(lambda read: bars.advance(task, read))
    if as_json:
        summary = {"store": str(path), "bytes": store.bytes, "digest": store.digest, "sound": True}
        typer.echo(json.dumps(summary, indent=2))
    elif not quiet:
        name = shorten(path, MAX_PATH_LENGTH)
        make_console().print(f"{name}: {size}, all as it was written", markup=False)


def describe_store(store: Store, path: Path) -> dict[str, Any]:
    """Return what a store contains, for `print_store` and for JSON."""
    from tabnas.data.columns import CategoricalColumn, HashedColumn

    columns = store.encoder.columns
    seconds = store.metadata["seconds"]
    rows = store.metadata["rows_read"]
    return {
        "store": str(path),
        "digest": store.digest,
        "target": store.target.name,
        "task": store.target.task,
        "rows": dict(store.rows),
        "rows_read": rows,
        "columns": store.encoder.describe(),
        "numeric_features": len(store.encoder.features),
        "categories": {c.name: c.n_categories for c in columns if c.n_categories},
        "pooled": {c.name: c.pooled for c in columns if isinstance(c, CategoricalColumn)},
        "hashed": {c.name: c.buckets for c in columns if isinstance(c, HashedColumn)},
        "max_miscounts": store.metadata["max_miscounts"],
        "notes": list(store.metadata["notes"]),
        "bytes": store.bytes,
        "seconds": seconds,
        "rows_a_second": round(rows / max(sum(seconds.values()), 1e-9)),
    }


def print_store(console: Console, summary: dict[str, Any]) -> None:
    """Print what a store contains."""
    table = make_two_column_table()
    rows, categories = summary["rows"], summary["categories"]
    table.add_row("target", safe_text(f"{summary['target']} ({summary['task']})"))
    table.add_row(
        "rows",
        f"{rows['train']:,} training, {rows['validation']:,} validation, {rows['test']:,} test",
    )
    left_out = summary["rows_read"] - sum(rows.values())
    if left_out:
        table.add_row("", f"{left_out:,} without a target left out")
    table.add_row("columns", count_column_kinds(summary["columns"].values()))
    pooled, hashed = summary["pooled"], summary["hashed"]
    if pooled:
        known = sum(count for name, count in categories.items() if name in pooled)
        columns = format_count(len(pooled), "column")
        table.add_row("categories", f"{known:,} in {columns}, {sum(pooled.values()):,} pooled")
        largest = max(pooled, key=lambda name: categories[name])
        table.add_row("", safe_text(f"most in {shorten(largest)}: {categories[largest]:,}"))
    if hashed:
        columns = format_count(len(hashed), "column")
        table.add_row("hashed", f"{columns}, {sum(hashed.values()):,} buckets")
    if categories:
        table.add_row("embeddings", f"{sum(categories.values()):,} codes, one vector each")
    if summary["max_miscounts"]:
        bound, count = max(summary["max_miscounts"].values()), len(summary["max_miscounts"])
        table.add_row("inexact", f"category counts of {count} columns are up to {bound:,} too low")
        table.add_row("", "because of --memory; raise it, or use --hashed, which needs no counts")
    seconds = sum(summary["seconds"].values())
    table.add_row("time", f"{seconds:,.1f} s for two passes, {summary['rows_a_second']:,} rows/s")
    path = shorten(summary["store"], MAX_PATH_LENGTH)
    size = format_bytes(summary["bytes"])
    table.add_row("store", safe_text(f"{path}: {size}", max_length=MAX_PATH_LENGTH))
    console.print(table)
    console.print(
        f"next: tabnas search {quote_path(summary['store'])} --max-parameters 20000",
        markup=False,
        soft_wrap=True,
    )
