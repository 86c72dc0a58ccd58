"""`tabnas tradeoff`: find a network for each of several limits, and compare them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli._execution import OutputOptions, report_interruption
from tabnas.cli._ranks import check_single_process
from tabnas.cli._source import Source
from tabnas.cli.display._formatting import make_console, sanitize
from tabnas.cli.options import _completion as completion
from tabnas.cli.options._parsers import at_least, parse_int, parse_limits
from tabnas.cli.options._search_options import SearchOptions, with_search_options
from tabnas.cli.options._shared import LIMITS, WORK, Address, Backend, Processes, make_job_config
from tabnas.decoding import encode
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.jobs import JobConfig
    from tabnas.runs import RunSettings, TradeoffFolder


@with_search_options
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
    seed: Annotated[
        int,
        typer.Option(
            help="Random seed. The same seed gives the same result, except with limits on latency.",
            metavar="N",
            parser=at_least(0, parse_int),
        ),
    ] = 0,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Number of architectures to train stand-alone for each limit. The best network of "
            "the previous limit is added to them.",
            show_default="2",
            metavar="N",
            parser=parse_int,
            rich_help_panel=WORK,
        ),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    r"""Find the best network for each of several limits, and compare them.

    All limits share one SuperNet and each has its own policy, so this is faster than one search per
    limit. Other limits, like `--max-bytes`, hold for all networks.

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
    from tabnas.cli._tables import default_run_folder
    from tabnas.cli.display._run_summary import describe_tradeoff_plan, print_plan
    from tabnas.runs import TradeoffFolder

    check_single_process("tradeoff")
    job_config = make_job_config(processes, backend, address)
    limit_values = parse_limits(limits)
    fixed_limits = options.given_limits()
    if cost in fixed_limits:
        raise TabNASError(
            f"the limits on {cost} must come from --limits alone, got "
            f"--max-{cost.replace('_', '-')}, too; remove one of them"
        )
    settings, source = options.to_settings(
        fixed_limits | {cost: limit_values[0]}, candidates=candidates, seed=seed
    )
    quiet, as_json = options.quiet, options.as_json
    if quiet:
        warnings.simplefilter("ignore")  # for the rest of the process
    if options.dry_run:
        facts = describe_tradeoff_plan(source.plan_tradeoff(settings, limit_values, cost))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            print_plan(make_console(), facts)
        return
    with TradeoffFolder(out or default_run_folder(options.data, "-tradeoff")) as folder:
        output = OutputOptions(
            checkpoint_seconds=options.checkpoint_seconds, quiet=quiet, as_json=as_json
        )
        execute_tradeoff(
            folder, source, settings, output, limit_values, cost, job_config=job_config
        )


def execute_tradeoff(
    folder: TradeoffFolder,
    source: Source,
    settings: RunSettings,
    output: OutputOptions,
    limits: list[float],
    cost: str,
    *,
    job_config: JobConfig,
    resolved: Mapping[str, Any] | None = None,
) -> None:
    """Execute a trade-off or the rest of it."""
    from tabnas.cli.display._progress import run_progress
    from tabnas.cli.display._tradeoff_summary import print_tradeoff
    from tabnas.runs import StatusFile

    console = make_console(stderr=True)
    config = {
        "data": source.to_dict(),
        "settings": settings.to_dict(),
        "tradeoff": {"cost": cost, "limits": limits},
    }
    with (
        report_interruption(console, folder.name),
        run_progress(console, quiet=output.quiet or output.as_json, cost=cost) as show,
    ):
        live = StatusFile(folder.path, show)
        planned = source.plan_tradeoff(settings, limits, cost, resolved, observe=live)
        checkpoint = folder.begin(
            planned, config | {"plan": planned.resolved}, every=output.checkpoint_seconds
        )
        live.set_plan(planned.runs[-1])  # the loosest limit, whose search trains the weights
        if checkpoint.note:
            console.print(f"tabnas: note: {sanitize(checkpoint.note)}", markup=False)
        outcomes = planned.execute(live, checkpoint, job_config=job_config)
    facts = folder.finish_all(planned, outcomes, config)
    if output.as_json:
        typer.echo(json.dumps(encode(facts) | {"folder": folder.name}, indent=2))
    elif not output.quiet:
        print_tradeoff(make_console(), facts, folder.name)


def parse_tradeoff_config(config: Mapping[str, Any]) -> tuple[list[float], str] | None:
    """Return limits and cost of a trade-off from its config.toml; None if it is a run."""
    section = config.get("tradeoff")
    if section is None:
        return None
    limits = section.get("limits") if isinstance(section, Mapping) else None
    cost = section.get("cost") if isinstance(section, Mapping) else None
    are_numbers = isinstance(limits, list) and all(type(limit) in (int, float) for limit in limits)
    if not are_numbers or not isinstance(cost, str):
        raise TabNASError("config.toml, tradeoff: `cost` must be a name and `limits` numbers")
    return list(limits or []), cost
