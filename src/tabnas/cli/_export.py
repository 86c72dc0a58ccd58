"""`tabnas export`: a model as one file for other runtimes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tabnas.cli._options import Json
from tabnas.cli._text import plain, shown, terminal

if TYPE_CHECKING:
    from tabnas.export import Exported

MOST_NAMED = 6


def export(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="RUN")],
    out: Annotated[
        Path,
        typer.Argument(help="Where to write: .onnx. A file there is replaced.", metavar="FILE"),
    ],
    weights_only: Annotated[
        bool,
        typer.Option(
            "--weights-only", help="Without preprocessing: encoded rows in, logits and answers out."
        ),
    ] = False,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Store weights in 8 bits, if the score stays within --margin."),
    ] = False,
    margin: Annotated[
        float, typer.Option(help="How much of the score --int8 may cost, as a share of it.", min=0)
    ] = 0.01,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Rows to check the file on: CSV, TSV, Parquet or Feather.",
            show_default="the run's test rows, if its table is still there",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model as one ONNX file, from the table's columns to labels and probabilities.

    The file is computed on real rows, and on rows made up of every category, missing and unseen
    values and extremes. It is written only if it answers as the model does.

        tabnas export runs/income income.onnx
    """
    from tabnas.cli._run_rows import judged_rows, run_metric
    from tabnas.data import read_table
    from tabnas.export import export_onnx
    from tabnas.runs import load_run_model

    model = load_run_model(run)
    if check is None:
        rows, where = judged_rows(run), "test rows of the run"
    else:
        rows, where = read_table(check, text=model.text_columns), f"rows of {check.name}"
    exported = export_onnx(
        model,
        out,
        check=rows,
        weights_only=weights_only,
        int8=int8,
        margin=margin,
        metric=run_metric(run),
    )
    if as_json:
        typer.echo(json.dumps(exported.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(exported, where)


def _show(exported: Exported, where: str) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    size = f"{exported.bytes:,} bytes, {exported.parameters:,} parameters"
    table.add_row("file", shown(f"{plain(exported.path, longest=200)}: {size}"))
    table.add_row("inputs", shown(_named(exported.inputs), longest=400))
    table.add_row("outputs", shown(_named(exported.outputs), longest=400))
    table.add_row("opset", ", ".join(f"{name} {n}" for name, n in exported.opsets.items()))
    parity = exported.parity
    real = f"{parity.rows:,} {where} and " if parity.rows else ""
    table.add_row("checked", shown(f"on {real}{parity.made_rows:,} made-up rows", longest=200))
    if not parity.rows:
        table.add_row("", "no real rows were at hand; name some with --check FILE")
    table.add_row("", f"by {parity.engine}")
    told = f"largest difference {parity.difference:.1e}, allowed {parity.tolerance:.0e}"
    table.add_row("", told)
    if exported.int8 is not None:
        small = exported.int8
        score = f"{small.metric} {small.int8_score:.5g}, {small.float32_score:.5g} in float32"
        table.add_row("int8", f"{score}, on {small.rows:,} rows")
        table.add_row("", f"{exported.bytes:,} bytes, {small.float32_bytes:,} in float32")
    terminal().print(table)


def _named(ends: dict[str, str]) -> str:
    told = [f"{plain(name)} ({dtype})" for name, dtype in list(ends.items())[:MOST_NAMED]]
    left = len(ends) - len(told)
    return ", ".join(told) + (f", and {left:,} more" if left else "")
