"""`tabnas search`: from a table and a limit to a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tabnas.cli._options import (
    CheckpointSeconds,
    Json,
    MaxBatchLatencyUs,
    MaxBytes,
    MaxDenseParameters,
    MaxFlops,
    MaxLatencyUs,
    MaxParameters,
    given_limits,
    parse_names,
    parse_widths,
    share_or_file,
)
from tabnas.cli._source import Source
from tabnas.errors import TabnasError

SPACE, ROWS, COLUMNS, WORK = "Architectures", "Rows", "Columns", "Work"


def search(
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, TSV, Parquet or Feather file, or a name of `tabnas datasets`.",
            metavar="DATA",
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to predict; a file needs it.")
    ] = None,
    max_parameters: MaxParameters = None,
    max_dense_parameters: MaxDenseParameters = None,
    max_flops: MaxFlops = None,
    max_bytes: MaxBytes = None,
    max_latency_us: MaxLatencyUs = None,
    max_batch_latency_us: MaxBatchLatencyUs = None,
    latency_table: Annotated[
        Path | None,
        typer.Option(
            help="A file of `tabnas latency` from another machine, to keep latencies there.",
            show_default="measured here",
            rich_help_panel="Limits",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write, new or empty.", show_default="runs/NAME"),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="The same seed gives the same result, without --time.", min=0)
    ] = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to take; more gives longer trainings, then more "
            "candidates. Comparing with boosted trees may take longer on large tables.",
            show_default="what pays",
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many of the best architectures to train alone and choose from.",
            show_default="3",
            rich_help_panel=WORK,
        ),
    ] = None,
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
    layers: Annotated[
        int | None,
        typer.Option(help="The most hidden layers.", show_default="3", rich_help_panel=SPACE),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            help="Candidate widths of every layer, like 0,8,16,32; 0 makes layers optional.",
            show_default="by the limit",
            rich_help_panel=SPACE,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What to choose by: accuracy, balanced_error, log_loss, auc for classes; "
            "rmse, mae, r2 for quantities.",
            show_default="log_loss or rmse",
            rich_help_panel=WORK,
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help="'balanced' gives every class the same weight.", rich_help_panel=WORK),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="A file, or a share of the rows, to choose by.",
            show_default="0.2",
            rich_help_panel=ROWS,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            help="A file, or a share of the rows, that only the final scores see.",
            show_default="0.2",
            rich_help_panel=ROWS,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            help="A column of dates or numbers to split by: the latest rows are the test.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            help="A column to split by: rows of one group stay together.", rich_help_panel=ROWS
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="'classification' or 'regression'.",
            show_default="as the target looks",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    categorical: Annotated[
        str | None,
        typer.Option(help="Columns to take for categories: a,b.", rich_help_panel=COLUMNS),
    ] = None,
    numeric: Annotated[
        str | None, typer.Option(help="Columns to take for numbers: a,b.", rich_help_panel=COLUMNS)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns to ignore: a,b.", rich_help_panel=COLUMNS)
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            help="How numbers are scaled: robust, standard or none.", rich_help_panel=COLUMNS
        ),
    ] = "robust",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: Json = False,
    checkpoint_seconds: CheckpointSeconds = 60.0,
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
    from tabnas.data import Shares
    from tabnas.runs import RunFolder, RunSettings

    if time_column and group_column:
        raise TabnasError(
            "rows must be split in one way, however both --time-column and --group-column were "
            "given; remove one"
        )
    validation_share, validation_file = share_or_file("--validation", validation, 0.2)
    test_share, test_file = share_or_file("--test", test, 0.2)
    as_categories, as_numbers = parse_names(categorical), parse_names(numeric)
    for name in as_categories:
        if name in as_numbers:
            raise TabnasError(
                f"the column {name!r} must be of one kind, however both --categorical and "
                "--numeric name it; remove one"
            )
    settings = RunSettings(
        limits=given_limits(
            parameters=max_parameters,
            dense_parameters=max_dense_parameters,
            flops=max_flops,
            bytes=max_bytes,
            latency_us=max_latency_us,
            batch_latency_us=max_batch_latency_us,
        ),
        latency_table=None if latency_table is None else str(latency_table),
        layers=layers,
        widths=None if widths is None else tuple(parse_widths(widths)),
        metric=metric,
        class_weight=class_weight,  # type: ignore[arg-type]
        shares=Shares(validation=validation_share, test=test_share),
        order="time" if time_column else "group" if group_column else "random",
        order_column=time_column or group_column,
        kinds=dict.fromkeys(as_categories, "categorical") | dict.fromkeys(as_numbers, "numeric"),
        drop=parse_names(drop),
        scaling=scaling,  # type: ignore[arg-type]
        time=time,
        candidates=candidates,
        refit=refit,
        seed=seed,
        workers=workers,
    )
    source = Source(data, target, task, validation_file, test_file)
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if dry_run:
        with showing(Console(stderr=True), quiet=quiet or as_json, cost="") as tell:
            facts = facts_of_plan(source.planned(settings, observe=tell))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(Console(), facts)
        return
    with RunFolder(out or default_folder(data)) as folder:
        carry_out(folder, source, settings, every=checkpoint_seconds, quiet=quiet, as_json=as_json)
