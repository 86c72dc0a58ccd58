"""The commands and code that use a model, or repeat its run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

from tabnas.decoding import decode
from tabnas.formatting import sanitize, shorten

T = TypeVar("T")

SOURCE = "config.toml"
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
AGAIN = """\
from tabnas.data import read_table
from tabnas.runs import LabelledTable, RunSettings, load_config, run_in_folder

settings = RunSettings.from_dict(load_config(".")["settings"])
table = read_table("rows.csv")  # the same rows with the target, or Table.from_data(frame)
run_in_folder("again", LabelledTable.from_table(table, {target!r}), settings)
"""
TRADEOFF_AGAIN = """\
from tabnas.data import read_table
from tabnas.runs import LabelledTable, RunSettings, TradeoffFolder, load_config, plan_tradeoff

config = load_config(".")
settings = RunSettings.from_dict(config["settings"])
table = read_table("rows.csv")  # the same rows with the target, or Table.from_data(frame)
planned = plan_tradeoff(LabelledTable.from_table(table, {target!r}), settings, **config["tradeoff"])
with TradeoffFolder("again") as folder:
    folder.write_config(config)
    folder.finish_all(planned, planned.execute(), config)
"""
STANDARD_INPUT = "-"
COMMAND_AGAIN = """\
import subprocess

command = [
{words}
]
subprocess.run(command, check=True)
"""
DEFAULTS: Mapping[str, Any] = {
    "drop": [],
    "engine": "compiled",
    "baselines": True,
    "kinds": {},
    "memory": 10**9,
    "order": "random",
    "refit": False,
    "scaling": "robust",
    "shares": {"validation": 0.2, "test": 0.2},
    "workers": 1,
}
"""The defaults of the command line; settings without an option must have these values."""
COUNTS = ("layers", "candidates", "workers", "memory")
NAMES = ("metric", "class_weight", "scaling", "engine")
OPTIONS = (*COUNTS, *NAMES, "time")
KINDS = ("categorical", "numeric", "hashed")
SEARCH_ONLY = ("time", "workers", "engine")
"""Options that `tabnas tradeoff` does not have."""
OTHERS = ("decimal", "latency_table", "limits", "order_column", "seed", "widths")
KNOWN = {*DEFAULTS, *OPTIONS, *OTHERS}
PARAMETERS = "parameters"
COUNTED = (PARAMETERS, "dense_parameters", "flops", "bytes")
"""Costs with an option `--max-NAME` that takes an integer."""
MEASURED = ("latency_us", "batch_latency_us")
"""Costs with an option `--max-NAME` that takes any number; the other costs have `--max NAME=N`."""
MAX_LINE = 76
MAX_INTEGER = 10**24
"""The command line does not read larger numbers exactly."""


class NoCommandError(Exception):
    """The command line has no option for a setting that was given in Python."""


@dataclass(frozen=True)
class TableSource:
    """The section `data` of a run's config.toml: where its table came from."""

    data: str
    target: str | None = None
    task: str | None = None
    validation: str | None = None
    test: str | None = None

    @property
    def name(self) -> str:
        """The name of the table without its folders, safe to show."""
        if self.data == STANDARD_INPUT:
            return "standard input"
        return shorten(PurePath(self.data).name)


@dataclass(frozen=True)
class TradeoffLimits:
    """The section `tradeoff` of config.toml: the cost whose limit varies, and its limits."""

    cost: str
    limits: tuple[Any, ...]


@dataclass(frozen=True)
class RunConfig:
    """The sections of config.toml; `data` is missing if the table came from Python."""

    settings: Mapping[str, Any]
    data: TableSource | None = None
    tradeoff: TradeoffLimits | None = None


def decode_config(config: Any) -> RunConfig:
    """Return the contents of config.toml as a `RunConfig`; raise `DecodeError` if malformed."""
    return decode(RunConfig, config, source=SOURCE, ignore_unknown=True)


def use_in_python(task: str, model: str = "model") -> str:
    """Return code that loads the model and predicts."""
    return (VALUES if task == "regression" else LABELS).format(model=model)


def repeat_run(config: RunConfig, target: str) -> str:
    """Return the command line of a run or trade-off, or Python code that does the same.

    The code quotes names with `repr`, which shows every character.
    """
    try:
        groups = _command(config)
    except NoCommandError:
        return (AGAIN if config.tradeoff is None else TRADEOFF_AGAIN).format(target=target)
    if any(sanitize(word) != word for group in groups for word in group):
        # nobody should copy characters that cannot be seen
        lines = [f"    {', '.join(map(repr, group))}," for group in groups]
        return COMMAND_AGAIN.format(words="\n".join(lines))
    quoted = [shlex.join(group) for group in groups]
    line = " ".join(quoted)
    return line if len(line) <= MAX_LINE else " \\\n    ".join(quoted)


def _command(config: RunConfig) -> list[list[str]]:
    """Return the words of the command line, those of an option together."""
    data, settings, tradeoff = config.data, config.settings, config.tradeoff
    if data is None or set(settings) - KNOWN:
        raise NoCommandError
    values = {**DEFAULTS, **settings}
    if values["baselines"] != DEFAULTS["baselines"]:
        raise NoCommandError
    varied = "" if tradeoff is None else tradeoff.cost
    if tradeoff is not None and any(values.get(n) != DEFAULTS.get(n) for n in SEARCH_ONLY):
        raise NoCommandError
    rows = data.data
    rows = f"./{rows}" if rows.startswith("-") and rows != STANDARD_INPUT else rows
    words = [["tabnas", "search" if tradeoff is None else "tradeoff", rows]]
    for name, value in (("target", data.target), ("task", data.task)):
        if value is not None:
            words.append(_option(name, value))
    if tradeoff is not None:
        words.append(_option("limits", _join(tradeoff.limits, _positive)))
        if varied != PARAMETERS:
            words.append(_option("cost", varied))
    for name, limit in _setting(dict[str, Any], settings, "limits").items():
        if name != varied:
            words.append(_limit(name, limit))
    if "latency_table" in settings:
        words.append(_option("latency_table", _setting(str, settings, "latency_table")))
    words += _work(values)
    if "widths" in settings:
        words.append(_option("widths", _join(_setting(list[Any], settings, "widths"), _count)))
    words += _split(data, settings, values) + _columns(settings)
    if values["refit"]:
        words.append(["--refit"])
    seed = _count(_setting(int, settings, "seed"))
    return [*words, _option("seed", seed), ["--out", "again"]]


def _work(values: Mapping[str, Any]) -> list[list[str]]:
    """Return the options for the space and the work that differ from their defaults."""
    texts = dict.fromkeys(COUNTS, _count) | dict.fromkeys(NAMES, _word) | {"time": _positive}
    changed = [name for name in OPTIONS if values.get(name) != DEFAULTS.get(name)]
    return [_option(name, texts[name](values[name])) for name in changed]


def _split(
    data: TableSource, settings: Mapping[str, Any], values: Mapping[str, Any]
) -> list[list[str]]:
    """Return the options for the validation and test rows."""
    words = []
    shares = values["shares"] if isinstance(values["shares"], Mapping) else {}
    for name, file in (("validation", data.validation), ("test", data.test)):
        if file is not None:
            words.append(_option(name, file))
        elif shares.get(name) != DEFAULTS["shares"][name]:
            if not (isinstance(shares.get(name), float) and 0 < shares[name] < 1):
                raise NoCommandError
            words.append(_option(name, str(shares[name])))
    if values["order"] in ("time", "group"):
        column = _setting(str, settings, "order_column")
        words.append(_option(f"{values['order']}_column", column))
    return words


def _columns(settings: Mapping[str, Any]) -> list[list[str]]:
    """Return the options for columns that are dropped or have a given kind, and for decimals."""
    words = []
    drop = _setting(list[Any], settings, "drop", default=[])
    if drop:
        words.append(_option("drop", _join(drop, _name)))
    kinds = _setting(dict[str, Any], settings, "kinds", default={})
    for kind in KINDS:
        names = [name for name, one in kinds.items() if one == kind]
        if names:
            words.append(_option(kind, _join(names, _name)))
    if set(map(str, kinds.values())) - set(KINDS):
        raise NoCommandError
    decimal = settings.get("decimal")
    if decimal is not None:
        if decimal not in (".", ","):
            raise NoCommandError
        words.append(_option("decimal", decimal))
    return words


def _setting(kind: type[T], settings: Mapping[str, Any], name: str, default: T | None = None) -> T:
    """Return a setting of the given type; raise `DecodeError` if it is malformed or missing."""
    if settings.get(name) is None and default is not None:
        return default
    return decode(kind, settings.get(name), source=f"{SOURCE}: settings.{name}")


def _option(name: str, value: str) -> list[str]:
    """Return an option and its value, in one word if the value looks like an option."""
    option = f"--{name.replace('_', '-')}"
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _join(values: Sequence[Any], write: Callable[[Any], str]) -> str:
    return ",".join(map(write, values))


def _name(value: Any) -> str:
    """Return the name of a column that can be in a list with commas."""
    if not isinstance(value, str) or "," in value or value != value.strip() or not value:
        raise NoCommandError
    return value


def _word(value: Any) -> str:
    """Return a name that needs no quotes."""
    if not isinstance(value, str) or not (value.isascii() and value.isidentifier()):
        raise NoCommandError
    return value


def _limit(name: str, value: Any) -> list[str]:
    """Return the option that sets a limit: `--max-COST N` if there is one, or `--max COST=N`."""
    limit = _positive(value)
    if name in MEASURED or (name in COUNTED and limit.isdecimal()):
        return _option(f"max_{name}", limit)
    if name == "bytes":  # there is no fraction of a byte
        raise NoCommandError
    return _option("max", f"{_word(name)}={limit}")


def _positive(value: Any) -> str:
    """Return a positive number as text, an integer without a decimal point."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoCommandError
    if not 0 < value < MAX_INTEGER:
        raise NoCommandError
    return repr(int(value) if value == int(value) else value)


def _count(value: Any) -> str:
    """Return a non-negative integer as text."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_INTEGER:
        raise NoCommandError
    return repr(value)
