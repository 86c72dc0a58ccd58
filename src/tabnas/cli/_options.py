"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli import _completing as completing
from tabnas.cli._numbers import (
    at_least,
    byte_count,
    count,
    more_than,
    number,
    seconds,
    size,
    whole,
)

LIMITS, SPACE, ROWS, COLUMNS, WORK = "Limits", "Architectures", "Rows", "Columns", "Work"
PANELS = (None, LIMITS, COLUMNS, ROWS, SPACE, WORK)
"""Of the help, in their order; those without a panel come first."""

MaxParameters = Annotated[
    int | None,
    typer.Option(
        help="The most trained numbers of the model: weights, biases, embeddings. 20k is 20000.",
        metavar="N",
        parser=count,
        rich_help_panel=LIMITS,
    ),
]
MaxDenseParameters = Annotated[
    int | None,
    typer.Option(
        help="The most weights and biases of dense layers alone, as the paper counts.",
        metavar="N",
        parser=count,
        rich_help_panel=LIMITS,
    ),
]
MaxFlops = Annotated[
    int | None,
    typer.Option(
        help="The most floating-point operations for one row.",
        metavar="N",
        parser=count,
        rich_help_panel=LIMITS,
    ),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        help="The most bytes of weights, four to a parameter; 80kB is 80000.",
        metavar="N",
        parser=byte_count,
        rich_help_panel=LIMITS,
    ),
]
MaxLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="The most microseconds from the columns of one row to its answer, measured on this "
        "machine.",
        metavar="N",
        parser=number,
        rich_help_panel=LIMITS,
    ),
]
MaxBatchLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="The most microseconds for 256 rows in one call.",
        metavar="N",
        parser=number,
        rich_help_panel=LIMITS,
    ),
]
MaxNamed = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        help="The same by the name of a cost, like flops=60k; for costs that have no option of "
        "their own. May be repeated.",
        metavar="NAME=N",
        autocompletion=completing.limit,
        rich_help_panel=LIMITS,
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        help="A CSV, TSV, Parquet or Feather file, a folder of `tabnas encode`, a name of "
        "`tabnas datasets`, or - for CSV from standard input.",
        metavar="DATA",
        autocompletion=completing.data,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict. A file needs it; a dataset or a store knows its own.",
        metavar="NAME",
        autocompletion=completing.column,
    ),
]
LatencyTableFile = Annotated[
    Path | None,
    typer.Option(
        help="A file of `tabnas latency` from another machine, to keep latencies there.",
        show_default="measured here",
        metavar="FILE",
        rich_help_panel=LIMITS,
    ),
]
FinishedRun = Annotated[
    Path,
    typer.Argument(
        help="The folder of a finished run.",
        metavar="RUN",
        autocompletion=completing.finished_runs,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Networks trained side by side in a step of the search.",
        show_default="1; under torchrun, as many as processes",
        metavar="N",
        parser=at_least(1, whole),
        rich_help_panel=WORK,
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        help="What does the arithmetic: compiled; or torch, an extra, for several processes.",
        metavar="NAME",
        autocompletion=completing.engine,
        rich_help_panel=WORK,
    ),
]
Refit = Annotated[
    bool,
    typer.Option(
        "--refit",
        help="After judging, train the final model on all rows, the test included.",
        rich_help_panel=WORK,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show the space and the plan; train and write nothing."),
]
Layers = Annotated[
    int | None,
    typer.Option(
        help="The most hidden layers.",
        show_default="3",
        metavar="N",
        parser=whole,
        rich_help_panel=SPACE,
    ),
]
Widths = Annotated[
    str | None,
    typer.Option(
        help="Candidate widths of every layer, like 0,8,16,32; 0 makes layers optional.",
        show_default="by the limit",
        metavar="N,N",
        rich_help_panel=SPACE,
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option(
        help="What to choose by: accuracy, balanced_error, log_loss or auc for classes; "
        "rmse, mae or r2 for quantities.",
        show_default="log_loss or rmse",
        metavar="NAME",
        autocompletion=completing.one_of(*completing.METRICS),
        rich_help_panel=WORK,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="'balanced' gives every class the same weight.",
        show_default="every row the same",
        metavar="NAME",
        autocompletion=completing.one_of("balanced"),
        rich_help_panel=WORK,
    ),
]
ValidationRows = Annotated[
    str | None,
    typer.Option(
        help="A file, or a share of the rows like 0.2, to choose by.",
        show_default="0.2",
        metavar="ROWS",
        rich_help_panel=ROWS,
    ),
]
TestRows = Annotated[
    str | None,
    typer.Option(
        help="A file, or a share of the rows like 0.2, that only the final scores see.",
        show_default="0.2",
        metavar="ROWS",
        rich_help_panel=ROWS,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        help="A column of dates or numbers to split by: the latest rows are the test.",
        metavar="NAME",
        autocompletion=completing.column,
        rich_help_panel=ROWS,
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        help="A column to split by: rows of one group stay together. None may be missing.",
        metavar="NAME",
        autocompletion=completing.column,
        rich_help_panel=ROWS,
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        help="'classification' or 'regression'.",
        show_default="as the target looks",
        metavar="NAME",
        autocompletion=completing.one_of(*completing.TASKS),
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    str | None,
    typer.Option(
        help="Columns to take for categories, such as codes written as numbers.",
        metavar="A,B",
        autocompletion=completing.columns,
        rich_help_panel=COLUMNS,
    ),
]
Numeric = Annotated[
    str | None,
    typer.Option(
        help="Columns to take for numbers.",
        metavar="A,B",
        autocompletion=completing.columns,
        rich_help_panel=COLUMNS,
    ),
]
Hashed = Annotated[
    str | None,
    typer.Option(
        help="Columns whose categories have no end, to take by their hash.",
        metavar="A,B",
        autocompletion=completing.columns,
        rich_help_panel=COLUMNS,
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        help="Columns to ignore.",
        metavar="A,B",
        autocompletion=completing.columns,
        rich_help_panel=COLUMNS,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="The mark of decimals, '.' or ',', where it is open whether 1.234 is a thousand.",
        show_default="as the columns show",
        metavar="MARK",
        autocompletion=completing.one_of(".", ","),
        rich_help_panel=COLUMNS,
    ),
]
ScalingName = Annotated[
    str,
    typer.Option(
        help="How numbers are scaled: robust, standard or none.",
        metavar="NAME",
        autocompletion=completing.one_of(*completing.SCALINGS),
        rich_help_panel=COLUMNS,
    ),
]
Memory = Annotated[
    int,
    typer.Option(
        help="About how much memory to take while learning from a folder of `tabnas encode`.",
        show_default="1GB",
        metavar="SIZE",
        parser=size,
        rich_help_panel=WORK,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
CheckpointSeconds = Annotated[
    float,
    typer.Option(
        help="Seconds from one checkpoint to the next; more than 0.",
        metavar="N",
        parser=more_than(0.0, seconds),
        rich_help_panel=WORK,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
GIGABYTE = 10**9
