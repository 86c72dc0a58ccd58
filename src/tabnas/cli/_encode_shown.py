"""What people see of an encoding: how far it is, how to go on, what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tabnas.cli._ending import INTERRUPTED, TERMINATED, EndedError
from tabnas.cli._text import plain, shown, size, terminal

if TYPE_CHECKING:
    from tabnas.stores import EncodingProgress, Store

LONGEST = 200
WORDS = {"learning": "first pass", "encoding": "second pass"}


@contextmanager
def showing(console: Console, *, quiet: bool) -> Iterator[Callable[[EncodingProgress], None]]:
    """Bars on a terminal, a line a pass elsewhere, nothing if quiet."""
    if quiet:
        yield lambda told: None
    elif not console.is_terminal:
        yield _lines(console)
    else:
        with progress_bars(console) as bars:
            tasks: dict[str, Any] = {}

            def tell(told: EncodingProgress) -> None:
                if told.phase not in tasks:
                    tasks[told.phase] = bars.add_task(WORDS[told.phase], total=1.0, note="")
                note = f"{told.rows:,} rows, {told.rows_a_second:,.0f}/s"
                bars.update(tasks[told.phase], completed=told.done, note=note)

            yield tell


def _lines(console: Console) -> Callable[[EncodingProgress], None]:
    seen: set[str] = set()

    def tell(told: EncodingProgress) -> None:
        if told.phase not in seen:
            seen.add(told.phase)
            console.print(f"tabnas: {WORDS[told.phase]}, {told.phase}")

    return tell


def progress_bars(console: Console) -> Progress:
    """Bars with what they are of, the share that is done, the time that is left, and a note."""
    return Progress(
        TextColumn("{task.description:<11}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    )


@contextmanager
def going_on(console: Console, out: Path) -> Iterator[None]:
    """Work that says how to go on with it when it is asked to stop."""
    from tabnas.stores import planned_command

    try:
        yield
    except (KeyboardInterrupt, SystemExit) as asked:
        code = INTERRUPTED if isinstance(asked, KeyboardInterrupt) else TERMINATED
        if not (out / "plan.json").exists():
            raise
        command = plain(planned_command(out), longest=2_000)
        console.print(f"tabnas: stopped; go on with: {command}", markup=False, soft_wrap=True)
        raise EndedError(code) from None


def check_store(path: Path, *, quiet: bool, as_json: bool) -> None:
    """Read all of a store, and say that it is as it was written; else that is an error."""
    from tabnas.stores import open_store

    store = open_store(path)
    console = terminal(stderr=True)
    if quiet or as_json or not console.is_terminal:
        store.verify()
    else:
        with progress_bars(console) as bars:
            task = bars.add_task("checking", total=max(store.bytes, 1), note=size(store.bytes))
            store.verify(lambda read: bars.advance(task, read))
    if as_json:
        said = {"store": str(path), "bytes": store.bytes, "digest": store.digest, "sound": True}
        typer.echo(json.dumps(said, indent=2))
    elif not quiet:
        where = plain(path, longest=LONGEST)
        terminal().print(f"{where}: {size(store.bytes)}, all as it was written", markup=False)


def facts_of_store(store: Store, given: Path) -> dict[str, Any]:
    """What is in a store, for people and machines; its folder as it was given."""
    from tabnas.data.columns import CategoricalColumn, HashedColumn

    columns = store.encoder.columns
    seconds = store.facts["seconds"]
    rows = store.facts["rows_read"]
    return {
        "store": str(given),
        "digest": store.digest,
        "target": store.target.name,
        "task": store.target.task,
        "rows": dict(store.rows),
        "rows_read": rows,
        "columns": store.encoder.describe(),
        "numeric_features": len(store.encoder.features),
        "categories": {c.name: c.categories for c in columns if c.categories},
        "pooled": {c.name: c.pooled for c in columns if isinstance(c, CategoricalColumn)},
        "hashed": {c.name: c.buckets for c in columns if isinstance(c, HashedColumn)},
        "most_miscounted": store.facts["most_miscounted"],
        "notes": list(store.facts["notes"]),
        "bytes": store.bytes,
        "seconds": seconds,
        "rows_a_second": round(rows / max(sum(seconds.values()), 1e-9)),
    }


def show_store(console: Console, facts: dict[str, Any]) -> None:
    """Print what is in a store."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    rows, categories = facts["rows"], facts["categories"]
    table.add_row("target", shown(f"{facts['target']} ({facts['task']})"))
    table.add_row(
        "rows",
        f"{rows['train']:,} training, {rows['validation']:,} validation, {rows['test']:,} test",
    )
    left_out = facts["rows_read"] - sum(rows.values())
    if left_out:
        table.add_row("", f"{left_out:,} without a target left out")
    kinds = Counter(
        words.partition(":")[0].partition(",")[0] for words in facts["columns"].values()
    )
    table.add_row("columns", ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))
    if facts["pooled"]:
        kept = sum(n for name, n in categories.items() if name in facts["pooled"])
        pooled = sum(facts["pooled"].values())
        table.add_row("categories", f"{kept:,} in {_columns(facts['pooled'])}, {pooled:,} pooled")
        largest = max(facts["pooled"], key=lambda name: categories[name])
        table.add_row("", shown(f"most in {plain(largest)}: {categories[largest]:,}"))
    if facts["hashed"]:
        buckets = sum(facts["hashed"].values())
        table.add_row("hashed", f"{_columns(facts['hashed'])}, {buckets:,} buckets")
    if categories:
        table.add_row("embeddings", f"{sum(categories.values()):,} codes, each a row of numbers")
    if facts["most_miscounted"]:
        bound, many = max(facts["most_miscounted"].values()), len(facts["most_miscounted"])
        words = f"categories of {many} columns are counted at most {bound:,} too low,"
        table.add_row("inexact", words)
        table.add_row("", "for --memory is little for so many; --hashed needs no counts")
    took = sum(facts["seconds"].values())
    table.add_row("time", f"{took:,.1f} s for two passes, {facts['rows_a_second']:,} rows/s")
    where = plain(facts["store"], longest=LONGEST)
    table.add_row("store", shown(f"{where}: {size(facts['bytes'])}", longest=LONGEST))
    console.print(table)
    console.print(f"next: tabnas search {where} --max-parameters 20000", markup=False)


def _columns(named: Sized) -> str:
    return "1 column" if len(named) == 1 else f"{len(named):,} columns"
