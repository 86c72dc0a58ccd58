"""`tabnas latency`: measure this machine, for limits on latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tabnas.cli._numbers import at_least
from tabnas.cli._numbers import seconds as seconds_of
from tabnas.cli._options import Json
from tabnas.cli._text import plain, shown, terminal
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.latency import CallTable, LatencyTable

LONGEST = 200


def latency(
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write, for a search on another machine.",
            metavar="FILE",
            show_default="kept for this user",
        ),
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option(help="Show the table in a file; measure nothing.", metavar="FILE"),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            help="About how many seconds to measure; longer is steadier.",
            metavar="N",
            parser=at_least(0.1, seconds_of),
        ),
    ] = 20.0,
    as_json: Json = False,
) -> None:
    r"""Measure how long networks take on this machine.

    Random networks are called as they are deployed: in onnxruntime, on one thread, with one row a
    call and with 256. Terms for layers, units and weights are fitted to what they took, and
    checked on 40 networks that the fit has not seen. The table is kept; `tabnas search
    --max-latency-us 200` finds it, or measures it.

    For example:

    # this machine, for its own searches
    tabnas latency

    # another device: the first line there, the second where the search is
    tabnas latency --out device.json
    tabnas search train.csv --target income --max-latency-us 200 \
      --latency-table device.json
    """
    from tabnas.latency import cached_table_path, load_table, measure_machine, save_table

    if show is not None:
        if out is not None:
            raise TabNASError(
                "a table must be shown or measured, got both --show and --out; remove one"
            )
        table, kept = load_table(show), show
    else:
        with _progress(quiet=as_json) as tell:
            table = measure_machine(seconds=seconds, on_progress=tell)
        kept = save_table(table, out or cached_table_path())
    if as_json:
        typer.echo(table.to_json(), nl=False)
    else:
        show_table(terminal(), table, str(kept))


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, a line elsewhere."""
    console = terminal(stderr=True)
    if quiet:
        yield lambda done: None
    elif not console.is_terminal:
        console.print("tabnas: measuring this machine")
        yield lambda done: None
    else:
        with Progress(console=console, transient=True) as bars:
            task = bars.add_task("measuring", total=1.0)
            yield lambda done: bars.update(task, completed=done)


def show_table(console: Console, table: LatencyTable, kept: str) -> None:
    """Print a table of latencies."""
    console.print(shown(table.machine, longest=LONGEST), soft_wrap=True)
    calls = [table.calls[rows] for rows in sorted(table.calls)]
    grid = Table(box=None, padding=(0, 3, 0, 0))
    grid.add_column("microseconds for a call of", no_wrap=True)
    for call in calls:
        grid.add_column("one row" if call.rows == 1 else f"{call.rows} rows", justify="right")
    for words, find in LINES.items():
        grid.add_row(words, *(find(call) for call in calls))
    console.print(grid)
    console.print(
        f"Errors are on {calls[0].held_out} random networks and {calls[0].tables} tables that "
        "nothing was fitted to."
    )
    if table.is_busy:
        console.print(
            "note: calls took much longer in some rounds than in others, so the machine had other "
            "things to do; measure it again when it has less"
        )
    place = plain(kept, longest=LONGEST)
    console.print(f"Measured {table.measured}, in {place}", soft_wrap=True, markup=False)


def _us(value: float) -> str:
    return f"{value:,.1f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


LINES: dict[str, Callable[[CallTable], str]] = {
    "the call itself": lambda call: _us(call.terms.call_us),
    "a hidden layer": lambda call: _us(call.terms.layer_us),
    "100 hidden units": lambda call: _us(100 * call.terms.unit_us),
    "10,000 weights": lambda call: _us(10_000 * call.terms.weight_us),
    "numbers": lambda call: _us(call.columns.quantities_us),
    "a column of numbers": lambda call: _us(call.columns.quantity_us),
    "a column of categories": lambda call: _us(call.columns.category_us),
    "dates": lambda call: _us(call.columns.moments_us),
    "a column of dates": lambda call: _us(call.columns.moment_us),
    "median error, network": lambda call: _percent(call.median_error),
    "nine tenths are within": lambda call: _percent(call.p90_error),
    "median error, whole file": lambda call: _percent(call.tables_median_error),
    "busy rounds took longer by": lambda call: _percent(call.spread),
}
