"""`tabnas tradeoff`: several limits at once, and what each of them buys."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli import _completing as completing
from tabnas.cli._asking import Question, asked
from tabnas.cli._numbers import at_least, whole
from tabnas.cli._options import LIMITS, WORK
from tabnas.cli._ranks import refuse_ranks
from tabnas.cli._running import Manner, stoppable
from tabnas.cli._side_by_side import Address, Backend, Processes, make_job_config
from tabnas.cli._source import Source
from tabnas.cli._text import plain, terminal
from tabnas.cli._values import parse_limits
from tabnas.decoding import encode
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.jobs import JobConfig
    from tabnas.runs import RunSettings, TradeoffFolder


@asked
def tradeoff(
    question: Question,
    *,
    limits: Annotated[
        str,
        typer.Option(
            help="The limits to find a network for, 2 to 50 of them, like 2000,5000,10k.",
            metavar="N,N",
            rich_help_panel=LIMITS,
        ),
    ],
    cost: Annotated[
        str,
        typer.Option(
            help=f"What the limits are on: {', '.join(completing.costs())}.",
            metavar="NAME",
            autocompletion=completing.cost,
            rich_help_panel=LIMITS,
        ),
    ] = "parameters",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write, new or empty.",
            show_default="runs/NAME-tradeoff",
            metavar="FOLDER",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed gives the same result, without limits on latency.",
            metavar="N",
            parser=at_least(0, whole),
        ),
    ] = 0,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many architectures to train alone for each limit, beside the best of the "
            "limit before.",
            show_default="2",
            metavar="N",
            parser=whole,
            rich_help_panel=WORK,
        ),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    r"""Find the best network for each of several limits, and show what more cost buys.

    One SuperNet is trained for all limits and each limit has a policy of its own, so this takes
    less time than the searches one by one. Limits of the kind `--max-bytes` hold for all networks.

    The networks that are trained alone for each limit can be trained side by side: on this machine,
    which changes no bit of the curve, or on a cluster that `ray start` or `dask scheduler` has
    started. The cluster needs tabnas and is sent the rows; a store it reads from its own folder.

    The folder then holds the curve (tradeoff.html for people, tradeoff.json for programs) and, for
    each limit, a run with its model and report.

    For example:

    # four limits on parameters
    tabnas tradeoff train.csv --target income --limits 2000,5000,10000,20000

    # three on operations, and at most 40 kB for each network
    tabnas tradeoff train.csv --target income --cost flops \
      --limits 5k,20k,80k --max-bytes 40kB

    # four trainings at once
    tabnas tradeoff train.csv --target income --limits 2000,5000 --processes 4

    # then predict with the network of one limit
    tabnas predict runs/train-tradeoff/limit-5000 new.csv
    """
    from tabnas.cli._summary import facts_of_tradeoff, show_plan
    from tabnas.cli._tables import default_folder
    from tabnas.runs import TradeoffFolder

    refuse_ranks("tradeoff")
    job_config = make_job_config(processes, backend, address)
    several = parse_limits(limits)
    fixed = question.limits()
    if cost in fixed:
        raise TabNASError(
            f"--cost {cost} must have its limits from --limits alone, got "
            f"--max-{cost.replace('_', '-')}, too; leave one of them out"
        )
    settings, source = question.settled(
        fixed | {cost: several[0]}, candidates=candidates, seed=seed
    )
    quiet, as_json = question.quiet, question.as_json
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if question.dry_run:
        facts = facts_of_tradeoff(source.planned_tradeoff(settings, several, cost))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(terminal(), facts)
        return
    with TradeoffFolder(out or default_folder(question.data, "-tradeoff")) as folder:
        manner = Manner(every=question.checkpoint_seconds, quiet=quiet, as_json=as_json)
        carry_out_tradeoff(folder, source, settings, manner, several, cost, job_config=job_config)


def carry_out_tradeoff(
    folder: TradeoffFolder,
    source: Source,
    settings: RunSettings,
    manner: Manner,
    limits: list[float],
    cost: str,
    *,
    job_config: JobConfig,
    resolved: Mapping[str, Any] | None = None,
) -> None:
    """Do the work of a trade-off, or the rest of it."""
    from tabnas.cli._progress import showing
    from tabnas.cli._tradeoff_summary import show_tradeoff
    from tabnas.runs import StatusFile

    console = terminal(stderr=True)
    asked_for = {
        "data": source.to_dict(),
        "settings": settings.to_dict(),
        "tradeoff": {"cost": cost, "limits": limits},
    }
    with (
        stoppable(console, folder.name),
        showing(console, quiet=manner.quiet or manner.as_json, cost=cost) as show,
    ):
        live = StatusFile(folder.path, show)
        planned = source.planned_tradeoff(settings, limits, cost, resolved, observe=live)
        checkpoint = folder.begin(
            planned, asked_for | {"plan": planned.resolved}, every=manner.every
        )
        live.set_plan(planned.runs[-1])  # the loosest limit, whose search trains the weights
        if checkpoint.note:
            console.print(f"tabnas: note: {plain(checkpoint.note)}", markup=False)
        outcomes = planned.execute(live, checkpoint, job_config=job_config)
    facts = folder.finish_all(planned, outcomes, asked_for)
    if manner.as_json:
        typer.echo(json.dumps(encode(facts) | {"folder": folder.name}, indent=2))
    elif not manner.quiet:
        show_tradeoff(terminal(), facts, folder.name)


def tradeoff_of(config: Mapping[str, Any]) -> tuple[list[float], str] | None:
    """Limits and cost of a trade-off that was stopped; None if the run is of one limit."""
    said = config.get("tradeoff")
    if said is None:
        return None
    limits = said.get("limits") if isinstance(said, Mapping) else None
    cost = said.get("cost") if isinstance(said, Mapping) else None
    numbers = isinstance(limits, list) and all(type(limit) in (int, float) for limit in limits)
    if not numbers or not isinstance(cost, str):
        raise TabNASError("config.toml, tradeoff: it must have a cost and limits in numbers")
    return list(limits or []), cost
