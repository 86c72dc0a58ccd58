"""`tabnas search`: find and train a network for a table within a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._process_group import get_rank_and_size, join_process_group
from tabnas.cli.options._parsers import (
    require_limits,
)
from tabnas.cli.options._search_options import SearchOptions, with_search_options
from tabnas.cli.options._shared import WORK, flag
from tabnas.errors import TabNASError


@with_search_options("search")
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
    from tabnas.cli._execution import execute, print_plan, run_secondary_process
    from tabnas.cli._tables import default_run_folder
    from tabnas.runs import RunFolder, check_tensorboard

    rank, processes = get_rank_and_size()
    if tensorboard and not rank:
        check_tensorboard()
    settings, source = options.to_settings(
        require_limits(options.all_limits()), default_workers=processes
    )
    if processes > 1 and settings.engine != "torch":
        raise TabNASError(
            f"a search in several processes must use the engine torch, got {settings.engine}; add "
            "--engine torch"
        )
    output = options.to_output()
    if options.dry_run:
        if not rank:
            print_plan(source, settings, output)
        return
    with join_process_group() as process_group:
        if not process_group.is_first:
            run_secondary_process(process_group.broadcast(None)[0], source, settings, process_group)
            return
        with RunFolder(out or default_run_folder(options.data)) as folder:
            process_group.broadcast(folder.name)
            execute(
                folder,
                source,
                settings,
                output,
                tensorboard=tensorboard,
                process_group=process_group,
            )
