"""`tabnas export`: write a model as one ONNX file, or as C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli._run_folders import check_finished
from tabnas.cli._tables import configure_arrow, input_path
from tabnas.cli.display._formatting import make_console, make_two_column_table, safe_text
from tabnas.cli.options._parsers import at_least, parse_float
from tabnas.cli.options._shared import FinishedRun, Json, flag
from tabnas.errors import TabNASError
from tabnas.formatting import shorten

if TYPE_CHECKING:
    from rich.table import Table

    from tabnas.cli._test_rows import CheckRows
    from tabnas.export import CExportResult, ExportResult, Parity

MAX_FIELDS_LISTED = 6
DEFAULT_MARGIN = 0.01
ENCODED_ROWS_NOTE = (
    "encoded rows check only the network, and generated rows the complete file; to check it on "
    "real rows, name a table with --check FILE"
)


def export(
    run: FinishedRun,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The .onnx file to write. An existing file is replaced.", metavar="FILE"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The same as FILE.", metavar="FILE"),
    ] = None,
    c: Annotated[
        Path | None,
        typer.Option(
            "--c",
            help="Write model.h, model.c and model_test.c to this folder instead, for devices "
            "without any runtime; existing files are replaced. If there is a C compiler, they are "
            "checked with it.",
            metavar="FOLDER",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="What all names of --c begin with.", metavar="NAME", show_default="tabnas"
        ),
    ] = None,
    weights_only: Annotated[
        bool,
        flag(
            "--weights-only",
            help="Leave out preprocessing: the inputs are encoded rows, the outputs logits and "
            "predictions.",
        ),
    ] = False,
    int8: Annotated[
        bool,
        flag(
            "--int8",
            help="Store weights in 8 bits if that is smaller and the score stays within --margin.",
        ),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(
            help="How much worse --int8 may make the score, relative to it.",
            metavar="SHARE",
            parser=at_least(0.0, parse_float),
            show_default="0.01",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Rows to check the file on: a CSV, TSV, Parquet or Feather file, or - for CSV "
            "from standard input.",
            metavar="FILE",
            show_default="the test rows of the run, if its table or store has not changed",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model with its preprocessing as one ONNX file, or as C.

    The inputs are the columns of the table; the outputs are labels and probabilities, or values.

    The file is written only if it predicts the same as the model. This is checked on real rows, and
    on generated rows with every category, missing and new values, and extremes. C files are checked
    with the C compiler of this machine ($CC, cc, gcc or clang), if there is one.

    For example:

    # one file with preprocessing
    tabnas export runs/income income.onnx

    # weights in 8 bits if the score on these rows gets at most 2 % worse
    tabnas export runs/income small.onnx --int8 --margin 0.02 --check test.csv

    # C99 for a microcontroller: firmware/model.h and firmware/model.c, and model_test.c to test it
    tabnas export runs/income --c firmware
    """
    from tabnas.cli._test_rows import CheckRows, load_metric, load_test_rows
    from tabnas.data import read_table
    from tabnas.export import export_c, export_onnx
    from tabnas.runs import load_run_model

    configure_arrow()
    if c is None:
        path = _choose_path(file, out)
        if prefix is not None:
            raise TabNASError("--prefix needs --c, got an ONNX file; remove it")
    else:
        _check_c_options(file or out, weights_only=weights_only, int8=int8, margin=margin)
    model = load_run_model(check_finished(run))
    if check is None:
        check_rows = load_test_rows(run)
    else:
        with input_path(check) as checked:
            rows = read_table(checked, text=model.text_columns)
        check_rows = CheckRows(rows=rows, description=f"rows of {checked.name}")
    if int8 and check_rows.rows is None:
        raise TabNASError(
            f"--int8 must have rows with the target {shorten(model.target.name)!r} to measure the "
            f"score on, but there are none: {check_rows.description}; name some with --check FILE"
        )
    if c is not None:
        files = export_c(model, c, check=check_rows.rows, prefix=prefix or "tabnas")
        if as_json:
            facts = files.to_dict() | {"checked_on": check_rows.description}
            typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        else:
            _print_c_export(files, check_rows)
        return
    exported = export_onnx(
        model,
        path,
        check=check_rows.rows,
        weights_only=weights_only,
        int8=int8,
        margin=DEFAULT_MARGIN if margin is None else margin,
        metric=load_metric(run),
    )
    if as_json:
        facts = exported.to_dict() | {
            "checked_on": check_rows.description,
            "caution": check_rows.caution or None,
        }
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        _print_export(exported, check_rows, weights_only=weights_only)


def _choose_path(file: Path | None, out: Path | None) -> Path:
    """Return the file to write, from the argument or from --out."""
    if file is not None and out is not None:
        raise TabNASError(
            f"one file must be given, got both {shorten(file)!r} and --out {shorten(out)!r}; "
            "remove one"
        )
    path = file or out
    if path is None:
        raise TabNASError(
            "the file to write must be given, ending in .onnx, like tabnas export RUN model.onnx, "
            "or a folder for C, like tabnas export RUN --c firmware"
        )
    return path


def _check_c_options(
    path: Path | None, *, weights_only: bool, int8: bool, margin: float | None
) -> None:
    """Raise an error if an option does not go with --c."""
    wrong = [repr(shorten(path))] if path is not None else []
    wrong += ["--weights-only"] if weights_only else []
    wrong += ["--int8"] if int8 else []
    wrong += ["--margin"] if margin is not None else []
    if wrong:
        raise TabNASError(f"--c must be given alone, got also {wrong[0]}; remove one of them")


def _print_c_export(files: CExportResult, check_rows: CheckRows) -> None:
    table = make_two_column_table()
    for path in (files.header, files.source, files.self_test):
        table.add_row("file", safe_text(shorten(path, 200)))
    table.add_row("model", f"{files.model_id.removesuffix('u')}, the MODEL_ID of the header")
    table.add_row("row", safe_text(_format_fields(files.fields), max_length=400))
    weights = f"{files.parameters:,} parameters as {files.precision}"
    table.add_row("weights", f"{files.weight_bytes:,} bytes, {weights}")
    table.add_row("columns", f"{files.column_bytes:,} bytes of centers and scales")
    table.add_row("code", f"at most {files.max_code_bytes:,} bytes besides, with alignment")
    if files.size is not None:
        table.add_row("compiled", _describe_size(files.size.bytes, files.max_bytes))
        table.add_row("", f"{files.size.lookup_bytes:,} more for texts and what searches them")
    table.add_row("RAM", f"{files.ram_bytes:,} bytes of activations, on the stack")
    table.add_row("", "and some 200 bytes of stack for calls")
    if files.parity is None:
        table.add_row("checked", "no: this machine has no C compiler")
    else:
        if check_rows.is_encoded:
            table.add_row("checked", f"on {files.parity.probe_rows:,} generated rows")
            table.add_row("", "on no real rows: they are encoded; name some with --check FILE")
        else:
            _add_check(table, files.parity, check_rows)
        if files.texts:
            table.add_row("", f"and {files.texts:,} categories as the rows write them")
        _add_difference(table, files.parity)
    make_console().print(table)


def _describe_size(size: int, max_size: int) -> str:
    if size <= max_size:
        return f"{size:,} of at most {max_size:,} bytes"
    return f"{size:,} bytes, more than the {max_size:,} of gcc -O2 on x86-64"


def _print_export(exported: ExportResult, check_rows: CheckRows, *, weights_only: bool) -> None:
    table = make_two_column_table()
    size = f"{exported.bytes:,} bytes, {exported.parameters:,} parameters"
    table.add_row("file", safe_text(f"{shorten(exported.path, 200)}: {size}"))
    table.add_row("inputs", safe_text(_format_fields(exported.inputs), max_length=400))
    table.add_row("outputs", safe_text(_format_fields(exported.outputs), max_length=400))
    table.add_row("opset", ", ".join(f"{name} {n}" for name, n in exported.opsets.items()))
    _add_check(table, exported.parity, check_rows)
    if exported.parity.rows and check_rows.is_encoded and not weights_only:
        table.add_row("", ENCODED_ROWS_NOTE)
    _add_difference(table, exported.parity)
    if exported.int8 is not None:
        small = exported.int8
        score = f"{small.metric} {small.int8_score:.5g}, {small.float32_score:.5g} in float32"
        table.add_row("int8", f"{score}, on {small.rows:,} rows")
        if check_rows.caution:
            table.add_row("", check_rows.caution)
        table.add_row("", f"{exported.bytes:,} bytes, {small.float32_bytes:,} in float32")
    make_console().print(table)


def _add_check(table: Table, parity: Parity, check_rows: CheckRows) -> None:
    """Add what a file was checked on."""
    real = f"{parity.rows:,} {check_rows.description} and " if parity.rows else ""
    table.add_row(
        "checked", safe_text(f"on {real}{parity.probe_rows:,} generated rows", max_length=200)
    )
    if not parity.rows:
        table.add_row("", f"on no real rows: {check_rows.description}; name some with --check FILE")


def _add_difference(table: Table, parity: Parity) -> None:
    """Add what a file was checked with, and the result."""
    table.add_row("", safe_text(f"by {parity.runtime}", max_length=200))
    table.add_row("", f"largest difference {parity.difference:.1e}, allowed {parity.tolerance:.0e}")


def _format_fields(fields: dict[str, str]) -> str:
    texts = [
        f"{shorten(name)} ({dtype})" for name, dtype in list(fields.items())[:MAX_FIELDS_LISTED]
    ]
    left = len(fields) - len(texts)
    return ", ".join(texts) + (f", and {left:,} more" if left else "")
