"""`tabnas export`: a model as one file for other runtimes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tabnas.cli._folders import finished
from tabnas.cli._numbers import at_least, number
from tabnas.cli._options import FinishedRun, Json
from tabnas.cli._standard_input import input_file
from tabnas.cli._text import plain, shown, terminal
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.cli._run_rows import JudgedRows
    from tabnas.export import ExportResult

MOST_NAMED = 6
ENCODED = (
    "encoded rows try the network alone, made-up ones the whole file; for real rows through all of "
    "it, name a table with --check FILE"
)


def export(
    run: FinishedRun,
    file: Annotated[
        Path | None,
        typer.Argument(help="Where to write: .onnx. A file there is replaced.", metavar="FILE"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="FILE as an option, as other commands have it.", metavar="FILE"),
    ] = None,
    weights_only: Annotated[
        bool,
        typer.Option(
            "--weights-only", help="Without preprocessing: encoded rows in, logits and answers out."
        ),
    ] = False,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8",
            help="Store weights in 8 bits, if that is smaller and the score stays within --margin.",
        ),
    ] = False,
    margin: Annotated[
        float,
        typer.Option(
            help="How much of the score --int8 may cost, as a share of it.",
            metavar="SHARE",
            parser=at_least(0.0, number),
        ),
    ] = 0.01,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Rows to check the file on: CSV, TSV, Parquet or Feather; - for CSV from standard "
            "input.",
            metavar="FILE",
            show_default="the run's test rows, if its table or store is there and the same",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model as one ONNX file, from the table's columns to labels and probabilities.

    The file is computed on real rows, and on rows made up of every category, missing and unseen
    values and extremes. It is written only if it answers as the model does.

    For example:

    # one file, preprocessing inside
    tabnas export runs/income income.onnx

    # weights in 8 bits, if that costs at most 2 % of the score on these rows
    tabnas export runs/income small.onnx --int8 --margin 0.02 --check test.csv
    """
    from tabnas.cli._run_rows import JudgedRows, judged_rows, run_metric
    from tabnas.data import read_table
    from tabnas.export import export_onnx
    from tabnas.runs import load_run_model

    path = _one_of(file, out)
    model = load_run_model(finished(run))
    if check is None:
        judged = judged_rows(run)
    else:
        with input_file(check) as checked:
            rows = read_table(checked, text=model.text_columns)
        judged = JudgedRows(rows=rows, words=f"rows of {checked.name}")
    if int8 and judged.rows is None:
        raise TabNASError(
            f"--int8 must be measured on rows with the target {plain(model.target.name)!r}, "
            f"but there are none: {judged.words}; name some with --check FILE"
        )
    exported = export_onnx(
        model,
        path,
        check=judged.rows,
        weights_only=weights_only,
        int8=int8,
        margin=margin,
        metric=run_metric(run),
    )
    if as_json:
        said = exported.to_dict() | {"checked_on": judged.words, "caution": judged.caution or None}
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        _show(exported, judged, weights_only=weights_only)


def _one_of(file: Path | None, out: Path | None) -> Path:
    """The file to write, which may be said in two ways."""
    if file is not None and out is not None:
        raise TabNASError(
            f"one file must be named, got both {plain(file)!r} and --out {plain(out)!r}; "
            "leave one out"
        )
    path = file or out
    if path is None:
        raise TabNASError(
            "export must be told where to write, but no file was named; give one that ends in "
            ".onnx: tabnas export RUN FILE"
        )
    return path


def _show(exported: ExportResult, judged: JudgedRows, *, weights_only: bool) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    size = f"{exported.bytes:,} bytes, {exported.parameters:,} parameters"
    table.add_row("file", shown(f"{plain(exported.path, longest=200)}: {size}"))
    table.add_row("inputs", shown(_named(exported.inputs), longest=400))
    table.add_row("outputs", shown(_named(exported.outputs), longest=400))
    table.add_row("opset", ", ".join(f"{name} {n}" for name, n in exported.opsets.items()))
    parity = exported.parity
    real = f"{parity.rows:,} {judged.words} and " if parity.rows else ""
    table.add_row("checked", shown(f"on {real}{parity.probe_rows:,} made-up rows", longest=200))
    if not parity.rows:
        table.add_row("", f"on no real rows: {judged.words}; name some with --check FILE")
    if parity.rows and judged.encoded and not weights_only:
        table.add_row("", ENCODED)
    table.add_row("", f"by {parity.runtime}")
    told = f"largest difference {parity.difference:.1e}, allowed {parity.tolerance:.0e}"
    table.add_row("", told)
    if exported.int8 is not None:
        small = exported.int8
        score = f"{small.metric} {small.int8_score:.5g}, {small.float32_score:.5g} in float32"
        table.add_row("int8", f"{score}, on {small.rows:,} rows")
        if judged.caution:
            table.add_row("", judged.caution)
        table.add_row("", f"{exported.bytes:,} bytes, {small.float32_bytes:,} in float32")
    terminal().print(table)


def _named(ends: dict[str, str]) -> str:
    told = [f"{plain(name)} ({dtype})" for name, dtype in list(ends.items())[:MOST_NAMED]]
    left = len(ends) - len(told)
    return ", ".join(told) + (f", and {left:,} more" if left else "")
