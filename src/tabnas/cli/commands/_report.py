"""`tabnas report`: write the report of a finished run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._run_folders import check_finished
from tabnas.cli.options import _completion as completion


def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a finished run or trade-off.",
            metavar="RUN",
            autocompletion=completion.list_reportable_runs,
        ),
    ],
) -> None:
    """Write the report of a finished run again, and print its path.

    Every search writes a report: one page that works offline, on screens, phones and paper. This
    command writes it again from the files of the folder, and trains nothing. For a trade-off it
    writes tradeoff.html.

    If the folder has no model card, one is written. An existing card is not changed, since you may
    have edited it.

    For example:

    # print the path of the page
    tabnas report runs/income
    """
    from tabnas.runs import is_tradeoff, write_card, write_report, write_tradeoff_page

    if is_tradeoff(check_finished(run, tradeoff=True)):
        typer.echo(str(write_tradeoff_page(run)))
        return
    typer.echo(str(write_report(run)))
    write_card(run)
