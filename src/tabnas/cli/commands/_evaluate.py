"""`tabnas evaluate`: score a model on rows with a known target."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli._run_folders import check_finished
from tabnas.cli._tables import configure_arrow, input_path
from tabnas.cli.display._formatting import make_console
from tabnas.cli.options._shared import FinishedRun, Json, Threads
from tabnas.decoding import to_builtins
from tabnas.errors import TabNASError
from tabnas.formatting import format_count
from tabnas.threads import limit_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tabnas.cli.display._progress import RowProgress
    from tabnas.data import Table
    from tabnas.model import Model


def evaluate(
    run: FinishedRun,
    file: Annotated[
        Path,
        typer.Argument(
            help="Rows with the target column: a CSV, TSV, Parquet or Feather file, or - for CSV "
            "from standard input.",
            metavar="FILE",
        ),
    ],
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Score a model on rows with a known target, with 95 % intervals.

    Use rows that the model was not trained on: on training rows, scores are too good. Rows without
    a target are left out.

    The file can be larger than memory: a thread reads at most 65,536 rows at a time. Only targets
    and predictions are held in memory.

    For example:

    # score rows that were held out
    tabnas evaluate runs/income test.csv

    # print the scores as JSON
    tabnas evaluate runs/income test.csv --json
    """
    import pyarrow as pa

    from tabnas.cli.display._progress import row_progress
    from tabnas.cli.display._run_summary import print_scores
    from tabnas.model import score
    from tabnas.runs import load_run_model

    with limit_threads(threads), input_path(file) as file, row_progress("evaluating") as progress:
        configure_arrow()
        model = load_run_model(check_finished(run))
        y, prediction = _predict_file(model, file, progress)
        pa.default_memory_pool().release_unused()  # memory of reading, which scoring can use
        scores = score(model.target, y, prediction)
    if as_json:
        typer.echo(json.dumps(to_builtins(scores), indent=2))
        return
    print_scores(
        make_console(), {"network": scores}, f"{format_count(len(y), 'row')} of {file.name}"
    )


def _predict_file(
    model: Model, file: Path, progress: RowProgress
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the true and the predicted target of every row that has one.

    They stay in memory, since most metrics need all of them. The table is read chunk by chunk.
    """
    import numpy as np

    from tabnas.data import DataWarning, UnseenCategories, find_labelled_rows, read_table
    from tabnas.data.lowlevel import is_text, renumber_rows

    target = model.target
    table = read_table(file, text=model.text_columns, on_progress=progress.on_read)
    if target.name not in table:
        raise TabNASError(
            f"{file.name!r} must have the target column {target.name!r}, but it has no such "
            "column; use tabnas predict for rows without a target"
        )
    y = np.empty(len(table), np.int32 if model.classes else np.float64)
    shape = (len(table), len(model.classes)) if model.classes else len(table)
    prediction = np.empty(shape)
    unseen = UnseenCategories(model.encoder)

    def predict(start: int, chunk: Table) -> tuple[int, NDArray[Any], NDArray[Any]]:
        column = chunk.column(target.name)
        present = find_labelled_rows(column, target)
        mark = chunk.decimals.mark if is_text(column) else None
        rows = chunk if len(present) == len(chunk) else chunk.take(present)
        with renumber_rows(start + present):
            encoded = target.encode(rows.column(target.name), mark)
            raw = model.predict_raw(rows.drop([target.name]), unseen=unseen)
        return start + len(chunk), encoded, model.decode(raw)

    count = 0
    progress.on_rows(0, len(table))
    for read, y_true, y_pred in model.map_chunks(predict, table, target.name):
        here = slice(count, count + len(y_true))
        y[here], prediction[here] = y_true, y_pred
        count = here.stop
        progress.on_rows(read, len(table))
    if not count:
        raise TabNASError(
            f"{file.name!r} must have rows with a target, but {target.name!r} is missing in all "
            "of them; use tabnas predict for rows without a target"
        )
    for note in unseen.notes():
        warnings.warn(note, DataWarning, stacklevel=2)
    return y[:count], prediction[:count]
