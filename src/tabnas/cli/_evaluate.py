"""`tabnas evaluate`: a model's scores on rows whose target is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._folders import finished
from tabnas.cli._options import FinishedRun, Json
from tabnas.cli._text import terminal
from tabnas.errors import TabnasError


def evaluate(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(
            help="Rows with the target column: CSV, TSV, Parquet or Feather.", metavar="FILE"
        ),
    ],
    as_json: Json = False,
) -> None:
    """Score a model on rows whose target is known, with 95 % intervals.

    Rows without a target are left out. The rows should be new to the model: on those of its
    training, scores are better than they will be.

    For example:

    # rows that were kept aside
    tabnas evaluate runs/income test.csv

    # the same for a program
    tabnas evaluate runs/income test.csv --json
    """
    from tabnas.cli._summary import show_scores
    from tabnas.data import read_table
    from tabnas.model import score
    from tabnas.runs import Labelled, load_run_model

    model = load_run_model(finished(run))
    table = read_table(file, text=model.text_columns)
    if model.target.name not in table:
        raise TabnasError(
            f"{file.name!r} must have the target {model.target.name!r} to be judged by, however it "
            "has no such column; use tabnas predict for rows without"
        )
    rows = Labelled.of(table, model.target)
    if not len(rows):
        raise TabnasError(
            f"{file.name!r} must have rows with a target to be judged by, however "
            f"{model.target.name!r} is missing in all; use tabnas predict for rows without"
        )
    predict = model.predict_proba if model.classes else model.predict
    scores = score(model.target, rows.truth, predict(rows.features)).to_dict()
    if as_json:
        typer.echo(json.dumps(scores, indent=2))
        return
    counted = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    show_scores(terminal(), {"network": scores}, f"{counted} of {file.name}")
