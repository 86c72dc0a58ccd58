"""`tabnas search`: find and train a network for a table within a limit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._ranks import get_rank_and_size, join_ranks
from tabnas.cli.display._formatting import make_console
from tabnas.cli.options import _shared as shared
from tabnas.cli.options._parsers import (
    at_least,
    check_engine,
    parse_int,
    parse_seconds,
    require_limits,
)
from tabnas.cli.options._search_options import SearchOptions, with_search_options
from tabnas.cli.options._shared import WORK, flag
from tabnas.errors import TabNASError


@with_search_options
def search(
    options: SearchOptions,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to create; it must be new or empty.",
            show_default="runs/NAME",
            metavar="FOLDER",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Random seed. The same seed gives the same result, except with --time or limits "
            "on latency.",
            metavar="N",
            parser=at_least(0, parse_int),
        ),
    ] = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="Approximate duration, like 300 or 5m. With more time, networks train longer and "
            "more candidates are tried, at most one per 100 rows, unless --candidates is given. "
            "With less, networks are smaller. "
            "The comparison with boosted trees can take longer on large tables.",
            show_default="as long as it pays",
            metavar="N",
            parser=parse_seconds,
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Number of the best architectures to train stand-alone and to choose from.",
            show_default="3; on small tables, up to 3 simpler ones are added",
            metavar="N",
            parser=parse_int,
            rich_help_panel=WORK,
        ),
    ] = None,
    workers: shared.Workers = None,
    engine: shared.EngineName = "compiled",
    tensorboard: Annotated[
        bool,
        flag(
            "--tensorboard",
            help="Write events for TensorBoard to the folder tensorboard of the run.",
            panel=WORK,
        ),
    ] = False,
) -> None:
    r"""Find the best network for a table within a hard limit, and train it.

    Name the table, the column to predict, and at least one limit. Everything else has a default.

    The search writes a folder. Start with report.html. The folder also has the model, which `tabnas
    predict`, `tabnas evaluate` and `tabnas export` use; result.json with the scores on test rows;
    and config.toml with all settings.

    For example:

    # at most 20,000 parameters
    tabnas search train.csv --target income --max-parameters 20000

    # print the plan and train nothing, for a dataset of scikit-learn
    tabnas search digits --max-parameters 5000 --dry-run

    # two limits, five minutes, the latest rows as test rows
    tabnas search sales.parquet --target sold --max-flops 60k --max-bytes 80kB \
      --time 5m --time-column day --out runs/sales

    # at most 200 microseconds to predict a row on this machine
    tabnas search train.csv --target income --max-latency-us 200

    # one search in four processes, each of which reads the table
    torchrun --nproc-per-node 4 -m tabnas search train.csv --target income \
      --max-parameters 20000 --engine torch
    """
    from tabnas.cli._execution import OutputOptions, execute_run, run_secondary_rank
    from tabnas.cli._tables import default_run_folder
    from tabnas.cli.display._progress import run_progress
    from tabnas.cli.display._run_summary import describe_plan, print_plan
    from tabnas.runs import RunFolder, refuse_without_tensorboard

    rank, processes = get_rank_and_size()
    if tensorboard and not rank:
        refuse_without_tensorboard()
    if processes > 1 and check_engine(engine) != "torch":
        raise TabNASError(
            f"a search in several processes must use the engine torch, got {engine}; add "
            "--engine torch"
        )
    settings, source = options.to_settings(
        require_limits(options.all_limits()),
        time=time,
        candidates=candidates,
        seed=seed,
        workers=workers or processes,
        engine=check_engine(engine),
    )
    quiet, as_json = options.quiet, options.as_json
    if quiet:
        warnings.simplefilter("ignore")  # for the rest of the process
    if options.dry_run and rank:
        return
    if options.dry_run:
        with run_progress(make_console(stderr=True), quiet=quiet or as_json, cost="") as observe:
            facts = describe_plan(source.plan(settings, observe=observe))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            print_plan(make_console(), facts)
        return
    with join_ranks() as ranks:
        if not ranks.is_first:
            run_secondary_rank(ranks.broadcast(None)[0], source, settings, ranks)
            return
        with RunFolder(out or default_run_folder(options.data)) as folder:
            ranks.broadcast(folder.name)
            output = OutputOptions(
                checkpoint_seconds=options.checkpoint_seconds, quiet=quiet, as_json=as_json
            )
            execute_run(folder, source, settings, output, tensorboard=tensorboard, ranks=ranks)
