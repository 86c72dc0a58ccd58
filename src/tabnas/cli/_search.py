"""`tabnas search`: from a table and a limit to a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tabnas.cli._options import (
    Json,
    MaxBytes,
    MaxDenseParameters,
    MaxFlops,
    MaxParameters,
    given_limits,
    parse_names,
    parse_widths,
    share_or_file,
)
from tabnas.errors import TabnasError

if TYPE_CHECKING:
    from tabnas.runs import PlannedRun, RunSettings

ROWS, COLUMNS, WORK = "Rows", "Columns", "Work"


def search(
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, TSV, Parquet or Feather file, or a dataset's name.", metavar="DATA"
        ),
    ],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    max_parameters: MaxParameters = None,
    max_dense_parameters: MaxDenseParameters = None,
    max_flops: MaxFlops = None,
    max_bytes: MaxBytes = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write.", show_default="runs/NAME")
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes everything random.", min=0)] = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to take; more gives longer trainings and more candidates.",
            show_default="what pays",
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(help="Architectures to train alone.", show_default="3", rich_help_panel=WORK),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Train the final model on all rows.", rich_help_panel=WORK),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(help="Networks trained side by side in a step.", min=1, rich_help_panel=WORK),
    ] = 1,
    layers: Annotated[
        int | None,
        typer.Option(help="The most hidden layers.", show_default="3", rich_help_panel=WORK),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            help="Candidate widths of every layer, like 0,8,16,32; 0 makes layers optional.",
            show_default="by the limit",
            rich_help_panel=WORK,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What to choose by: accuracy, balanced_error, log_loss, auc; rmse, mae, r2.",
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
        typer.Option(help="Split by this: the latest rows are the test.", rich_help_panel=ROWS),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(help="Split by this: no group is in two parts.", rich_help_panel=ROWS),
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
        str | None, typer.Option(help="Columns of categories: a,b.", rich_help_panel=COLUMNS)
    ] = None,
    numeric: Annotated[
        str | None, typer.Option(help="Columns of numbers: a,b.", rich_help_panel=COLUMNS)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns to ignore: a,b.", rich_help_panel=COLUMNS)
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(help="Of numbers: robust, standard or none.", rich_help_panel=COLUMNS),
    ] = "robust",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: Json = False,
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

    A dataset that comes with scikit-learn, only to see what would be done:

        tabnas search digits --max-parameters 5000 --dry-run
    """
    from tabnas.cli._progress import showing
    from tabnas.cli._summary import facts_of_plan, show_plan, show_result
    from tabnas.cli._tables import default_folder
    from tabnas.data import Shares
    from tabnas.runs import RunFolder, RunSettings

    if time_column and group_column:
        raise TabnasError("give --time-column or --group-column, not both")
    validation_share, validation_file = share_or_file("--validation", validation, 0.2)
    test_share, test_file = share_or_file("--test", test, 0.2)
    kinds = dict.fromkeys(parse_names(categorical), "categorical")
    kinds |= dict.fromkeys(parse_names(numeric), "numeric")
    settings = RunSettings(
        limits=given_limits(max_parameters, max_dense_parameters, max_flops, max_bytes),
        layers=layers,
        widths=None if widths is None else tuple(parse_widths(widths)),
        metric=metric,
        class_weight=class_weight,  # type: ignore[arg-type]
        shares=Shares(validation=validation_share, test=test_share),
        order="time" if time_column else "group" if group_column else "random",
        order_column=time_column or group_column,
        kinds=kinds,
        drop=parse_names(drop),
        scaling=scaling,  # type: ignore[arg-type]
        time=time,
        candidates=candidates,
        refit=refit,
        seed=seed,
        workers=workers,
    )
    source = _Source(data, target, task, validation_file, test_file)
    if dry_run:
        facts = facts_of_plan(source.planned(settings))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(Console(), facts)
        return
    with RunFolder(out or default_folder(data)) as folder:
        run = source.planned(settings)
        cost = run.plan.feasible.budget.limits[0].cost.name
        with showing(Console(stderr=True), quiet=quiet or as_json, cost=cost) as tell:
            outcome = run.execute(tell)
        result = folder.finish(outcome, {"data": source.to_dict(), "settings": settings.to_dict()})
    if as_json:
        typer.echo(json.dumps(result | {"folder": str(folder.path)}, indent=2))
    elif not quiet:
        show_result(Console(), result, str(folder.path))


@dataclass(frozen=True)
class _Source:
    """Where the rows of a run come from."""

    data: str
    target: str | None
    task: str | None
    validation: Path | None
    test: Path | None

    def planned(self, settings: RunSettings) -> PlannedRun:
        """Read everything and settle the plan; tables are let go as soon as they are encoded."""
        from tabnas.cli._tables import named_table
        from tabnas.data import read_table
        from tabnas.runs import Labelled, plan_run

        table, target = named_table(self.data, self.target)
        rows = Labelled.of(table, target, task=self.task)
        others = {
            name: Labelled.of(read_table(file), rows.target)
            for name, file in (("validation", self.validation), ("test", self.test))
            if file is not None
        }
        return plan_run(rows, settings, **others)

    def to_dict(self) -> dict[str, str]:
        """What was given, for config.toml; files by their whole paths."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {
            name: str(Path(value).resolve()) if Path(value).exists() else str(value)
            for name, value in given.items()
        }
