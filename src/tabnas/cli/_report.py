"""`tabnas report`: the report of a finished run, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli import _completing as completing
from tabnas.cli._folders import finished


def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a finished run or trade-off.",
            metavar="RUN",
            autocompletion=completing.reported_runs,
        ),
    ],
) -> None:
    """Make the report of a finished run again, and say where it is.

    One page that works offline, for screens, phones and paper. Every search writes it; this makes
    it once more from the files of the folder, and trains nothing. The folder of a trade-off has a
    page of its own, tradeoff.html. A run without a model card gets that, too; one that is there is
    yours to complete, and stays as it is.

    For example:

    # prints where the page is, for example to open it
    tabnas report runs/income
    """
    from tabnas.runs import is_tradeoff, write_card, write_report, write_tradeoff_page

    if is_tradeoff(finished(run, tradeoff=True)):
        typer.echo(str(write_tradeoff_page(run)))
        return
    typer.echo(str(write_report(run)))
    write_card(run)
