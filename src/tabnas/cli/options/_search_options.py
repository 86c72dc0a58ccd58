"""Options of `tabnas search` and `tabnas tradeoff`, and the run settings they become.

Most options are declared by the fields of `RunSettings` (`tabnas.settings`). The fields of
`SearchOptions` are those that are not a setting, or that make a setting together with others.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, get_args, get_type_hints

from tabnas.cli._data_source import DataSource
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
from tabnas.cli.options._settings import SETTINGS, get_type, make_option
from tabnas.errors import TabNASError
from tabnas.settings import RunSettings, Setting, Shares
from tabnas.threads import limit_threads

if TYPE_CHECKING:
    from tabnas.cli._execution import OutputOptions

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
    max_ram_bytes: options.MaxRamBytes = None
    max_latency_us: options.MaxLatencyUs = None
    max_batch_latency_us: options.MaxBatchLatencyUs = None
    max_named: options.MaxNamed = None
    task: options.TaskName = None
    categorical: options.Categorical = None
    numeric: options.Numeric = None
    hashed: options.Hashed = None
    validation: options.ValidationRows = None
    test: options.TestRows = None
    unlabelled: options.UnlabelledRows = None
    time_column: options.TimeColumn = None
    group_column: options.GroupColumn = None
    threads: options.Threads = None
    checkpoint_seconds: options.CheckpointSeconds = 60.0
    dry_run: options.DryRun = False
    quiet: options.Quiet = False
    as_json: options.Json = False

    settings: Mapping[str, Any]
    """The options that `RunSettings` declares, by the name of the field."""

    def given_limits(self) -> dict[str, float]:
        """Return the limits on the command line, by the name of their cost."""
        return drop_missing_limits(self.all_limits())

    def all_limits(self) -> dict[str, float | None]:
        """Return every limit that can be given, None where it is not."""
        limits = {
            field.name.removeprefix("max_"): getattr(self, field.name)
            for field in fields(self)
            if field.name.startswith("max_") and field.name != "max_named"
        }
        return add_named_limits(limits, self.max_named)

    def to_settings(
        self, limits: dict[str, float], *, default_workers: int = 1
    ) -> tuple[RunSettings, DataSource]:
        """Return the settings of the run and the source of its rows; refuse contradictions."""
        for option, name in (("time", self.time_column), ("group", self.group_column)):
            if name is not None and not name.strip():  # a random split is something else
                raise TabNASError(f"--{option}-column must name a column, got {name!r}")
        if self.time_column and self.group_column:
            raise TabNASError(
                "rows must be split in one way, got both --time-column and --group-column"
                "; remove one"
            )
        validation_share, validation_file = parse_share_or_file("--validation", self.validation)
        test_share, test_file = parse_share_or_file("--test", self.test)
        values = {name: value for name, value in self.settings.items() if value is not None}
        if "latency_table" in values:
            values["latency_table"] = str(values["latency_table"])
        check_memory(values["memory"])
        if "widths" in values:
            values["widths"] = tuple(parse_widths(values["widths"]))
        if "numeric_dimensions" in values:
            text = values["numeric_dimensions"]
            values["numeric_dimensions"] = tuple(parse_widths(text, option="--numeric-dimensions"))
        if "teacher_columns" in values:
            values["teacher_columns"] = parse_names(values["teacher_columns"])
            if not values["teacher_columns"]:
                raise TabNASError("--teacher-columns must name columns, got none")
        settings = RunSettings(
            limits=limits,
            shares=Shares(validation=validation_share, test=test_share),
            split="time" if self.time_column else "group" if self.group_column else "random",
            split_column=self.time_column or self.group_column,
            kinds=parse_kinds(
                values.get("drop"),
                categorical=self.categorical,
                numeric=self.numeric,
                hashed=self.hashed,
            ),
            **{"workers": default_workers} | values | {"drop": parse_names(values.get("drop"))},
        )
        source = DataSource(
            self.data, self.target, self.task, validation_file, test_file, self.unlabelled
        )
        return settings, source

    def to_output(self) -> OutputOptions:
        """Return what to print and how often to save; with --quiet, silence warnings as well."""
        from tabnas.cli._execution import OutputOptions

        if self.quiet:
            warnings.simplefilter("ignore")  # for the rest of the process
        return OutputOptions(
            checkpoint_seconds=self.checkpoint_seconds, quiet=self.quiet, as_json=self.as_json
        )


def with_search_options(
    name: str,
) -> Callable[[Callable[Concatenate[SearchOptions, CommandParams], None]], Callable[..., None]]:
    """Return a decorator that gives a command all options of `SearchOptions` and `RunSettings`."""
    settings = [setting for setting in SETTINGS.values() if name in setting.commands]
    hints = get_type_hints(SearchOptions, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(SearchOptions)
        if field.name != "settings"
    ]
    first = [option for option in shared if option.name in ("data", "target")]
    rest = [option for option in shared if option not in first]

    def decorate(
        command: Callable[Concatenate[SearchOptions, CommandParams], None],
    ) -> Callable[..., None]:
        _, *specific = inspect.signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def flat(**values: Any) -> None:
            search_options = SearchOptions(
                settings={setting.name: values.pop(setting.name) for setting in settings},
                **{option.name: values.pop(option.name) for option in shared},
            )
            with limit_threads(search_options.threads):
                command(search_options, **values)  # type: ignore[call-arg]

        declared = [_make_parameter(setting) for setting in settings]
        general = [option for option in declared if _panel_index(option) == 0]
        others = [option for option in declared if option not in general]
        parameters = [*first, *specific, *general, *rest, *others]
        flat.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            sorted(parameters, key=_panel_index)
        )
        return flat

    return decorate


def _make_parameter(setting: Setting) -> inspect.Parameter:
    """Return the parameter of a command, as Typer reads it, that sets a run setting."""
    # an empty list and the number of workers are not defaults of an option
    is_optional = setting.default in (None, ()) or setting.name == "workers"
    kind: Any = get_type(setting)
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if is_optional else setting.default,
        annotation=Annotated[kind | None if is_optional else kind, make_option(setting)],
    )


def _panel_index(option: inspect.Parameter) -> int:
    """Return the position of an option's panel in the help."""
    _, declaration = get_args(option.annotation)
    return options.PANELS.index(declaration.rich_help_panel)
