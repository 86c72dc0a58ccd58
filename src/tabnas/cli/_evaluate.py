"""`tabnas evaluate`: a model's scores on rows whose target is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tabnas.cli._options import Json


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="RUN")],
    file: Annotated[Path, typer.Argument(help="Rows with the target column.", metavar="FILE")],
    as_json: Json = False,
) -> None:
    """Score a model on rows whose target is known, with 95 % intervals.

    tabnas evaluate runs/income test.csv
    """
    from tabnas.cli._summary import show_scores
    from tabnas.data import read_table
    from tabnas.model import score
    from tabnas.runs import Labelled, load_run_model

    model = load_run_model(run)
    rows = Labelled.of(read_table(file, text=model.encoder.text_columns), model.target)
    predict = model.predict_proba if model.classes else model.predict
    scores = score(model.target, rows.truth, predict(rows.features)).to_dict()
    if as_json:
        typer.echo(json.dumps(scores, indent=2))
    else:
        show_scores(Console(), {"network": scores}, f"{len(rows):,} rows of {file.name}")
