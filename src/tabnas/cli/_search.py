"""`tabnas search`: from a table and a limit to a model."""

from __future__ import annotations

import json
import warnings
from typing import Annotated

import typer

from tabnas.cli._asking import asked
from tabnas.cli._options import (
    WORK,
    Candidates,
    Categorical,
    CheckpointSeconds,
    ClassWeight,
    Data,
    Drop,
    GroupColumn,
    Json,
    LatencyTableFile,
    Layers,
    MaxBatchLatencyUs,
    MaxBytes,
    MaxDenseParameters,
    MaxFlops,
    MaxLatencyUs,
    MaxParameters,
    MetricName,
    Numeric,
    Out,
    Quiet,
    ScalingName,
    Seed,
    Target,
    TaskName,
    TestRows,
    TimeColumn,
    ValidationRows,
    Widths,
    given_limits,
)
from tabnas.cli._text import terminal


def search(
    data: Data,
    target: Target = None,
    max_parameters: MaxParameters = None,
    max_dense_parameters: MaxDenseParameters = None,
    max_flops: MaxFlops = None,
    max_bytes: MaxBytes = None,
    max_latency_us: MaxLatencyUs = None,
    max_batch_latency_us: MaxBatchLatencyUs = None,
    latency_table: LatencyTableFile = None,
    out: Out = None,
    seed: Seed = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to take; more gives longer trainings, then more "
            "candidates. Comparing with boosted trees may take longer on large tables.",
            show_default="what pays",
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Candidates = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="After judging, train the final model on all rows, the test included.",
            rich_help_panel=WORK,
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(help="Networks trained side by side in a step.", min=1, rich_help_panel=WORK),
    ] = 1,
    layers: Layers = None,
    widths: Widths = None,
    metric: MetricName = None,
    class_weight: ClassWeight = None,
    validation: ValidationRows = None,
    test: TestRows = None,
    time_column: TimeColumn = None,
    group_column: GroupColumn = None,
    task: TaskName = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    drop: Drop = None,
    scaling: ScalingName = "robust",
    quiet: Quiet = False,
    as_json: Json = False,
    checkpoint_seconds: CheckpointSeconds = 60.0,
    tensorboard: Annotated[
        bool,
        typer.Option(
            "--tensorboard",
            help="Also write events for TensorBoard, to the folder tensorboard of the run.",
            rich_help_panel=WORK,
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the space and the plan, and train nothing.")
    ] = False,
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

    The folder then holds the model (for `tabnas predict` and `tabnas evaluate`), the scores on test
    rows that nothing was chosen by (result.json), and all that was asked (config.toml).
    """
    from tabnas.cli._progress import showing
    from tabnas.cli._running import carry_out
    from tabnas.cli._summary import facts_of_plan, show_plan
    from tabnas.cli._tables import default_folder
    from tabnas.runs import RunFolder, refuse_without_tensorboard

    if tensorboard:
        refuse_without_tensorboard()
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
        workers=workers,
    )
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if dry_run:
        with showing(terminal(stderr=True), quiet=quiet or as_json, cost="") as tell:
            facts = facts_of_plan(source.planned(settings, observe=tell))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(terminal(), facts)
        return
    with RunFolder(out or default_folder(data)) as folder:
        carry_out(
            folder,
            source,
            settings,
            every=checkpoint_seconds,
            quiet=quiet,
            as_json=as_json,
            tensorboard=tensorboard,
        )
