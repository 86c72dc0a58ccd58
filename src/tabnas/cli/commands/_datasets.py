"""`tabnas datasets`: list datasets that are known by name."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tabnas.cli.display._formatting import make_console
from tabnas.cli.options._shared import Json


def datasets(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="List the tables of this folder, too.",
            show_default="TABNAS_DATA",
            metavar="FOLDER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List datasets that `tabnas search` knows by name.

    Datasets of tabnas and scikit-learn are installed already. Those of OpenML are downloaded once.
    To add your own tables, set TABNAS_DATA to their folder.

    For example:

    # list the datasets, and search a network for one of them
    tabnas datasets
    tabnas search digits --max-parameters 5000

    # list your own tables, too
    tabnas datasets --folder tables
    """
    from tabnas.data import list_datasets

    listings = list_datasets(folder)
    if as_json:
        typer.echo(json.dumps([asdict(listing) for listing in listings], indent=2))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "from", "description"):
        table.add_column(heading)
    for listing in listings:
        table.add_row(listing.name, listing.source, listing.description)
    make_console().print(table)
