"""How commands are declared, so that their help ends in examples; and `tabnas help`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

EXAMPLES = "\nFor example:\n"
"""The line of a docstring after which examples follow."""


class Command(TyperCommand):
    """A command whose help has no `<bool>` beside flags and no `{}` around arguments."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class CommandGroup(TyperGroup):
    """A group of commands with the same help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


def _hide_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    *,
    name: str | None = None,
    panel: str | None = None,
) -> None:
    """Add a command. Its docstring is the help, in which examples come last."""
    text, _, examples = (inspect.getdoc(command) or "").partition(EXAMPLES)
    declare = app.command(
        name, cls=Command, help=text, epilog=format_examples(examples), rich_help_panel=panel
    )
    declare(command)


def format_examples(examples: str) -> str:
    """Return shell commands and comments as Markdown, for the end of the help."""
    return f"**Examples**\n\n```sh\n{examples.strip()}\n```"


def complete_command(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a command, or of a subcommand after it."""
    group: Any = ctx.find_root().command
    for name in ctx.params.get("command") or []:
        group = getattr(group, "commands", {}).get(name)
    return [name for name in getattr(group, "commands", {}) if name.startswith(incomplete)]


def show_help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="A command, like search or paper toy.",
            metavar="COMMAND",
            show_default="list all commands",
            autocompletion=complete_command,
        ),
    ] = None,
) -> None:
    """Show the help of a command.

    The same as `tabnas COMMAND --help`.

    For example:

    tabnas help search
    tabnas help paper toy
    """
    root = ctx.find_root()
    root.command.main([*(command or []), "--help"], prog_name="tabnas", standalone_mode=False)
