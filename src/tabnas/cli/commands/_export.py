"""`tabnas export`: write a model as one ONNX file, or as C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli._run_folders import check_finished
from tabnas.cli._tables import configure_arrow, input_path
from tabnas.cli.display._export_summary import (
    describe_checked_rows,
    print_c_export,
    print_onnx_export,
)
from tabnas.cli.options._parsers import at_least, parse_float
from tabnas.cli.options._shared import FinishedRun, Json, flag
from tabnas.errors import TabNASError
from tabnas.formatting import shorten

if TYPE_CHECKING:
    from tabnas.cli._test_rows import CheckRows
    from tabnas.model import Model

DEFAULT_MARGIN = 0.01


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
    from tabnas.runs import load_run_model

    configure_arrow()
    if c is None:
        path = _choose_path(file, out)
        if prefix is not None:
            raise TabNASError("--prefix needs --c, got an ONNX file; remove it")
        if margin is not None and not int8:
            raise TabNASError("--margin needs --int8, got float32; add --int8 or remove --margin")
    else:
        _check_c_options(file or out, weights_only=weights_only, int8=int8, margin=margin)
    model = load_run_model(check_finished(run))
    check_rows = _load_check_rows(run, check, model)
    if c is not None:
        _export_c(model, c, prefix or "tabnas", check_rows, as_json=as_json)
        return
    if int8:
        _check_scored_rows(check_rows, model)
    _export_onnx(
        run,
        model,
        path,
        check_rows,
        weights_only=weights_only,
        int8=int8,
        margin=DEFAULT_MARGIN if margin is None else margin,
        as_json=as_json,
    )


def _load_check_rows(run: Path, check: Path | None, model: Model) -> CheckRows:
    """Return the rows of --check, or the test rows of the run."""
    from tabnas.cli._test_rows import CheckRows, load_test_rows
    from tabnas.data import read_table

    if check is None:
        return load_test_rows(run)
    with input_path(check) as path:
        rows = read_table(path, text=model.text_columns)
    return CheckRows(rows=rows, description=f"rows of {path.name}")


def _check_scored_rows(check_rows: CheckRows, model: Model) -> None:
    """Raise an error if there are no rows that --int8 can measure the score on."""
    if check_rows.rows is None:
        raise TabNASError(
            f"--int8 must have rows with the target {shorten(model.target.name)!r} to measure the "
            f"score on, but there are none: {check_rows.description}; name some with --check FILE"
        )


def _export_c(
    model: Model, folder: Path, prefix: str, check_rows: CheckRows, *, as_json: bool
) -> None:
    """Write a model as C, and print what was written."""
    from tabnas.export import export_c

    exported = export_c(model, folder, check=check_rows.rows, prefix=prefix)
    if as_json:
        checked_on = describe_checked_rows(exported.parity, check_rows)
        description = exported.to_dict() | {"checked_on": checked_on}
        typer.echo(json.dumps(description, indent=2, ensure_ascii=False))
    else:
        print_c_export(exported, check_rows)


def _export_onnx(
    run: Path,
    model: Model,
    path: Path,
    check_rows: CheckRows,
    *,
    weights_only: bool,
    int8: bool,
    margin: float,
    as_json: bool,
) -> None:
    """Write a model as ONNX, and print what was written."""
    from tabnas.cli._test_rows import load_metric
    from tabnas.export import export_onnx

    exported = export_onnx(
        model,
        path,
        check=check_rows.rows,
        weights_only=weights_only,
        int8=int8,
        margin=margin,
        metric=load_metric(run),
    )
    if as_json:
        description = exported.to_dict() | {
            "checked_on": check_rows.description,
            "caution": check_rows.caution or None,
        }
        typer.echo(json.dumps(description, indent=2, ensure_ascii=False))
    else:
        print_onnx_export(exported, check_rows, weights_only=weights_only)


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
