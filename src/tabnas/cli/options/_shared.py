"""Declarations of options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli.options import _completion as completion
from tabnas.cli.options._parsers import (
    at_least,
    greater_than,
    parse_bytes,
    parse_float,
    parse_int,
    parse_large_int,
    parse_seconds,
)

if TYPE_CHECKING:
    from tabnas.jobs import JobConfig

LIMITS, COLUMNS, ROWS, WORK = "Limits", "Columns", "Rows", "Work"
PANELS = (None, LIMITS, COLUMNS, ROWS, "Architectures", WORK)
"""Panels of the help in their order; options without a panel come first."""
GIGABYTE = 10**9


def flag(*names: str, help: str, panel: str | None = None) -> Any:
    """Declare an option without a value."""
    return typer.Option(*names, help=help, rich_help_panel=panel)


def _limit(parser: Callable[[str], float], help: str) -> Any:
    return typer.Option(help=help, metavar="N", parser=parser, rich_help_panel=LIMITS)


def _columns(help: str) -> Any:
    complete = completion.complete_columns
    return typer.Option(help=help, metavar="A,B", autocompletion=complete, rich_help_panel=COLUMNS)


def _rows(help: str) -> Any:
    return typer.Option(help=help, show_default="0.2", metavar="ROWS", rich_help_panel=ROWS)


def _split_column(help: str) -> Any:
    complete = completion.complete_column
    return typer.Option(help=help, metavar="NAME", autocompletion=complete, rich_help_panel=ROWS)


# -- output ----------------------------------------------------------------------------------------

Quiet = Annotated[bool, flag("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, flag("--json", help="Print JSON and nothing else.")]
DryRun = Annotated[
    bool, flag("--dry-run", help="Print the plan. Train nothing, and write no run folder.")
]

# -- data ------------------------------------------------------------------------------------------

Data = Annotated[
    str,
    typer.Argument(
        help="A CSV, TSV, Parquet or Feather file, a folder from `tabnas encode`, or a name from "
        "`tabnas datasets`. Use - for CSV from standard input.",
        metavar="DATA",
        autocompletion=completion.complete_data,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict. Required for a file; datasets and stores have their own.",
        metavar="NAME",
        autocompletion=completion.complete_column,
    ),
]
FinishedRun = Annotated[
    Path,
    typer.Argument(
        help="The folder of a finished run.",
        metavar="RUN",
        autocompletion=completion.list_finished_runs,
    ),
]

# -- limits ----------------------------------------------------------------------------------------

MaxParameters = Annotated[
    int | None,
    _limit(
        parse_large_int,
        "Maximum number of trained parameters: weights, biases and embeddings, like 20000 or 20k.",
    ),
]
MaxDenseParameters = Annotated[
    int | None,
    _limit(
        parse_large_int,
        "Maximum number of weights and biases of dense layers, without embeddings. The paper "
        "counts this way.",
    ),
]
MaxFlops = Annotated[
    int | None,
    _limit(parse_large_int, "Maximum number of floating-point operations per row."),
]
MaxBytes = Annotated[
    int | None,
    _limit(
        parse_bytes,
        "Maximum size of the weights, like 80000 or 80kB. A parameter takes four bytes as float32, "
        "and about one as int8.",
    ),
]
MaxRamBytes = Annotated[
    int | None,
    _limit(
        parse_bytes,
        "Maximum memory for activations while one row is predicted, like 2000 or 2kB: the input "
        "and the output of a layer, four bytes a number.",
    ),
]
MaxLatencyUs = Annotated[
    float | None,
    _limit(
        parse_float,
        "Maximum latency of one row in microseconds, preprocessing included. It is measured "
        "on this machine, or predicted from --latency-table.",
    ),
]
MaxBatchLatencyUs = Annotated[
    float | None,
    _limit(parse_float, "Maximum latency of a batch of 256 rows in microseconds."),
]
MaxNamed = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        help="A limit by the name of its cost, like flops=60k. Costs without an option of their "
        "own are limited this way. Can be repeated.",
        metavar="NAME=N",
        autocompletion=completion.complete_limit,
        rich_help_panel=LIMITS,
    ),
]

# -- columns ---------------------------------------------------------------------------------------

TaskName = Annotated[
    str | None,
    typer.Option(
        help="'classification' or 'regression'.",
        show_default="inferred from the target",
        metavar="NAME",
        autocompletion=completion.complete_from(*completion.TASKS),
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    str | None,
    _columns("Columns to treat as categories, such as codes written as numbers."),
]
Numeric = Annotated[str | None, _columns("Columns to treat as numbers.")]
Hashed = Annotated[str | None, _columns("Columns with so many categories that they are hashed.")]

# -- rows ------------------------------------------------------------------------------------------

ValidationRows = Annotated[
    str | None,
    _rows("The validation rows that networks are chosen by: a share like 0.2, or a file."),
]
TestRows = Annotated[
    str | None,
    _rows("The test rows, used only for the final scores: a share like 0.2, or a file."),
]
UnlabelledRows = Annotated[
    Path | None,
    typer.Option(
        help="A file of rows without a target. A teacher answers them, and networks learn from its "
        "answers if that helps by the validation rows. With --teacher-columns, the file must have "
        "these columns.",
        metavar="FILE",
        rich_help_panel=ROWS,
    ),
]
TimeColumn = Annotated[
    str | None,
    _split_column(
        "Split by this column of dates or numbers: the latest rows become the test rows."
    ),
]
GroupColumn = Annotated[
    str | None,
    _split_column(
        "Split by this column: rows of one group stay together. No value may be missing."
    ),
]

# -- work ------------------------------------------------------------------------------------------

CheckpointSeconds = Annotated[
    float,
    typer.Option(
        help="Seconds between checkpoints.",
        metavar="N",
        parser=greater_than(0.0, parse_seconds),
        rich_help_panel=WORK,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Threads to work with. Results do not depend on it, unless time is limited. "
        "--engine torch has threads of its own.",
        metavar="N",
        parser=at_least(1, parse_int),
        show_default="all cores that the machine allows",
        rich_help_panel=WORK,
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        help="Maximum number of processes that run jobs.",
        metavar="N",
        parser=at_least(1, parse_int),
        show_default="1; on a cluster, as many as fit",
        rich_help_panel=WORK,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="Where jobs run: local for this machine, ray or dask for a running cluster with the "
        "same version of tabnas.",
        metavar="NAME",
        autocompletion=completion.complete_from(*completion.BACKENDS),
        rich_help_panel=WORK,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The address of the cluster, like HOST:6379 for ray or tcp://HOST:8786 for dask.",
        show_default="RAY_ADDRESS or DASK_SCHEDULER_ADDRESS",
        metavar="HOST",
        rich_help_panel=WORK,
    ),
]


def make_job_config(processes: int | None, backend: str, address: str | None) -> JobConfig:
    """Return the configuration of parallel jobs from the three options."""
    from tabnas.jobs import JobConfig

    return JobConfig(processes=processes, backend=backend, address=address)
