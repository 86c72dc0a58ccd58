"""`tabnas report`: the report of a finished run, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="RUN")],
) -> None:
    """Make the report of a finished run again, and say where it is.

    One page that works offline, for screens, phones and paper. Every search writes it; this makes
    it once more from the files of the folder, and trains nothing.

        tabnas report runs/income
    """
    from tabnas.runs import write_report

    typer.echo(str(write_report(run)))
