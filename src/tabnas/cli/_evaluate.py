"""`tabnas evaluate`: a model's scores on rows whose target is known."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli._folders import finished
from tabnas.cli._options import FinishedRun, Json
from tabnas.cli._standard_input import input_file
from tabnas.cli._text import terminal
from tabnas.decoding import encode
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tabnas.cli._row_progress import RowProgress
    from tabnas.model import Model


def evaluate(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(
            help="Rows with the target column: CSV, TSV, Parquet or Feather; - for CSV from "
            "standard input.",
            metavar="FILE",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Score a model on rows whose target is known, with 95 % intervals.

    Rows without a target are left out. The rows should be new to the model: on those of its
    training, scores are better than they will be.

    Rows are read and predicted in pieces of at most 65,536, so a file may be larger than memory;
    the target and the prediction of each row stay in memory.

    For example:

    # rows that were kept aside
    tabnas evaluate runs/income test.csv

    # the same for a program
    tabnas evaluate runs/income test.csv --json
    """
    import pyarrow as pa

    from tabnas.cli import _arrow  # noqa: F401
    from tabnas.cli._row_progress import row_progress
    from tabnas.cli._summary import show_scores
    from tabnas.model import score
    from tabnas.runs import load_run_model

    model = load_run_model(finished(run))
    with input_file(file) as file, row_progress("evaluating") as progress:
        truth, prediction = _answers(model, file, progress)
        pa.default_memory_pool().release_unused()  # what reading took, for scores take some, too
        scores = score(model.target, truth, prediction)
    if as_json:
        typer.echo(json.dumps(encode(scores), indent=2))
        return
    counted = "1 row" if len(truth) == 1 else f"{len(truth):,} rows"
    show_scores(terminal(), {"network": scores}, f"{counted} of {file.name}")


def _answers(model: Model, file: Path, progress: RowProgress) -> tuple[NDArray[Any], NDArray[Any]]:
    """The truth and the prediction of every row that has a target.

    They stay in memory, for most metrics need them all at once; of the table, some rows at a time.
    """
    import numpy as np

    from tabnas.data import DataWarning, UnseenCategories, read_table, rows_with_target
    from tabnas.data.reading import is_text, rename_rows

    target = model.target
    table = read_table(file, text=model.text_columns, observe=progress.read)
    if target.name not in table:
        raise TabNASError(
            f"{file.name!r} must have the target {target.name!r} to be judged by, but it "
            "has no such column; use tabnas predict for rows without"
        )
    truth = np.empty(len(table), np.int32 if model.classes else np.float64)
    shape = (len(table), len(model.classes)) if model.classes else len(table)
    prediction = np.empty(shape)
    read = count = 0
    unseen = UnseenCategories(model.encoder)
    for piece in model.iter_chunks(table, target.name):
        progress.count(read, len(table))
        answers = piece.column(target.name)
        present = rows_with_target(answers, target)
        mark = piece.decimals.mark if is_text(answers) else None
        here = slice(count, count + len(present))
        rows = piece if len(present) == len(piece) else piece.take(present)
        with rename_rows(read + present):
            truth[here] = target.truth(rows.column(target.name), mark)
            raw = model.predict_raw(rows.drop([target.name]), unseen=unseen)
            prediction[here] = model.decode(raw)
        read, count = read + len(piece), here.stop
    progress.count(read, len(table))
    if not count:
        raise TabNASError(
            f"{file.name!r} must have rows with a target to be judged by, but "
            f"{target.name!r} is missing in all; use tabnas predict for rows without"
        )
    for note in unseen.notes():
        warnings.warn(note, DataWarning, stacklevel=2)
    return truth[:count], prediction[:count]
