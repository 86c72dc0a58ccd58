"""What to type to use a model, and to make its run again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from tabnas.errors import TabNASError
from tabnas.report._given import Given, shown
from tabnas.report._words import harmless

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
table = read_table("rows.csv")  # the same rows with the target, or Table.of(frame)
run_in_folder("again", LabelledTable.from_table(table, {target!r}), settings)
"""
TRADEOFF_AGAIN = """\
from tabnas.data import read_table
from tabnas.runs import LabelledTable, RunSettings, TradeoffFolder, load_config, plan_tradeoff

config = load_config(".")
settings = RunSettings.from_dict(config["settings"])
table = read_table("rows.csv")  # the same rows with the target, or Table.of(frame)
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
"""What the command line does when nothing is said; what is not among its options must be so."""
COUNTS = ("layers", "candidates", "workers", "memory")
NAMES = ("metric", "class_weight", "scaling", "engine")
OPTIONS = (*COUNTS, *NAMES, "time")
KINDS = ("categorical", "numeric", "hashed")
SEARCH_ONLY = ("time", "workers", "engine")
"""Options that `tabnas tradeoff` has not."""
OTHERS = ("decimal", "latency_table", "limits", "order_column", "seed", "widths")
KNOWN = {*DEFAULTS, *OPTIONS, *OTHERS}
PARAMETERS = "parameters"
COUNTED = (PARAMETERS, "dense_parameters", "flops", "bytes")
"""Costs with an option `--max-NAME` that takes a whole number."""
MEASURED = ("latency_us", "batch_latency_us")
"""Costs with an option `--max-NAME` that takes any number; the other costs have `--max NAME=N`."""
WIDEST = 76
LARGEST = 10**24
"""Larger numbers are more than the command line reads exactly."""


class UnsayableError(Exception):
    """Something was asked in Python that the command line has no words for."""


def use_in_python(task: str, model: str = "model") -> str:
    """Code that loads the model and asks it."""
    return (VALUES if task == "regression" else LABELS).format(model=model)


def source_name(config: Mapping[str, Any]) -> str:
    """The name of the table, without the folders it lies in; none if it came from Python."""
    data = Given("config.toml", config).get("data")
    if data is None:
        return ""
    name = _text(data["data"])
    return "standard input" if name == STANDARD_INPUT else shown(PurePath(name).name)


def is_of_tradeoff(config: Mapping[str, Any]) -> bool:
    """Whether a run was made together with those of other limits."""
    return Given("config.toml", config).get("tradeoff") is not None


def make_again(config: Mapping[str, Any], target: str) -> str:
    """Return the command line of a run or trade-off, or Python code that does the same.

    The code quotes names with `repr`, which has nothing that cannot be seen.
    """
    given = Given("config.toml", config)
    try:
        groups = _command(given)
    except UnsayableError:
        return (TRADEOFF_AGAIN if is_of_tradeoff(config) else AGAIN).format(target=target)
    if any(harmless(word) != word for group in groups for word in group):
        # nobody should copy what cannot be seen
        lines = [f"    {', '.join(map(repr, group))}," for group in groups]
        return COMMAND_AGAIN.format(words="\n".join(lines))
    quoted = [shlex.join(group) for group in groups]
    line = " ".join(quoted)
    return line if len(line) <= WIDEST else " \\\n    ".join(quoted)


def _command(given: Given) -> list[list[str]]:
    """Return the words of the command line, those of an option together."""
    data, settings, several = given.get("data"), given["settings"], given.get("tradeoff")
    if data is None or set(_mapping(settings)) - KNOWN:
        raise UnsayableError
    said = {**DEFAULTS, **_mapping(settings)}
    if said["baselines"] != DEFAULTS["baselines"]:
        raise UnsayableError
    varied = "" if several is None else _text(several["cost"])
    if several is not None and any(said.get(n) != DEFAULTS.get(n) for n in SEARCH_ONLY):
        raise UnsayableError
    rows = _text(data["data"])
    rows = f"./{rows}" if rows.startswith("-") and rows != STANDARD_INPUT else rows
    words = [["tabnas", "search" if several is None else "tradeoff", rows]]
    for name in ("target", "task"):
        one = data.get(name)
        if one is not None:
            words.append(_option(name, _text(one)))
    if several is not None:
        words.append(_option("limits", _joined(several["limits"], _positive)))
        if varied != PARAMETERS:
            words.append(_option("cost", varied))
    for name, limit in _mapping(settings["limits"]).items():
        if name != varied:
            words.append(_limit(name, limit))
    table = settings.get("latency_table")
    if table is not None:
        words.append(_option("latency_table", _text(table)))
    words += _work(said)
    if "widths" in said:
        words.append(_option("widths", _joined(settings["widths"], _count)))
    words += _split(data, settings, said) + _columns(settings)
    if said["refit"]:
        words.append(["--refit"])
    return [*words, _option("seed", _count(settings["seed"].count())), ["--out", "again"]]


def _work(said: Mapping[str, Any]) -> list[list[str]]:
    """Return the options for the space and the work that are not as by default."""
    texts = dict.fromkeys(COUNTS, _count) | dict.fromkeys(NAMES, _word) | {"time": _positive}
    changed = [name for name in OPTIONS if said.get(name) != DEFAULTS.get(name)]
    return [_option(name, texts[name](said[name])) for name in changed]


def _split(data: Given, settings: Given, said: Mapping[str, Any]) -> list[list[str]]:
    """How the rows were dealt out."""
    words = []
    shares = said["shares"] if isinstance(said["shares"], Mapping) else {}
    for name in ("validation", "test"):
        file = data.get(name)
        if file is not None:
            words.append(_option(name, _text(file)))
        elif shares.get(name) != DEFAULTS["shares"][name]:
            if not (isinstance(shares.get(name), float) and 0 < shares[name] < 1):
                raise UnsayableError
            words.append(_option(name, str(shares[name])))
    if said["order"] in ("time", "group"):
        words.append(_option(f"{said['order']}_column", _text(settings["order_column"])))
    return words


def _columns(settings: Given) -> list[list[str]]:
    """Columns that were left out or of which the kind was told, and how numbers are written."""
    words = []
    drop, kinds = settings.get("drop"), settings.get("kinds")
    if drop is not None and drop.each():
        words.append(_option("drop", _joined(drop, _name)))
    if kinds is not None:
        told = _mapping(kinds)
        for kind in KINDS:
            names = [name for name, one in told.items() if one == kind]
            if names:
                words.append(_option(kind, ",".join(map(_name, names))))
        if set(map(str, told.values())) - set(KINDS):
            raise UnsayableError
    decimal = settings.get("decimal")
    if decimal is not None:
        if decimal.value not in (".", ","):
            raise UnsayableError
        words.append(_option("decimal", decimal.value))
    return words


def _option(name: str, value: str) -> list[str]:
    """Return an option and its value, in one word where the value looks like an option."""
    option = f"--{name.replace('_', '-')}"
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _name(value: Any) -> str:
    """A column that can stand in a list with commas."""
    if not isinstance(value, str) or "," in value or value != value.strip() or not value:
        raise UnsayableError
    return value


def _word(value: Any) -> str:
    """A name that can be part of an option as it is."""
    if not isinstance(value, str) or not (value.isascii() and value.isidentifier()):
        raise UnsayableError
    return value


def _joined(given: Given, word: Any) -> str:
    return ",".join(word(one.value) for one in given.each())


def _text(given: Given) -> str:
    if not isinstance(given.value, str):
        raise TabNASError(f"{given.where} must be a text, but it is not")
    return given.value


def _limit(name: str, value: Any) -> list[str]:
    """Return the option that sets a limit: the cost's own, or `--max NAME=N`."""
    most = _positive(value)
    if name in MEASURED or (name in COUNTED and most.isdecimal()):
        return _option(f"max_{name}", most)
    if name == "bytes":  # there is no fraction of a byte
        raise UnsayableError
    return _option("max", f"{_word(name)}={most}")


def _positive(value: Any) -> str:
    """Return a positive number as text, without a point where it is whole."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST:
        raise UnsayableError
    return repr(int(value) if value == int(value) else value)


def _count(value: Any) -> str:
    """Return a whole number as text."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LARGEST:
        raise UnsayableError
    return repr(value)


def _mapping(given: Given) -> Mapping[str, Any]:
    if not isinstance(given.value, Mapping):
        raise TabNASError(f"{given.where} must be names with values, but it is not")
    return given.value
