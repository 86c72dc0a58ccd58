"""Options of both `tabnas search` and `tabnas tradeoff`, and the run settings they become."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, get_args, get_type_hints

from tabnas.cli._source import Source
from tabnas.cli.options import _shared as options
from tabnas.cli.options._parsers import (
    add_named_limits,
    check_memory,
    drop_missing_limits,
    parse_kinds,
    parse_names,
    parse_share_or_file,
    parse_widths,
)
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.runs import RunSettings

CommandParams = ParamSpec("CommandParams")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """A table, limits and everything optional; each field is an option of the command."""

    data: options.Data
    target: options.Target = None
    max_parameters: options.MaxParameters = None
    max_dense_parameters: options.MaxDenseParameters = None
    max_flops: options.MaxFlops = None
    max_bytes: options.MaxBytes = None
    max_latency_us: options.MaxLatencyUs = None
    max_batch_latency_us: options.MaxBatchLatencyUs = None
    max_named: options.MaxNamed = None
    latency_table: options.LatencyTableFile = None
    task: options.TaskName = None
    categorical: options.Categorical = None
    numeric: options.Numeric = None
    hashed: options.Hashed = None
    drop: options.Drop = None
    decimal: options.Decimal = None
    scaling: options.ScalingName = "robust"
    validation: options.ValidationRows = None
    test: options.TestRows = None
    time_column: options.TimeColumn = None
    group_column: options.GroupColumn = None
    layers: options.Layers = None
    widths: options.Widths = None
    metric: options.MetricName = None
    class_weight: options.ClassWeight = None
    refit: options.Refit = False
    memory: options.Memory = options.GIGABYTE
    checkpoint_seconds: options.CheckpointSeconds = 60.0
    dry_run: options.DryRun = False
    quiet: options.Quiet = False
    as_json: options.Json = False

    def given_limits(self) -> dict[str, float]:
        """Return the limits on the command line, by the name of their cost."""
        return drop_missing_limits(self.all_limits())

    def all_limits(self) -> dict[str, float | None]:
        """Return every limit that can be given, None where it is not."""
        limits = {
            "parameters": self.max_parameters,
            "dense_parameters": self.max_dense_parameters,
            "flops": self.max_flops,
            "bytes": self.max_bytes,
            "latency_us": self.max_latency_us,
            "batch_latency_us": self.max_batch_latency_us,
        }
        return add_named_limits(limits, self.max_named)

    def to_settings(self, limits: dict[str, float], **others: Any) -> tuple[RunSettings, Source]:
        """Return the settings of the run and the source of its rows; refuse contradictions."""
        from tabnas.data import Shares
        from tabnas.runs import RunSettings

        if self.time_column and self.group_column:
            raise TabNASError(
                "rows must be split in one way, got both --time-column and --group-column"
                "; remove one"
            )
        validation_share, validation_file = parse_share_or_file("--validation", self.validation)
        test_share, test_file = parse_share_or_file("--test", self.test)
        # plain strings, which RunSettings checks
        names: dict[str, Any] = {"scaling": self.scaling, "class_weight": self.class_weight}
        settings = RunSettings(
            limits=limits,
            latency_table=None if self.latency_table is None else str(self.latency_table),
            layers=self.layers,
            widths=None if self.widths is None else tuple(parse_widths(self.widths)),
            shares=Shares(validation=validation_share, test=test_share),
            order="time" if self.time_column else "group" if self.group_column else "random",
            order_column=self.time_column or self.group_column,
            kinds=parse_kinds(
                self.drop,
                categorical=self.categorical,
                numeric=self.numeric,
                hashed=self.hashed,
            ),
            drop=parse_names(self.drop),
            decimal=self.decimal,
            metric=self.metric,
            refit=self.refit,
            memory=check_memory(self.memory),
            **names,
            **others,
        )
        return settings, Source(self.data, self.target, self.task, validation_file, test_file)


def with_search_options(
    command: Callable[Concatenate[SearchOptions, CommandParams], None],
) -> Callable[..., None]:
    """Return the command with every field of `SearchOptions` as a parameter, for Typer."""
    hints = get_type_hints(SearchOptions, include_extras=True)
    _, *specific = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(SearchOptions)
    ]

    @wraps(command)
    def flat(**values: Any) -> None:
        search_options = SearchOptions(
            **{option.name: values.pop(option.name) for option in shared}
        )
        command(search_options, **values)  # type: ignore[call-arg]

    first = [option for option in shared if option.name in ("data", "target")]
    rest = [option for option in shared if option not in first]
    ordered = sorted([*first, *specific, *rest], key=_panel_index)
    flat.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return flat


def _panel_index(option: inspect.Parameter) -> int:
    """Return the position of an option's panel in the help."""
    _, declaration = get_args(option.annotation)
    return options.PANELS.index(declaration.rich_help_panel)
