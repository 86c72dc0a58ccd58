"""`tabnas tradeoff`: several limits at once, and what each of them buys."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabnas.cli import _options as options
from tabnas.cli._asking import asked
from tabnas.cli._options import WORK, given_memory, parse_limits, some_limits
from tabnas.cli._ranks import refuse_ranks
from tabnas.cli._running import Manner, stoppable
from tabnas.cli._side_by_side import Address, Backend, Processes, crew_of
from tabnas.cli._source import Source
from tabnas.cli._text import plain, terminal
from tabnas.errors import TabnasError

if TYPE_CHECKING:
    from tabnas.jobs import Crew
    from tabnas.runs import RunSettings, TradeoffFolder


def tradeoff(
    data: options.Data,
    limits: Annotated[
        str,
        typer.Option(
            help="The limits to find a network for: 2000,5000,10000.", rich_help_panel="Limits"
        ),
    ],
    target: options.Target = None,
    cost: Annotated[
        str,
        typer.Option(
            help="What the limits are on: parameters, dense_parameters, flops, bytes, latency_us "
            "or batch_latency_us.",
            rich_help_panel="Limits",
        ),
    ] = "parameters",
    max_parameters: options.MaxParameters = None,
    max_dense_parameters: options.MaxDenseParameters = None,
    max_flops: options.MaxFlops = None,
    max_bytes: options.MaxBytes = None,
    max_latency_us: options.MaxLatencyUs = None,
    max_batch_latency_us: options.MaxBatchLatencyUs = None,
    latency_table: options.LatencyTableFile = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write, new or empty.", show_default="runs/NAME-tradeoff"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(help="The same seed gives the same result, without limits on latency.", min=0),
    ] = 0,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many architectures to train alone for each limit, beside the best of the "
            "limit before.",
            show_default="2",
            rich_help_panel=WORK,
        ),
    ] = None,
    refit: options.Refit = False,
    memory: options.Memory = "1GB",
    layers: options.Layers = None,
    widths: options.Widths = None,
    metric: options.MetricName = None,
    class_weight: options.ClassWeight = None,
    validation: options.ValidationRows = None,
    test: options.TestRows = None,
    time_column: options.TimeColumn = None,
    group_column: options.GroupColumn = None,
    task: options.TaskName = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    hashed: options.Hashed = None,
    drop: options.Drop = None,
    scaling: options.ScalingName = "robust",
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    checkpoint_seconds: options.CheckpointSeconds = 60.0,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
    dry_run: options.DryRun = False,
) -> None:
    r"""Find the best network for each of several limits, and show what more cost buys.

        tabnas tradeoff train.csv --target income --limits 2000,5000,10000,20000

    One SuperNet is trained for all limits and each limit has a policy of its own, so this takes
    less time than the searches one by one. Other limits hold for all networks:

        tabnas tradeoff train.csv --target income --cost flops \
          --limits 5000,20000,80000 --max-bytes 40000

    The networks that are trained alone for each limit can be trained side by side: on this machine,
    which changes no bit of the curve, or on a cluster that `ray start` or `dask scheduler` has
    started. The cluster needs tabnas and is sent the rows; a store it reads from its own folder.

        tabnas tradeoff train.csv --target income --limits 2000,5000 --processes 4

    The folder then holds the curve (tradeoff.html for people, tradeoff.json for programs) and, for
    each limit, a run with its model and report:

        tabnas predict runs/train-tradeoff/limit-5000 new.csv
    """
    from tabnas.cli._summary import facts_of_tradeoff, show_plan
    from tabnas.cli._tables import default_folder
    from tabnas.runs import TradeoffFolder

    refuse_ranks("tradeoff")
    crew = crew_of(processes, backend, address)
    several = parse_limits(limits)
    fixed = some_limits(
        parameters=max_parameters,
        dense_parameters=max_dense_parameters,
        flops=max_flops,
        bytes=max_bytes,
        latency_us=max_latency_us,
        batch_latency_us=max_batch_latency_us,
    )
    if cost in fixed:
        raise TabnasError(
            f"--cost {cost} must have its limits from --limits alone, however "
            f"--max-{cost.replace('_', '-')} was given, too; leave one of them out"
        )
    settings, source = asked(
        data,
        fixed | {cost: several[0]},
        target=target,
        task=task,
        validation=validation,
        test=test,
        time_column=time_column,
        group_column=group_column,
        categorical=categorical,
        numeric=numeric,
        hashed=hashed,
        drop=drop,
        widths=widths,
        latency_table=None if latency_table is None else str(latency_table),
        layers=layers,
        metric=metric,
        class_weight=class_weight,
        scaling=scaling,
        candidates=candidates,
        refit=refit,
        memory=given_memory(memory),
        seed=seed,
    )
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if dry_run:
        facts = facts_of_tradeoff(source.planned_tradeoff(settings, several, cost))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(terminal(), facts)
        return
    given = default_folder(data)
    with TradeoffFolder(out or given.with_name(f"{given.name}-tradeoff")) as folder:
        manner = Manner(every=checkpoint_seconds, quiet=quiet, as_json=as_json)
        carry_out_tradeoff(folder, source, settings, manner, several, cost, crew=crew)


def carry_out_tradeoff(
    folder: TradeoffFolder,
    source: Source,
    settings: RunSettings,
    manner: Manner,
    limits: list[float],
    cost: str,
    *,
    crew: Crew,
    resolved: Mapping[str, Any] | None = None,
) -> None:
    """Do the work of a trade-off, or the rest of it."""
    from tabnas.cli._progress import showing
    from tabnas.cli._tradeoff_summary import show_tradeoff
    from tabnas.runs import Ledger, LiveFile

    console = terminal(stderr=True)
    asked_for = {
        "data": source.to_dict(),
        "settings": settings.to_dict(),
        "tradeoff": {"cost": cost, "limits": limits},
    }
    with (
        stoppable(console, folder.given),
        showing(console, quiet=manner.quiet or manner.as_json, cost=cost) as show,
    ):
        live = LiveFile(folder.path, show)
        planned = source.planned_tradeoff(settings, limits, cost, resolved, observe=live)
        live.plan(planned.runs[-1])  # the loosest limit, whose search trains the weights
        folder.write_config(asked_for | {"plan": planned.resolved})
        ledger = Ledger(folder.checkpoint, identity=planned.identity(), every=manner.every)
        if ledger.note:
            console.print(f"tabnas: note: {plain(ledger.note)}", markup=False)
        outcomes = planned.execute(live, ledger, crew=crew)
    facts = folder.finish_all(planned, outcomes, asked_for)
    if manner.as_json:
        typer.echo(json.dumps(facts | {"folder": folder.given}, indent=2))
    elif not manner.quiet:
        show_tradeoff(terminal(), facts, folder.given)


def tradeoff_of(config: Mapping[str, Any]) -> tuple[list[float], str] | None:
    """Limits and cost of a trade-off that was stopped; None if the run is of one limit."""
    said = config.get("tradeoff")
    if said is None:
        return None
    limits = said.get("limits") if isinstance(said, Mapping) else None
    cost = said.get("cost") if isinstance(said, Mapping) else None
    numbers = isinstance(limits, list) and all(type(limit) in (int, float) for limit in limits)
    if not numbers or not isinstance(cost, str):
        raise TabnasError("config.toml, tradeoff: it must have a cost and limits in numbers")
    return list(limits or []), cost
