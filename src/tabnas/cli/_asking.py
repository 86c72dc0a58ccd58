"""What searches and trade-offs are both asked, and how it becomes the settings of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, get_args, get_type_hints

from tabnas.cli import _options as options
from tabnas.cli._source import Source
from tabnas.cli._values import (
    declared_kinds,
    given_memory,
    parse_names,
    parse_widths,
    share_or_file,
    some_limits,
    with_named,
)
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.runs import RunSettings

SHARE = 0.2
Own = ParamSpec("Own")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A table, limits, and all that is optional about them; each field is an option."""

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

    def limits(self) -> dict[str, float]:
        """The limits that were given, by the name of their cost."""
        return some_limits(**self.every_limit())

    def every_limit(self) -> dict[str, float | None]:
        """All limits that there are options for, and those that were given by name."""
        optional = {
            "parameters": self.max_parameters,
            "dense_parameters": self.max_dense_parameters,
            "flops": self.max_flops,
            "bytes": self.max_bytes,
            "latency_us": self.max_latency_us,
            "batch_latency_us": self.max_batch_latency_us,
        }
        return with_named(optional, self.max_named)

    def settled(self, limits: dict[str, float], **others: Any) -> tuple[RunSettings, Source]:
        """The settings of a run, and where its rows are; refuses what contradicts itself."""
        from tabnas.data import Shares
        from tabnas.runs import RunSettings

        if self.time_column and self.group_column:
            raise TabNASError(
                "rows must be split in one way, got both --time-column and --group-column"
                "; remove one"
            )
        validation_share, validation_file = share_or_file("--validation", self.validation, SHARE)
        test_share, test_file = share_or_file("--test", self.test, SHARE)
        # texts until RunSettings refuses those that it does not know
        words: dict[str, Any] = {"scaling": self.scaling, "class_weight": self.class_weight}
        settings = RunSettings(
            limits=limits,
            latency_table=None if self.latency_table is None else str(self.latency_table),
            layers=self.layers,
            widths=None if self.widths is None else tuple(parse_widths(self.widths)),
            shares=Shares(validation=validation_share, test=test_share),
            order="time" if self.time_column else "group" if self.group_column else "random",
            order_column=self.time_column or self.group_column,
            kinds=declared_kinds(
                self.drop,
                categorical=self.categorical,
                numeric=self.numeric,
                hashed=self.hashed,
            ),
            drop=parse_names(self.drop),
            decimal=self.decimal,
            metric=self.metric,
            refit=self.refit,
            memory=given_memory(self.memory),
            **words,
            **others,
        )
        return settings, Source(self.data, self.target, self.task, validation_file, test_file)


def asked(command: Callable[Concatenate[Question, Own], None]) -> Callable[..., None]:
    """The command with every field of its question as an option of its own, for Typer to find."""
    hints = get_type_hints(Question, include_extras=True)
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Question)
    ]

    @wraps(command)
    def flat(**given: Any) -> None:
        question = Question(**{one.name: given.pop(one.name) for one in shared})
        command(question, **given)  # type: ignore[call-arg]

    first = [one for one in shared if one.name in ("data", "target")]
    ordered = sorted([*first, *own, *(one for one in shared if one not in first)], key=_panel)
    flat.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return flat


def _panel(option: inspect.Parameter) -> int:
    """Where the help has an option, which has panels in the order of their first options."""
    _, declared = get_args(option.annotation)
    return options.PANELS.index(declared.rich_help_panel)
