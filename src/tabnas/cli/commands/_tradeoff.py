"""`tabnas tradeoff`: find a network for each of several limits, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._process_group import check_single_process
from tabnas.cli.options import _completion as completion
from tabnas.cli.options._parsers import parse_limits
from tabnas.cli.options._search_options import SearchOptions, with_search_options
from tabnas.cli.options._shared import LIMITS, Address, Backend, Processes, make_job_config
from tabnas.errors import TabNASError


@with_search_options("tradeoff")
def tradeoff(
    options: SearchOptions,
    *,
    limits: Annotated[
        str,
        typer.Option(
            help="The limits to find a network for, from 2 to 50, like 2000,5000,10k.",
            metavar="N,N",
            rich_help_panel=LIMITS,
        ),
    ],
    cost: Annotated[
        str,
        typer.Option(
            help=f"The cost that the limits are on: {', '.join(completion.cost_names())}.",
            metavar="NAME",
            autocompletion=completion.complete_cost,
            rich_help_panel=LIMITS,
        ),
    ] = "parameters",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to create; it must be new or empty.",
            show_default="runs/NAME-tradeoff",
            metavar="FOLDER",
        ),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    r"""Find the best network for each of several limits, and compare them.

    Limits with the same vocabularies and knots share one SuperNet, and each limit has its own
    policy. So this is usually faster than one search per limit. Other limits, like `--max-bytes`,
    hold for all networks.

    It writes a folder. tradeoff.html shows the curve, and tradeoff.json has it for programs. Each
    limit has a subfolder with its model and its report.

    Candidates can be trained in parallel, on this machine or on a cluster that `ray start` or `dask
    scheduler` has started. On this machine, the number of processes does not change the result. The
    cluster needs tabnas. It is sent the rows; a store is read from its folder.

    For example:

    # four limits on parameters
    tabnas tradeoff train.csv --target income --limits 2000,5000,10000,20000

    # three limits on operations; each network takes at most 40 kB
    tabnas tradeoff train.csv --target income --cost flops \
      --limits 5k,20k,80k --max-bytes 40kB

    # four trainings in parallel
    tabnas tradeoff train.csv --target income --limits 2000,5000 --processes 4

    # predict with the network of one limit
    tabnas predict runs/train-tradeoff/limit-5000 new.csv
    """
    from tabnas.cli._execution import execute, print_plan
    from tabnas.cli._tables import default_run_folder
    from tabnas.runs import TradeoffFolder
    from tabnas.settings import TradeoffSettings

    check_single_process("tradeoff")
    job_config = make_job_config(processes, backend, address)
    limit_values = parse_limits(limits, cost=cost)
    fixed_limits = options.given_limits()
    if cost in fixed_limits:
        raise TabNASError(
            f"the limits on {cost} must come from --limits alone, but another option limits it, "
            "too; remove one of them"
        )
    settings, source = options.to_settings(fixed_limits | {cost: limit_values[0]})
    tradeoff_settings = TradeoffSettings(cost, tuple(limit_values))
    output = options.to_output()
    if options.dry_run:
        print_plan(source, settings, output, tradeoff_settings)
        return
    with TradeoffFolder(out or default_run_folder(options.data, "-tradeoff")) as folder:
        execute(folder, source, settings, output, tradeoff=tradeoff_settings, job_config=job_config)
