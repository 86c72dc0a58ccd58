"""`tabnas encode`: encode a table of any size once, for any number of searches."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tabnas.cli._errors import INTERRUPTED, TERMINATED, CommandExitError
from tabnas.cli._ranks import check_single_process
from tabnas.cli._tables import configure_arrow
from tabnas.cli.display._formatting import make_console
from tabnas.cli.display._progress import encoding_progress
from tabnas.cli.display._store_summary import (
    describe_store,
    print_store,
    verify_store,
)
from tabnas.cli.options import _completion as completion
from tabnas.cli.options import _shared as options
from tabnas.cli.options._parsers import (
    at_least,
    check_memory,
    parse_int,
    parse_kinds,
    parse_memory,
    parse_names,
    parse_share_or_file,
)
from tabnas.cli.options._settings import SETTINGS, make_option
from tabnas.cli.options._shared import COLUMNS, GIGABYTE, ROWS, WORK
from tabnas.errors import TabNASError
from tabnas.formatting import shorten
from tabnas.threads import limit_threads

MAX_COMMAND_LENGTH = 2_000


def encode(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="CSV, TSV or Criteo .txt files (also .gz), Parquet or Feather files, all with the "
            "same columns.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to predict.", metavar="NAME", autocompletion=completion.complete_column
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write: new, or started by the same command.", metavar="FOLDER"
        ),
    ] = None,
    memory: Annotated[
        int,
        typer.Option(
            help="Approximate maximum of memory, like 500MB or 2GB.",
            show_default="1GB",
            metavar="SIZE",
            parser=parse_memory,
        ),
    ] = GIGABYTE,
    validation: Annotated[
        list[str] | None,
        typer.Option(
            help="The validation rows that networks are chosen by: a share like 0.2, or a file. "
            "Repeat the option for several files.",
            show_default="0.2, at most about 250,000 rows",
            metavar="ROWS",
            rich_help_panel=ROWS,
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="The test rows, used only for the final scores: a share, or files.",
            show_default="0.2, at most about 250,000 rows",
            metavar="ROWS",
            rich_help_panel=ROWS,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the random split of the rows.",
            metavar="N",
            parser=at_least(0, parse_int),
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
            help="Number of hash buckets of a hashed column, a power of two.",
            metavar="N",
            parser=parse_int,
            rich_help_panel=COLUMNS,
        ),
    ] = 65_536,
    min_count: Annotated[
        int,
        typer.Option(
            help="Categories that occur less often are pooled.",
            metavar="N",
            parser=at_least(1, parse_int),
            rich_help_panel=COLUMNS,
        ),
    ] = 2,
    max_categories: Annotated[
        int,
        typer.Option(
            help="Maximum number of categories of a column; the most frequent remain.",
            metavar="N",
            parser=at_least(1, parse_int),
            rich_help_panel=COLUMNS,
        ),
    ] = 10_000,
    drop: Annotated[str | None, make_option(SETTINGS["drop"])] = None,
    decimal: Annotated[str | None, make_option(SETTINGS["decimal"])] = None,
    scaling: Annotated[str, make_option(SETTINGS["scaling"])] = "robust",
    check: Annotated[
        Path | None,
        typer.Option(
            help="Check that the files of a store are intact. Encode nothing.",
            metavar="STORE",
            rich_help_panel=WORK,
        ),
    ] = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    r"""Encode a table of any size into a folder that searches read.

    The files are read twice in chunks: first to learn the columns, then to encode them. The memory
    does not grow with the number of rows.

    After an interruption, the same command continues where it was. A gzipped file is read again
    from its start.

    For example:

    # encode two files with the same columns, then search
    tabnas encode day_0.txt day_1.txt --target label --out stores/criteo
    tabnas search stores/criteo --max-parameters 200000

    # hash columns with millions of categories
    tabnas encode clicks.parquet --target bought --out stores/clicks \
      --hashed user,page --buckets 262144 --memory 4GB

    # check that a store is intact
    tabnas encode --check stores/clicks
    """
    check_single_process("encode")
    if quiet:
        warnings.simplefilter("ignore")  # for the rest of the process
    silent = quiet or as_json
    if check is not None:
        if files or target is not None or out is not None:
            raise TabNASError(
                "--check STORE must be the only argument, got files, --target or --out, too; "
                "check and encode in two commands"
            )
        verify_store(check, quiet=quiet, as_json=as_json)
        return
    if not files or target is None or out is None:
        missing = "FILE" if not files else "--target" if target is None else "--out"
        raise TabNASError(
            "files, target and output folder must be given, like tabnas encode FILE --target NAME "
            f"--out FOLDER, but {missing} is missing"
        )
    from tabnas.stores import encode_store

    shares, files_of = _parse_parts(validation, test)
    console = make_console(stderr=True)
    with (
        limit_threads(threads),
        report_interruption(console, out),
        encoding_progress(console, quiet=silent) as on_progress,
    ):
        configure_arrow()
        store = encode_store(
            files,
            out,
            target=target,
            validation=files_of["validation"],
            test=files_of["test"],
            on_progress=on_progress,
            task=task,
            shares=shares,
            kinds=parse_kinds(drop, categorical=categorical, numeric=numeric, hashed=hashed),
            drop=parse_names(drop),
            decimal=decimal,
            scaling=scaling,
            min_count=min_count,
            max_categories=max_categories,
            buckets=buckets,
            seed=seed,
            memory=check_memory(memory),
        )
    facts = describe_store(store, out)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    elif not quiet:
        print_store(make_console(), facts)


@contextmanager
def report_interruption(console: Console, out: Path) -> Iterator[None]:
    """Print how to continue when the encoding is stopped, and exit."""
    from tabnas.stores import find_encode_command

    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
        if not (out / "plan.json").exists():
            raise
        command = shorten(find_encode_command(out), MAX_COMMAND_LENGTH)
        console.print(f"tabnas: stopped; continue with: {command}", markup=False, soft_wrap=True)
        raise CommandExitError(code) from None


def _parse_parts(
    validation: list[str] | None, test: list[str] | None
) -> tuple[Any, dict[str, list[Path]]]:
    """Return the shares of validation and test rows, and their files where files are given."""
    from tabnas.data import Shares

    shares: dict[str, float] = {}
    files: dict[str, list[Path]] = {}
    for name, values in (("validation", validation), ("test", test)):
        texts: list[str] | list[None] = values or [None]
        parsed = [parse_share_or_file(f"--{name}", text) for text in texts]
        files[name] = [file for _, file in parsed if file is not None]
        if len(parsed) > 1 and len(files[name]) < len(parsed):
            raise TabNASError(f"--{name} must be one share of the rows, or files, got both")
        shares[name] = parsed[0][0]
    return Shares(**shares), files
