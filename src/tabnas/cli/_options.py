"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Annotated

import typer

from tabnas.errors import TabnasError, did_you_mean

LIMITS, SPACE, ROWS, COLUMNS, WORK = "Limits", "Architectures", "Rows", "Columns", "Work"
"""Panels of the help."""
ENGINES = ("compiled", "torch")

MaxParameters = Annotated[
    int | None,
    typer.Option(help="Limit on all trained numbers of the model.", rich_help_panel=LIMITS),
]
MaxDenseParameters = Annotated[
    int | None,
    typer.Option(
        help="Limit on weights and biases of dense layers only, as the paper counts.",
        rich_help_panel=LIMITS,
    ),
]
MaxFlops = Annotated[
    int | None,
    typer.Option(help="Limit on floating-point operations a row.", rich_help_panel=LIMITS),
]
MaxBytes = Annotated[
    int | None, typer.Option(help="Limit on bytes of weights.", rich_help_panel=LIMITS)
]
MaxLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="Limit on microseconds of a call for one row, measured on this machine.",
        rich_help_panel=LIMITS,
    ),
]
MaxBatchLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="Limit on microseconds of a call for 256 rows.",
        rich_help_panel=LIMITS,
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        help="A CSV, TSV, Parquet or Feather file, a folder of `tabnas encode`, or a name of "
        "`tabnas datasets`.",
        metavar="DATA",
    ),
]
Target = Annotated[str | None, typer.Option(help="The column to predict; a file needs it.")]
LatencyTableFile = Annotated[
    Path | None,
    typer.Option(
        help="A file of `tabnas latency` from another machine, to keep latencies there.",
        show_default="measured here",
        rich_help_panel=LIMITS,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Networks trained side by side in a step.",
        show_default="1; under torchrun, as many as processes",
        min=1,
        rich_help_panel=WORK,
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        help="What does the arithmetic: compiled; or torch, an extra, for several processes.",
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
    bool, typer.Option("--dry-run", help="Show the space and the plan, and train nothing.")
]
Layers = Annotated[
    int | None,
    typer.Option(help="The most hidden layers.", show_default="3", rich_help_panel=SPACE),
]
Widths = Annotated[
    str | None,
    typer.Option(
        help="Candidate widths of every layer, like 0,8,16,32; 0 makes layers optional.",
        show_default="by the limit",
        rich_help_panel=SPACE,
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option(
        help="What to choose by: accuracy, balanced_error, log_loss, auc for classes; "
        "rmse, mae, r2 for quantities.",
        show_default="log_loss or rmse",
        rich_help_panel=WORK,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(help="'balanced' gives every class the same weight.", rich_help_panel=WORK),
]
ValidationRows = Annotated[
    str | None,
    typer.Option(
        help="A file, or a share of the rows, to choose by.",
        show_default="0.2",
        rich_help_panel=ROWS,
    ),
]
TestRows = Annotated[
    str | None,
    typer.Option(
        help="A file, or a share of the rows, that only the final scores see.",
        show_default="0.2",
        rich_help_panel=ROWS,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        help="A column of dates or numbers to split by: the latest rows are the test.",
        rich_help_panel=ROWS,
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        help="A column to split by: rows of one group stay together.", rich_help_panel=ROWS
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        help="'classification' or 'regression'.",
        show_default="as the target looks",
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    str | None,
    typer.Option(help="Columns to take for categories: a,b.", rich_help_panel=COLUMNS),
]
Numeric = Annotated[
    str | None, typer.Option(help="Columns to take for numbers: a,b.", rich_help_panel=COLUMNS)
]
Hashed = Annotated[
    str | None,
    typer.Option(
        help="Columns whose categories have no end, to take by their hash: a,b.",
        rich_help_panel=COLUMNS,
    ),
]
Drop = Annotated[str | None, typer.Option(help="Columns to ignore: a,b.", rich_help_panel=COLUMNS)]
ScalingName = Annotated[
    str,
    typer.Option(help="How numbers are scaled: robust, standard or none.", rich_help_panel=COLUMNS),
]
Memory = Annotated[
    str,
    typer.Option(
        help="About how much memory to take while learning from a folder of `tabnas encode`.",
        rich_help_panel=WORK,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
CheckpointSeconds = Annotated[
    float,
    typer.Option(help="Seconds from one checkpoint to the next.", min=0.0, rich_help_panel=WORK),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]


def some_limits(**limits: float | None) -> dict[str, float]:
    """The limits that were given, by the name of their cost."""
    return {name: most for name, most in limits.items() if most is not None}


def given_limits(**limits: float | None) -> dict[str, float]:
    """The same, of which there must be one."""
    given = some_limits(**limits)
    if not given:
        raise TabnasError("give at least one limit, for example --max-parameters 20000")
    return given


def given_memory(text: str) -> int:
    """Bytes from `500MB`, as many as the program itself takes at least."""
    from tabnas.stores import LEAST_MEMORY, parse_bytes

    memory = parse_bytes(text)
    if memory < LEAST_MEMORY:
        raise TabnasError(
            f"--memory must be at least {LEAST_MEMORY // 10**6}MB, of which the program itself "
            f"takes most, however {text} was given"
        )
    return memory


def known_engine(name: str) -> str:
    """An engine that a command may name."""
    if name not in ENGINES:
        raise TabnasError(f"there is no engine {name!r}; {did_you_mean(name, ENGINES)}")
    return name


def parse_widths(text: str) -> list[int]:
    """Candidate widths from `8,16,24`."""
    widths = []
    for part in text.split(","):
        part = part.strip()
        digits = part.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            raise TabnasError(
                f"--widths takes integers separated by commas, like 8,16,24; {part[:20]!r} is none"
            )
        widths.append(int(part))
    return widths


def parse_limits(text: str) -> list[float]:
    """Limits from `2000,5000,10000`, in their order; whole ones are integers."""
    limits: list[float] = []
    for part in text.split(","):
        try:
            number = float(part.strip().replace("_", ""))
        except ValueError:
            number = nan
        if not 0 < number < inf:
            raise TabnasError(
                "--limits takes positive numbers separated by commas, like 2000,5000; "
                f"{part.strip()[:20]!r} is none"
            )
        limits.append(int(number) if number == int(number) else number)
    return limits


def parse_names(text: str | None) -> tuple[str, ...]:
    """Column names from `age,city`."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def declared_kinds(drop: str | None, **named: str | None) -> dict[str, str]:
    """The kinds that columns were declared to be; none may be two things, or dropped besides."""
    declared: dict[str, str] = {}
    for kind, names in (*named.items(), ("drop", drop)):
        for name in parse_names(names):
            if declared.setdefault(name, kind) != kind:
                raise TabnasError(
                    f"the column {name!r} must be of one kind, however both --{declared[name]} and "
                    f"--{kind} name it; remove one"
                )
    return {name: kind for name, kind in declared.items() if kind != "drop"}


def share_or_file(option: str, text: str | None, default: float) -> tuple[float, Path | None]:
    """A share of the rows like 0.2, or the path of a file."""
    if text is None:
        return default, None
    try:
        share = float(text)
    except ValueError:
        return default, Path(text)
    if not 0 < share < 1:
        raise TabnasError(
            f"{option} takes a share of the rows between 0 and 1, or a file; {text!r} is neither"
        )
    return share, None
