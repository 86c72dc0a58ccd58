"""The commands and code that use a model or repeat its run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tabnas.errors import TabNASError
from tabnas.formatting import sanitize
from tabnas.report._run_config import STANDARD_INPUT, RunConfig, TableSource
from tabnas.settings import RunSettings, Setting, Shares, get_settings
from tabnas.space import LATENCY_ROWS

PREDICT = "tabnas predict . new.csv --out predictions.csv\ntabnas evaluate . labelled.csv"
LOAD = """\
from tabnas import load_model
from tabnas.data import read_table

model = load_model("{model}")
rows = read_table("new.csv", text=model.text_columns)  # or any frame
"""
LABELS = LOAD + (
    "model.predict(rows)        # labels\n"
    "model.predict_proba(rows)  # [rows, classes], in the order of model.classes\n"
)
VALUES = LOAD + "model.predict(rows)  # values in the target's own units\n"
ESTIMATOR_AGAIN = """\
# If an estimator began this run, call its fit again with another run_dir. Otherwise:"""
TABLE_AGAIN = """\
settings = RunSettings.from_dict(config["settings"])
table = read_table("rows.csv")  # the same rows with the target, or Table.from_data(frame)
data = LabelledTable.from_table(table, {target!r}, task="{task}")"""
BESIDES = {
    "groups": """\
groups = read_table("groups.csv").column("group")  # of rows with a target
data = data.with_groups(groups)""",
    "weights": """\
weights = read_table("weights.csv").column("weight").to_numpy()  # of rows with a target
data = replace(data, weight=weights)""",
    "unlabelled": 'data = data.with_unlabelled(read_table("unlabelled.csv"))',
    "validation": """\
others = read_table("validation.csv")  # the same validation rows
validation = LabelledTable.from_table(others, data.target)""",
    "teacher": "teacher = EstimatorTeacher({tables})  # your model, and the features that it reads",
}
"""Code for what came from Python besides the table, by the names of `EXTRA_INPUTS`."""
RUN_AGAIN = (
    "from tabnas.runs import LabelledTable, RunSettings, load_config, run_in_folder",
    'run_in_folder("again", data, settings{arguments})',
)
TRADEOFF_AGAIN = (
    """\
from tabnas.runs import LabelledTable, RunSettings, load_config
from tabnas.runs import TradeoffFolder, execute_in_folder, plan_tradeoff""",
    """\
planned = plan_tradeoff(data, settings{arguments}, **config["tradeoff"])
with TradeoffFolder("again") as folder:
    execute_in_folder(folder, planned, config)""",
)
"""The imports and the last lines of the code, for a run and for a trade-off."""
COMMAND_AGAIN = """\
import subprocess

command = [
{words}
]
subprocess.run(command, check=True)
"""
FAMILIES = dict.fromkeys(("binary", "multiclass"), "classification") | {"regression": "regression"}
"""What `--task` and `task=` call the task of a target."""
KINDS = ("categorical", "numeric", "hashed")
PARAMETERS = "parameters"
BYTES = ("bytes", "ram_bytes")
COUNTED = (PARAMETERS, "dense_parameters", "flops", *BYTES)
"""Costs with an option `--max-NAME` that takes an integer."""
MAX_LINE = 76
MAX_INTEGER = 10**24
"""The command line does not read larger numbers exactly."""


class NoCommandError(Exception):
    """The command line has no option for a setting that was given in Python."""


def render_usage_code(task: str, model: str = "model") -> str:
    """Return code that loads the model and predicts."""
    return (VALUES if task == "regression" else LABELS).format(model=model)


def render_repetition(config: RunConfig, target: str, task: str) -> str:
    """Return the command line of a run or trade-off, or Python code that does the same.

    The code quotes names with `repr`, which shows every character.
    """
    try:
        groups = _render_command(config)
    except NoCommandError:
        return _render_repetition_code(config, target, task)
    if any(sanitize(word) != word for group in groups for word in group):
        # nobody should copy characters that cannot be seen
        lines = [f"    {', '.join(map(repr, group))}," for group in groups]
        return COMMAND_AGAIN.format(words="\n".join(lines))
    quoted = [shlex.join(group) for group in groups]
    line = " ".join(quoted)
    return line if len(line) <= MAX_LINE else " \\\n    ".join(quoted)


def _render_repetition_code(config: RunConfig, target: str, task: str) -> str:
    """Return Python code that does the same with tables from Python."""
    besides = config.besides
    arguments = "".join(f", {name}={name}" for name in ("validation", "teacher") if name in besides)
    others = ("unlabelled", "validation")
    tables = ", ".join(["model", "X", *(f"{name}=X_{name}" for name in others if name in besides)])
    imports, ending = RUN_AGAIN if config.tradeoff is None else TRADEOFF_AGAIN
    return "\n".join(
        [
            *([ESTIMATOR_AGAIN] if config.data is None and config.tradeoff is None else []),
            *(["from dataclasses import replace"] if "weights" in besides else []),
            "from tabnas.data import read_table",
            imports,
            *(["from tabnas.teachers import EstimatorTeacher"] if "teacher" in besides else []),
            "",
            'config = load_config(".")',
            TABLE_AGAIN.format(target=target, task=FAMILIES[task]),
            *(BESIDES[name].format(tables=tables) for name in besides),
            ending.format(arguments=arguments),
            "",
        ]
    )


def _render_command(config: RunConfig) -> list[list[str]]:
    """Return the words of the command line, grouped by option."""
    data, tradeoff = config.data, config.tradeoff
    try:
        settings = RunSettings.from_dict(config.settings)
    except TabNASError:  # perhaps a cost that only the user's program has
        raise NoCommandError from None
    if data is None or not settings.reference_models:
        raise NoCommandError
    command = "search" if tradeoff is None else "tradeoff"
    rows = data.data
    rows = f"./{rows}" if rows.startswith("-") and rows != STANDARD_INPUT else rows
    words = [["tabnas", command, rows]]
    for name, value in (("target", data.target), ("task", data.task)):
        if value is not None:
            words.append(_render_option(name, value))
    if tradeoff is not None:
        words.append(_render_option("limits", _join_values(tradeoff.limits, _render_positive)))
        if tradeoff.cost != PARAMETERS:
            words.append(_render_option("cost", tradeoff.cost))
    for name, limit in settings.limits.items():
        if tradeoff is None or name != tradeoff.cost:
            words.append(_render_limit(name, limit))
    words += _render_split(data, settings) + _render_kinds(settings)
    for setting in get_settings(RunSettings):
        value = getattr(settings, setting.name)
        if value != setting.default or setting.name == "seed":
            if command not in setting.commands:
                raise NoCommandError
            words.append(_render_setting(setting, value))
    return [*words, ["--out", "again"]]


def _render_setting(setting: Setting, value: Any) -> list[str]:
    """Return the option of a setting with this value."""
    if setting.kind == "flag":
        return [setting.option]
    write: Mapping[str, Callable[[Any], str]] = {
        "integer": _render_count,
        "bytes": _render_count,
        "seconds": _render_positive,
        "names": lambda names: _join_values(names, _require_listable_name),
        "widths": lambda widths: _join_values(widths, _render_count),
        "name": str if setting.name == "decimal" else _require_plain_word,
    }
    return _render_option(setting.name, write.get(setting.kind, str)(value))


def _render_split(data: TableSource, settings: RunSettings) -> list[list[str]]:
    """Return the options for validation, test and unlabelled rows."""
    words = []
    default = Shares()
    for name, file in (("validation", data.validation), ("test", data.test)):
        share = getattr(settings.shares, name)
        if file is not None:
            words.append(_render_option(name, file))
        elif share != getattr(default, name):
            if not 0 < share < 1:
                raise NoCommandError
            words.append(_render_option(name, str(share)))
    if data.unlabelled is not None:
        words.append(_render_option("unlabelled", data.unlabelled))
    if settings.split_column is not None:
        words.append(_render_option(f"{settings.split}_column", settings.split_column))
    elif settings.split == "group":  # given in Python
        raise NoCommandError
    return words


def _render_kinds(settings: RunSettings) -> list[list[str]]:
    """Return the options for columns that have a given kind."""
    if set(settings.kinds.values()) - set(KINDS):
        raise NoCommandError
    named = {
        kind: [n for n, declared in settings.kinds.items() if declared == kind] for kind in KINDS
    }
    return [
        _render_option(kind, _join_values(names, _require_listable_name))
        for kind, names in named.items()
        if names
    ]


def _render_option(name: str, value: str) -> list[str]:
    """Return an option and its value, in one word if the value looks like an option."""
    option = f"--{name.replace('_', '-')}"
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _join_values(values: Sequence[Any], write: Callable[[Any], str]) -> str:
    return ",".join(map(write, values))


def _require_listable_name(value: Any) -> str:
    """Return the name of a column that can be in a list with commas."""
    if not isinstance(value, str) or "," in value or value != value.strip() or not value:
        raise NoCommandError
    return value


def _require_plain_word(value: Any) -> str:
    """Return a name that needs no quotes."""
    if not isinstance(value, str) or not (value.isascii() and value.isidentifier()):
        raise NoCommandError
    return value


def _render_limit(name: str, value: Any) -> list[str]:
    """Return the option that sets a limit: `--max-COST N` if there is one, or `--max COST=N`."""
    limit = _render_positive(value)
    if name in LATENCY_ROWS or (name in COUNTED and limit.isdecimal()):
        return _render_option(f"max_{name}", limit)
    if name in BYTES:  # there is no fraction of a byte
        raise NoCommandError
    return _render_option("max", f"{_require_plain_word(name)}={limit}")


def _render_positive(value: Any) -> str:
    """Return a positive number as text, an integer without a decimal point."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoCommandError
    if not 0 < value < MAX_INTEGER:
        raise NoCommandError
    return repr(int(value) if value == int(value) else value)


def _render_count(value: Any) -> str:
    """Return a non-negative integer as text."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_INTEGER:
        raise NoCommandError
    return repr(value)
