"""Options that the fields of `RunSettings` declare."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tabnas.cli.options import _completion as completion
from tabnas.cli.options._parsers import parse_int, parse_memory, parse_seconds
from tabnas.cli.options._shared import flag
from tabnas.settings import RunSettings, Setting, get_settings

COMPLETIONS: dict[str, Callable[..., Any]] = {
    "drop": completion.complete_columns,
    "teacher_columns": completion.complete_columns,
    "engine": completion.complete_engine,
    "metric": completion.complete_from(*completion.METRICS),
}
"""Of settings whose values are not all the choices that they declare."""
TYPES: dict[str, type] = {"integer": int, "seconds": float, "bytes": int, "path": Path}
PARSERS: dict[str, Callable[..., Any]] = {
    "integer": parse_int,
    "seconds": parse_seconds,
    "bytes": parse_memory,
}
SETTINGS = {setting.name: setting for setting in get_settings(RunSettings)}


def make_option(setting: Setting) -> Any:
    """Return the declaration of a setting's option, for Typer."""
    if setting.kind == "flag":
        return flag(setting.option, help=setting.help, panel=setting.panel)
    return typer.Option(
        *filter(None, [setting.option, setting.alias]),
        help=setting.help,
        metavar=setting.metavar,
        parser=PARSERS.get(setting.kind),
        autocompletion=COMPLETIONS.get(setting.name) or _complete_choices(setting),
        show_default=setting.shown_default or True,
        rich_help_panel=setting.panel,
    )


def _complete_choices(setting: Setting) -> Callable[[str], list[str]] | None:
    """Return a completion from the choices of a setting; they are found when they are needed."""
    choices = setting.choices
    if choices is None:
        return None

    def complete(incomplete: str) -> list[str]:
        return completion.complete_from(*choices())(incomplete)

    return complete


def get_type(setting: Setting) -> type:
    """Return the type of an option's value; lists are texts with commas."""
    return bool if setting.kind == "flag" else TYPES.get(setting.kind, str)
