"""`tabnas encode`: tables larger than memory, encoded once for any number of searches."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from tabnas.cli import _completing as completing
from tabnas.cli import _options as options
from tabnas.cli._encode_shown import check_store, facts_of_store, going_on, show_store, showing
from tabnas.cli._numbers import at_least, size, whole
from tabnas.cli._options import COLUMNS, GIGABYTE, ROWS, WORK
from tabnas.cli._ranks import refuse_ranks
from tabnas.cli._text import terminal
from tabnas.cli._values import declared_kinds, given_memory, parse_names, share_or_file
from tabnas.errors import TabNASError

SHARE = 0.2


def encode(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="CSV, TSV, Criteo's .txt (each also .gz), Parquet or Feather files of the same "
            "columns.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to predict.", metavar="NAME", autocompletion=completing.column
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write, new or begun by the same command.", metavar="FOLDER"
        ),
    ] = None,
    memory: Annotated[
        int,
        typer.Option(
            help="About the most memory to take, like 500MB or 2GB.",
            show_default="1GB",
            metavar="SIZE",
            parser=size,
        ),
    ] = GIGABYTE,
    validation: Annotated[
        list[str] | None,
        typer.Option(
            help="A file, or a share of the rows like 0.2, to choose by; several files by "
            "repeating it.",
            show_default="0.2, at most about 250,000 rows",
            metavar="ROWS",
            rich_help_panel=ROWS,
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="The same, that only the final scores see.",
            show_default="0.2, at most about 250,000 rows",
            metavar="ROWS",
            rich_help_panel=ROWS,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Decides which rows are for what.",
            metavar="N",
            parser=at_least(0, whole),
            rich_help_panel=ROWS,
        ),
    ] = 0,
    task: options.TaskName = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    hashed: options.Hashed = None,
    buckets: Annotated[
        int,
        typer.Option(
            help="Categories of a hashed column, a power of two.",
            metavar="N",
            parser=whole,
            rich_help_panel=COLUMNS,
        ),
    ] = 65_536,
    min_count: Annotated[
        int,
        typer.Option(
            help="Categories that occur less often than this are pooled.",
            metavar="N",
            parser=at_least(1, whole),
            rich_help_panel=COLUMNS,
        ),
    ] = 2,
    max_categories: Annotated[
        int,
        typer.Option(
            help="So many of the most frequent categories of a column are kept.",
            metavar="N",
            parser=at_least(1, whole),
            rich_help_panel=COLUMNS,
        ),
    ] = 10_000,
    drop: options.Drop = None,
    decimal: options.Decimal = None,
    scaling: options.ScalingName = "robust",
    check: Annotated[
        Path | None,
        typer.Option(
            help="Read a whole store, and say whether it is as it was written; encode nothing.",
            metavar="STORE",
            rich_help_panel=WORK,
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    r"""Encode a table of any size once, to a folder that searches read from.

    Files are read twice, a chunk at a time: to learn what is in them, and to encode them. Memory
    does not depend on how many rows there are. Interrupted, the same command goes on where it was;
    of a gzipped file, at its beginning.

    For example:

    # two files of the same columns, then a search
    tabnas encode day_0.txt day_1.txt --target label --out stores/criteo
    tabnas search stores/criteo --max-parameters 200000

    # categories of which there are millions, by their hash
    tabnas encode clicks.parquet --target bought --out stores/clicks \
      --hashed user,page --buckets 262144 --memory 4GB

    # whether a store is still as it was written
    tabnas encode --check stores/clicks
    """
    refuse_ranks("encode")
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    silent = quiet or as_json
    if check is not None:
        if files or target is not None or out is not None:
            raise TabNASError(
                "--check STORE must stand alone, but there are files, a target or a folder to "
                "write; check first, or encode first"
            )
        check_store(check, quiet=quiet, as_json=as_json)
        return
    if not files or target is None or out is None:
        missing = "FILE" if not files else "--target" if target is None else "--out"
        raise TabNASError(
            "encoding must be told which files, which target and where to, like tabnas encode "
            f"FILE --target NAME --out FOLDER, but {missing} was not given"
        )
    from tabnas.stores import encode_store

    shares, own = _parts(validation, test)
    console = terminal(stderr=True)
    with going_on(console, out), showing(console, quiet=silent) as observe:
        store = encode_store(
            files,
            out,
            target=target,
            validation=own["validation"],
            test=own["test"],
            observe=observe,
            task=task,
            shares=shares,
            kinds=declared_kinds(drop, categorical=categorical, numeric=numeric, hashed=hashed),
            drop=parse_names(drop),
            decimal=decimal,
            scaling=scaling,
            min_count=min_count,
            max_categories=max_categories,
            buckets=buckets,
            seed=seed,
            memory=given_memory(memory),
        )
    facts = facts_of_store(store, out)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    elif not quiet:
        show_store(terminal(), facts)


def _parts(validation: list[str] | None, test: list[str] | None) -> tuple[Any, dict[str, Any]]:
    """The shares of validation and test, and the files where they are a user's own."""
    from tabnas.data import Shares

    shares, own = {}, {}
    for name, given in (("validation", validation), ("test", test)):
        texts: list[str] | list[None] = given or [None]
        said = [share_or_file(f"--{name}", text, SHARE) for text in texts]
        own[name] = [file for _, file in said if file is not None]
        if len(said) > 1 and len(own[name]) < len(said):
            raise TabNASError(f"--{name} must be one share of the rows or files, got both")
        shares[name] = said[0][0]
    return Shares(**shares), own
