"""`tabnas predict`: answers for new rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._folders import finished
from tabnas.cli._options import FinishedRun
from tabnas.cli._text import plain


def predict(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(help="The rows to predict: CSV, TSV, Parquet or Feather.", metavar="FILE"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: .csv, .tsv, .parquet or .feather. A file there is replaced.",
            show_default="CSV to standard output",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Predict the target of new rows.

    Writes the label and the probability of each class, or the value, a line for each row in the
    order of the file. Columns are found by name, in any order; others than the model needs are
    ignored. Missing values and categories that training had not are no problem.

    For example:

    # to a file, or to whatever reads them
    tabnas predict runs/income new.csv --out predictions.csv
    tabnas predict runs/income new.csv | head

    # with the network of one limit of a trade-off
    tabnas predict runs/income-tradeoff/limit-5000 new.csv --out 5000.parquet
    """
    from tabnas.cli._predictions import predictions, refuse_unwritable, write_predictions
    from tabnas.data import read_table
    from tabnas.runs import load_run_model

    if out is not None:
        refuse_unwritable(out, file)
    model = load_run_model(finished(run))
    table = predictions(model, read_table(file, text=model.text_columns))
    if out is None:
        import pyarrow.csv

        pyarrow.csv.write_csv(table, sys.stdout.buffer)
        return
    write_predictions(table, out)
    typer.echo(f"{len(table):,} predictions written to {plain(out)}", err=True)
