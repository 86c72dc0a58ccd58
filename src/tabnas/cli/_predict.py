"""`tabnas predict`: answers for new rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli._ending import INTERRUPTED, EndedError
from tabnas.cli._folders import finished
from tabnas.cli._options import FinishedRun
from tabnas.cli._standard_input import DASH, input_file
from tabnas.cli._text import plain

if TYPE_CHECKING:
    import pyarrow as pa

    from tabnas.cli._row_progress import RowProgress


def predict(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(
            help="The rows to predict: CSV, TSV, Parquet or Feather; - for CSV from standard "
            "input.",
            metavar="FILE",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: .csv, .tsv, .parquet or .feather, or - for standard output. A "
            "file there is replaced.",
            show_default="CSV to standard output",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Predict the target of new rows.

    Writes the label and the probability of each class, or the value, a line for each row in the
    order of the file. A probability whose name is that of the target gets an underscore. Columns
    are found by name, in any order; others than the model needs are ignored. Missing values and
    categories that training had not are no problem.

    Rows are read and predicted in pieces of at most 65,536, so a file may be larger than memory.
    What is written with --out appears when it is complete; on standard output, lines appear as they
    are made. A terminal shows control characters of names and labels as replacement characters;
    files and pipes get them as they are.

    For example:

    # to a file, or to whatever reads them
    tabnas predict runs/income new.csv --out predictions.csv
    tabnas predict runs/income new.csv | head

    # from whatever writes them, as CSV
    cat new.csv | tabnas predict runs/income - | head

    # with the network of one limit of a trade-off
    tabnas predict runs/income-tradeoff/limit-5000 new.csv --out 5000.parquet
    """
    from tabnas.cli import _arrow  # noqa: F401
    from tabnas.cli._predictions import (
        predictions,
        print_predictions,
        refuse_unwritable,
        write_predictions,
    )
    from tabnas.cli._row_progress import row_progress
    from tabnas.data import read_table
    from tabnas.runs import load_run_model

    if str(out) == DASH:
        out = None
    if out is not None:
        refuse_unwritable(out, file)
    model = load_run_model(finished(run))
    # bars would stand among predictions that go to the same terminal, be it by way of a pipe
    with row_progress("predicting", hidden=out is None) as progress:
        with input_file(file) as rows:
            table = read_table(rows, text=model.text_columns, empty=True, observe=progress.read)
        pieces = _counted(predictions(model, table), len(table), progress)
        if out is not None:
            write_predictions(pieces, out)
        else:
            with _interruptible():
                print_predictions(pieces, sys.stdout.buffer)
    if out is not None:
        typer.echo(f"{len(table):,} predictions written to {plain(out)}", err=True)


def _counted(pieces: Iterator[pa.Table], total: int, progress: RowProgress) -> Iterator[pa.Table]:
    """The same pieces, of which each is shown as done when the next is asked for."""
    rows = 0
    for piece in pieces:
        progress.count(rows, total)
        yield piece
        rows += piece.num_rows
    progress.count(rows, total)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Say that predictions are missing, if whoever reads them gets some and then a Ctrl-C comes."""
    try:
        yield
    except KeyboardInterrupt:
        print("tabnas: interrupted before all predictions were written", file=sys.stderr)
        raise EndedError(INTERRUPTED) from None
