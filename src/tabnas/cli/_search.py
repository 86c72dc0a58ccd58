"""`tabnas search`: from a table and a limit to a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli import _options as options
from tabnas.cli._asking import asked
from tabnas.cli._options import WORK, given_limits, given_memory, known_engine
from tabnas.cli._ranks import launched, together
from tabnas.cli._text import terminal
from tabnas.errors import TabnasError


def search(
    data: options.Data,
    target: options.Target = None,
    max_parameters: options.MaxParameters = None,
    max_dense_parameters: options.MaxDenseParameters = None,
    max_flops: options.MaxFlops = None,
    max_bytes: options.MaxBytes = None,
    max_latency_us: options.MaxLatencyUs = None,
    max_batch_latency_us: options.MaxBatchLatencyUs = None,
    latency_table: options.LatencyTableFile = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write, new or empty.", show_default="runs/NAME"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed gives the same result, without --time and limits on latency.",
            min=0,
        ),
    ] = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to take; more gives longer trainings, then more "
            "candidates, unless --candidates says how many. Comparing with boosted trees may take "
            "longer on large tables.",
            show_default="what pays",
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many of the best architectures to train alone and choose from.",
            show_default="3, and up to 3 simpler ones on small tables",
            rich_help_panel=WORK,
        ),
    ] = None,
    refit: options.Refit = False,
    workers: options.Workers = None,
    engine: options.EngineName = "compiled",
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
    tensorboard: Annotated[
        bool,
        typer.Option(
            "--tensorboard",
            help="Also write events for TensorBoard, to the folder tensorboard of the run.",
            rich_help_panel=WORK,
        ),
    ] = False,
    dry_run: options.DryRun = False,
) -> None:
    r"""Find the best network for a table within a hard limit, and train it.

    At most 20,000 trained numbers, everything else by itself:

        tabnas search train.csv --target income --max-parameters 20000

    Two limits, five minutes, rows of the last months as the test:

        tabnas search sales.parquet --target sold --max-flops 60000 \
          --max-bytes 80000 --time 300 --time-column day --out runs/sales

    At most 50 microseconds from a row's columns to its answer, measured on this machine:

        tabnas search train.csv --target income --max-latency-us 50

    A dataset that comes with scikit-learn, only to see what would be done:

        tabnas search digits --max-parameters 5000 --dry-run

    One search in several processes, here or on several machines; each reads the table itself:

        torchrun --nproc-per-node 4 -m tabnas search train.csv --target income \
          --max-parameters 20000 --engine torch

    The folder then holds the model (for `tabnas predict` and `tabnas evaluate`), the scores on test
    rows that nothing was chosen by (result.json), and all that was asked (config.toml).
    """
    from tabnas.cli._progress import showing
    from tabnas.cli._running import Manner, carry_out, take_part
    from tabnas.cli._summary import facts_of_plan, show_plan
    from tabnas.cli._tables import default_folder
    from tabnas.runs import RunFolder, refuse_without_tensorboard

    rank, processes = launched()
    if tensorboard and not rank:
        refuse_without_tensorboard()
    if processes > 1 and known_engine(engine) != "torch":
        raise TabnasError(
            f"a search in several processes must have the engine torch, however {engine} was "
            "given; add --engine torch"
        )
    settings, source = asked(
        data,
        given_limits(
            parameters=max_parameters,
            dense_parameters=max_dense_parameters,
            flops=max_flops,
            bytes=max_bytes,
            latency_us=max_latency_us,
            batch_latency_us=max_batch_latency_us,
        ),
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
        time=time,
        candidates=candidates,
        refit=refit,
        seed=seed,
        workers=workers or processes,
        engine=known_engine(engine),
        memory=given_memory(memory),
    )
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if dry_run and rank:
        return
    if dry_run:
        with showing(terminal(stderr=True), quiet=quiet or as_json, cost="") as tell:
            facts = facts_of_plan(source.planned(settings, observe=tell))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(terminal(), facts)
        return
    with together() as ranks:
        if not ranks.first:
            take_part(ranks.told(None)[0], source, settings, ranks)
            return
        with RunFolder(out or default_folder(data)) as folder:
            ranks.told(folder.given)
            manner = Manner(every=checkpoint_seconds, quiet=quiet, as_json=as_json)
            carry_out(folder, source, settings, manner, tensorboard=tensorboard, ranks=ranks)
