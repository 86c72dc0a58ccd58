"""Declarations of the options that only `tabnas encode` has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli.options import _completion as completion
from tabnas.cli.options._parsers import at_least, parse_int, parse_memory
from tabnas.cli.options._settings import SETTINGS, make_option
from tabnas.cli.options._shared import COLUMNS, ROWS, WORK

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="CSV, TSV or Criteo .txt files (also .gz), Parquet or Feather files, all with the "
        "same columns.",
        metavar="FILE",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict.", metavar="NAME", autocompletion=completion.complete_column
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The folder to write: new, or started by the same command.", metavar="FOLDER"
    ),
]
Memory = Annotated[
    int,
    typer.Option(
        help="Approximate maximum of memory, like 500MB or 2GB.",
        show_default="1GB",
        metavar="SIZE",
        parser=parse_memory,
    ),
]
ValidationRows = Annotated[
    list[str] | None,
    typer.Option(
        help="The validation rows that networks are chosen by: a share like 0.2, or a file. "
        "Repeat the option for several files.",
        show_default="0.2, at most about 250,000 rows",
        metavar="ROWS",
        rich_help_panel=ROWS,
    ),
]
TestRows = Annotated[
    list[str] | None,
    typer.Option(
        help="The test rows, used only for the final scores: a share, or files.",
        show_default="0.2, at most about 250,000 rows",
        metavar="ROWS",
        rich_help_panel=ROWS,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of the random split of the rows.",
        metavar="N",
        parser=at_least(0, parse_int),
        rich_help_panel=ROWS,
    ),
]
Buckets = Annotated[
    int,
    typer.Option(
        help="Number of hash buckets of a hashed column, a power of two.",
        metavar="N",
        parser=parse_int,
        rich_help_panel=COLUMNS,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        help="Categories that occur less often are pooled.",
        metavar="N",
        parser=at_least(1, parse_int),
        rich_help_panel=COLUMNS,
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        help="Maximum number of categories of a column; the most frequent remain.",
        metavar="N",
        parser=at_least(1, parse_int),
        rich_help_panel=COLUMNS,
    ),
]
Check = Annotated[
    Path | None,
    typer.Option(
        help="Check that the files of a store are intact. Encode nothing.",
        metavar="STORE",
        rich_help_panel=WORK,
    ),
]
Drop = Annotated[str | None, make_option(SETTINGS["drop"])]
Decimal = Annotated[str | None, make_option(SETTINGS["decimal"])]
Scaling = Annotated[str, make_option(SETTINGS["scaling"])]
