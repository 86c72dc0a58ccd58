"""`tabnas datasets`: what there is to try."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tabnas.cli._options import Json
from tabnas.cli._text import terminal


def datasets(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Also list the tables in this folder.",
            show_default="TABNAS_DATA",
            metavar="FOLDER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the datasets that are known by name.

    Those of tabnas and scikit-learn are installed with it; OpenML's are fetched once and kept. Set
    TABNAS_DATA to a folder of your own tables to have them listed, too.

    For example:

    # what there is, and one of them searched
    tabnas datasets
    tabnas search digits --max-parameters 5000

    # with tables of your own
    tabnas datasets --folder tables
    """
    from tabnas.data import list_datasets

    listings = list_datasets(folder)
    if as_json:
        typer.echo(json.dumps([asdict(listing) for listing in listings], indent=2))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "from", "about"):
        table.add_column(heading)
    for listing in listings:
        table.add_row(listing.name, listing.source, listing.about)
    terminal().print(table)
