"""`tabnas predict`: predict the target of new rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli._errors import INTERRUPTED, CommandExitError
from tabnas.cli._run_folders import check_finished
from tabnas.cli._tables import DASH, configure_arrow, input_path
from tabnas.cli.options._shared import FinishedRun, Threads
from tabnas.formatting import shorten
from tabnas.threads import get_threads, limit_threads

if TYPE_CHECKING:
    from tabnas.cli._predictions import Chunk
    from tabnas.cli.display._progress import RowProgress


def predict(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(
            help="The rows to predict: a CSV, TSV, Parquet or Feather file, or - for CSV from "
            "standard input.",
            metavar="FILE",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .csv, .tsv, .parquet or .feather, or - for standard output. "
            "An existing file is replaced.",
            show_default="CSV to standard output",
            metavar="FILE",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Predict the target of new rows.

    Each row gets a line, in the order of the file: the label and the probability of each class, or
    the value. A probability with the name of the target gets an underscore.

    Columns are found by name, in any order, and extra columns are ignored. Missing values and new
    categories are allowed.

    The file can be larger than memory: a thread reads at most 65,536 rows at a time. With --out,
    the file appears when it is complete; on standard output, lines appear one after another. On a
    terminal, control characters in names and labels are replaced.

    For example:

    # write a file, or print to another program
    tabnas predict runs/income new.csv --out predictions.csv
    tabnas predict runs/income new.csv | head

    # read from another program, as CSV
    cat new.csv | tabnas predict runs/income - | head

    # use the network of one limit of a trade-off
    tabnas predict runs/income-tradeoff/limit-5000 new.csv --out 5000.parquet
    """
    from tabnas.cli._predictions import (
        check_output,
        find_format,
        predict_chunks,
        print_predictions,
        write_predictions,
    )
    from tabnas.cli.display._progress import row_progress
    from tabnas.data import read_table
    from tabnas.runs import load_run_model

    if str(out) == DASH:
        out = None
    if out is not None:
        check_output(out, file)
    # without --out, bars would mix with the predictions on the terminal
    with limit_threads(threads), row_progress("predicting", hidden=out is None) as progress:
        configure_arrow()
        model = load_run_model(check_finished(run))
        if get_threads() > 1:  # while the table is read
            Thread(target=model.load_network, daemon=True).start()
        with input_path(file) as rows:
            table = read_table(
                rows, text=model.text_columns, empty=True, on_progress=progress.on_read
            )
        output = find_format(out)
        if out is not None:
            chunks = predict_chunks(model, table, output)
            write_predictions(_count_rows(chunks, len(table), progress), out)
        else:
            stdout = sys.stdout.buffer
            chunks = predict_chunks(model, table, output, printable=stdout.isatty())
            with _report_interruption():
                print_predictions(chunks, stdout, output)
    if out is not None:
        typer.echo(f"{len(table):,} predictions written to {shorten(out)}", err=True)


def _count_rows(chunks: Iterator[Chunk], total: int, progress: RowProgress) -> Iterator[Chunk]:
    """Yield the chunks, and count each as done when the next is requested."""
    rows = 0
    for chunk in chunks:
        progress.on_rows(rows, total)
        yield chunk
        rows += chunk.table.num_rows
    progress.on_rows(rows, total)


@contextmanager
def _report_interruption() -> Iterator[None]:
    """On Ctrl-C, print that predictions are missing, since some were already printed."""
    try:
        yield
    except KeyboardInterrupt:
        print("tabnas: interrupted before all predictions were written", file=sys.stderr)
        raise CommandExitError(INTERRUPTED) from None
