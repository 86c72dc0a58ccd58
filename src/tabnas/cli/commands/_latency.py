"""`tabnas latency`: measure this machine for limits on latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tabnas.cli.display._formatting import make_console, safe_text
from tabnas.cli.options._completion import complete_from
from tabnas.cli.options._given_options import list_given_options
from tabnas.cli.options._parsers import at_least
from tabnas.cli.options._parsers import parse_seconds as seconds_of
from tabnas.cli.options._shared import Json
from tabnas.errors import TabNASError, did_you_mean
from tabnas.formatting import format_cost, format_fixed_percent, shorten
from tabnas.settings import RuntimeKind
from tabnas.space import Precision

if TYPE_CHECKING:
    from tabnas.latency import CallTable, LatencyTable

MAX_TEXT_LENGTH = 200


def latency(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write, to use it on another machine.",
            metavar="FILE",
            show_default="a cache of this user",
        ),
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option(help="Print the table of a file and measure nothing.", metavar="FILE"),
    ] = None,
    runtime: Annotated[
        str,
        typer.Option(
            help="What networks are run in: onnxruntime, called from Python, or c, the exported C "
            "code without the call.",
            metavar="NAME",
            autocompletion=complete_from(*get_args(RuntimeKind)),
        ),
    ] = "onnxruntime",
    seconds: Annotated[
        float,
        typer.Option(
            help="Approximate seconds to measure. Longer is more accurate.",
            metavar="N",
            parser=at_least(0.1, seconds_of),
        ),
    ] = 20.0,
    as_json: Json = False,
) -> None:
    r"""Measure how long networks take on this machine.

    Random networks are run as they would be deployed: in onnxruntime, on one thread, with 1 and
    with 256 rows per call. Latency is then modelled by terms for layers, units and weights, and the
    model is checked on other networks. Columns and numeric embeddings have terms of their own.

    With `--runtime c`, networks are exported as C and compiled, with weights of float32 and of
    int8. Predictions are timed inside a C program, row by row, without any call from Python.

    The measured table is stored. `tabnas search --max-latency-us 200` uses it, and measures the
    machine itself if there is none.

    For example:

    # measure this machine for its own searches
    tabnas latency

    # the same for the exported C code
    tabnas latency --runtime c

    # search for another device: run the first command there, the second here
    tabnas latency --out device.json
    tabnas search train.csv --target income --max-latency-us 200 \
      --latency-table device.json
    """
    from tabnas.latency import (
        RUNTIMES,
        cached_table_path,
        load_table,
        measure_machine,
        save_table,
    )

    if runtime not in RUNTIMES:
        hint = did_you_mean(runtime, RUNTIMES)
        raise TabNASError(f"there is no runtime {runtime!r}; {hint}")
    if show is not None:
        given = list_given_options(context, ignore=("--show", "--json"))
        if given:
            raise TabNASError(
                f"a table must be shown or measured, got both --show and {given[0]}; remove one"
            )
        table, path = load_table(show), show
    else:
        chosen = RUNTIMES[runtime]
        with _progress(quiet=as_json) as update:
            table = measure_machine(chosen, seconds=seconds, on_progress=update)
        path = save_table(table, out or cached_table_path(table.machine))
    if as_json:
        typer.echo(table.to_json(), nl=False)
    else:
        print_latency_table(make_console(), table, str(path))


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Yield an observer: a bar on a terminal, a line elsewhere."""
    console = make_console(stderr=True)
    if quiet:
        yield lambda done: None
    elif not console.is_terminal:
        console.print("tabnas: measuring this machine")
        yield lambda done: None
    else:
        with Progress(console=console, transient=True) as bars:
            task = bars.add_task("measuring", total=1.0)
            yield lambda done: bars.update(task, completed=done)


def print_latency_table(console: Console, table: LatencyTable, path: str) -> None:
    """Print a latency table and where it is stored."""
    console.print(safe_text(table.machine, max_length=MAX_TEXT_LENGTH), soft_wrap=True)
    calls = table.calls
    are_of_float32 = all(call.precision == Precision.FLOAT32 for call in calls)
    grid = Table(box=None, padding=(0, 3, 0, 0))
    grid.add_column("microseconds per call of", no_wrap=True)
    for call in calls:
        rows = "one row" if call.rows == 1 else f"{call.rows} rows"
        heading = rows if are_of_float32 else f"{rows}, {call.precision}"
        grid.add_column(heading, justify="right")
    for label, format_cell in TABLE_LINES.items():
        grid.add_row(label, *(format_cell(call) for call in calls))
    console.print(grid)
    console.print(
        f"Errors are those on {calls[0].held_out} random networks, {calls[0].embedded} with "
        f"numeric embeddings, and {calls[0].tables} tables that were held out."
    )
    if table.is_busy:
        console.print(
            "note: calls took much longer in some rounds than in others, so the machine was busy; "
            "measure again when it is idle"
        )
    name = shorten(path, MAX_TEXT_LENGTH)
    console.print(f"Measured {table.measured}, stored in {name}", soft_wrap=True, markup=False)


TABLE_LINES: dict[str, Callable[[CallTable], str]] = {
    "the call itself": lambda call: format_cost(call.terms.call_us),
    "each hidden layer": lambda call: format_cost(call.terms.layer_us),
    "100 hidden units": lambda call: format_cost(100 * call.terms.unit_us),
    "10,000 weights": lambda call: format_cost(10_000 * call.terms.weight_us),
    "columns of numbers": lambda call: format_cost(call.columns.numeric_once_us),
    "each column of numbers": lambda call: format_cost(call.columns.numeric_each_us),
    "each column of categories": lambda call: format_cost(call.columns.category_each_us),
    "columns of dates": lambda call: format_cost(call.columns.datetime_once_us),
    "each column of dates": lambda call: format_cost(call.columns.datetime_each_us),
    "numeric embeddings": lambda call: format_cost(call.embeddings.embeddings_us),
    "each embedded column": lambda call: format_cost(call.embeddings.column_us),
    "100 knots": lambda call: format_cost(100 * call.embeddings.knot_us),
    "100 embedded inputs": lambda call: format_cost(100 * call.embeddings.input_us),
    "1,000 numbers of embeddings": lambda call: format_cost(1_000 * call.embeddings.entry_us),
    "median error, network": lambda call: format_fixed_percent(call.median_error, 1),
    "90th percentile, network": lambda call: format_fixed_percent(call.p90_error, 1),
    "median error, with embeddings": lambda call: format_fixed_percent(
        call.embedded_median_error, 1
    ),
    "median error, complete file": lambda call: format_fixed_percent(call.tables_median_error, 1),
    "slowdown in busy rounds": lambda call: format_fixed_percent(call.spread, 1),
}
