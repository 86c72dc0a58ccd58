"""`tabnas predict`: answers for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.errors import TabnasError


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="RUN")],
    file: Annotated[Path, typer.Argument(help="The rows to predict.", metavar="FILE")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: .csv, .tsv, .parquet or .feather.",
            show_default="CSV to the terminal",
        ),
    ] = None,
) -> None:
    """Predict the target of new rows.

    Writes the label and the probability of each class, or the value. Columns are found by name, in
    any order; others than the model needs are ignored.

        tabnas predict runs/income new.csv --out predictions.csv
    """
    from tabnas.cli._predictions import predictions, write_predictions
    from tabnas.data import read_table
    from tabnas.runs import load_run_model

    model = load_run_model(run)
    table = predictions(model, read_table(file, text=model.encoder.text_columns))
    if out is None:
        import sys

        import pyarrow.csv

        pyarrow.csv.write_csv(table, sys.stdout.buffer)
        return
    if out.is_dir():
        raise TabnasError(f"--out must be a file, however {str(out)!r} is a folder")
    write_predictions(table, out)
    typer.echo(f"{len(table):,} predictions written to {out}", err=True)
