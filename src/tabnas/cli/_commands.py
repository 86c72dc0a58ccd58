"""How commands are declared, and how their help looks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from tabnas.cli._text import terminal

EXAMPLES = "\nFor example:\n"


class _Help:
    """Help that ends in examples, and says of a flag only what it does."""

    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_bool_flag", False):
                param.metavar = ""  # else: <bool>
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub(r"^\{(.*)\}", r"\1", piece) for piece in pieces]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        examples, self.epilog = self.epilog, None  # which would be taken for Markdown
        super().format_help(ctx, formatter)  # type: ignore[misc]
        self.epilog = examples
        if examples:
            terminal().print(_shown(examples), soft_wrap=True, end="")


class Command(_Help, TyperCommand):
    """One command."""


class Group(_Help, TyperGroup):
    """Several commands under one name."""


def _commands_like(ctx: typer.Context, incomplete: str) -> list[str]:
    """The commands that may come next."""
    group: Any = ctx.find_root().command
    for name in ctx.params.get("command") or []:
        group = getattr(group, "commands", {}).get(name)
    return [name for name in getattr(group, "commands", {}) if name.startswith(incomplete)]


def add(
    app: typer.Typer,
    command: Callable[..., None],
    *,
    name: str | None = None,
    panel: str | None = None,
) -> None:
    """Add a command; what its docstring has after a line `For example:` ends its help."""
    said, _, examples = (inspect.getdoc(command) or "").partition(EXAMPLES)
    declare = app.command(
        name, cls=Command, help=said, epilog=examples.strip() or None, rich_help_panel=panel
    )
    declare(command)


def show_help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="A command, like search or paper toy.",
            metavar="COMMAND",
            show_default="all of them in short",
            autocompletion=_commands_like,
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


def _shown(examples: str) -> Text:
    """Lines for a shell, of which some are comments."""
    lines = Text("\n Examples\n")
    for line in examples.splitlines():
        lines.append(f"   {line}".rstrip() + "\n", style="dim" if line.startswith("#") else "")
    return lines
