"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.errors import TabnasError

MaxParameters = Annotated[
    int | None,
    typer.Option(help="Limit on all trained numbers of the model.", rich_help_panel="Limits"),
]
MaxDenseParameters = Annotated[
    int | None,
    typer.Option(
        help="Limit on weights and biases of dense layers only, as the paper counts.",
        rich_help_panel="Limits",
    ),
]
MaxFlops = Annotated[
    int | None,
    typer.Option(help="Limit on floating-point operations a row.", rich_help_panel="Limits"),
]
MaxBytes = Annotated[
    int | None, typer.Option(help="Limit on bytes of weights.", rich_help_panel="Limits")
]
MaxLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="Limit on microseconds of a call for one row, measured on this machine.",
        rich_help_panel="Limits",
    ),
]
MaxBatchLatencyUs = Annotated[
    float | None,
    typer.Option(
        help="Limit on microseconds of a call for 256 rows.",
        rich_help_panel="Limits",
    ),
]
CheckpointSeconds = Annotated[
    float,
    typer.Option(help="Seconds from one checkpoint to the next.", min=0.0, rich_help_panel="Work"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]


def given_limits(**limits: float | None) -> dict[str, float]:
    """The limits that were given, by the name of their cost; there must be one."""
    given = {name: most for name, most in limits.items() if most is not None}
    if not given:
        raise TabnasError("give at least one limit, for example --max-parameters 20000")
    return given


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


def parse_names(text: str | None) -> tuple[str, ...]:
    """Column names from `age,city`."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


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
