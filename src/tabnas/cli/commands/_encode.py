"""`tabnas encode`: encode a table of any size once, for any number of searches."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from tabnas.cli._errors import INTERRUPTED, TERMINATED, CommandExitError
from tabnas.cli._process_group import check_single_process
from tabnas.cli._tables import configure_arrow
from tabnas.cli.display._formatting import make_console
from tabnas.cli.display._progress import encoding_progress
from tabnas.cli.display._store_summary import (
    describe_store,
    print_store,
    verify_store,
)
from tabnas.cli.options import _encode_options as encode_options
from tabnas.cli.options import _shared as options
from tabnas.cli.options._given_options import list_given_options
from tabnas.cli.options._parsers import (
    check_memory,
    parse_kinds,
    parse_names,
    parse_share_or_file,
)
from tabnas.cli.options._shared import GIGABYTE
from tabnas.errors import TabNASError
from tabnas.formatting import join_words, sanitize
from tabnas.threads import limit_threads


def encode(
    context: typer.Context,
    files: encode_options.Files = None,
    target: encode_options.Target = None,
    out: encode_options.Out = None,
    memory: encode_options.Memory = GIGABYTE,
    validation: encode_options.ValidationRows = None,
    test: encode_options.TestRows = None,
    seed: encode_options.Seed = 0,
    task: options.TaskName = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    hashed: options.Hashed = None,
    buckets: encode_options.Buckets = 65_536,
    min_count: encode_options.MinCount = 2,
    max_categories: encode_options.MaxCategories = 10_000,
    drop: encode_options.Drop = None,
    decimal: encode_options.Decimal = None,
    scaling: encode_options.Scaling = "robust",
    check: encode_options.Check = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    r"""Encode a table of any size into a folder that searches read.

    The files are read twice in chunks: first to learn the columns, then to encode them. The memory
    does not grow with the number of rows.

    After an interruption, the same command continues where it was. A text file that was being
    copied is read again from its start.

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
    if check is not None:
        _check_given_alone(context)
        verify_store(check, quiet=quiet, as_json=as_json)
        return
    files, target, out = _require_arguments(files, target, out)
    from tabnas.stores import encode_store

    shares, split_files = _parse_split(validation, test)
    console = make_console(stderr=True)
    with (
        limit_threads(threads),
        report_interruption(console, out),
        encoding_progress(console, quiet=quiet or as_json) as on_progress,
    ):
        configure_arrow()
        store = encode_store(
            files,
            out,
            target=target,
            validation=split_files["validation"],
            test=split_files["test"],
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
    summary = describe_store(store, out)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    elif not quiet:
        print_store(make_console(), summary)


def _check_given_alone(context: typer.Context) -> None:
    """Raise an error if --check is given together with options of encoding."""
    given = list_given_options(context, ignore=("--check", "--quiet", "--json"))
    if given:
        raise TabNASError(
            "--check STORE must be the only argument besides --quiet and --json, got also "
            f"{join_words(given)}; check and encode in two commands"
        )


def _require_arguments(
    files: list[Path] | None, target: str | None, out: Path | None
) -> tuple[list[Path], str, Path]:
    """Return the three arguments; raise an error if one is missing."""
    if not files or target is None or out is None:
        missing = "FILE" if not files else "--target" if target is None else "--out"
        raise TabNASError(
            "files, target and output folder must be given, like tabnas encode FILE --target NAME "
            f"--out FOLDER, but {missing} is missing"
        )
    return files, target, out


@contextmanager
def report_interruption(console: Console, out: Path) -> Iterator[None]:
    """Print how to continue when the encoding is stopped, and exit."""
    from tabnas.stores import describe_continuation

    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
        if not (out / "plan.json").exists():
            raise
        message = f"tabnas: stopped; {sanitize(describe_continuation(out))}"
        console.print(message, markup=False, soft_wrap=True)
        raise CommandExitError(code) from None


def _parse_split(
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
