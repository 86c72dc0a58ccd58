"""How commands are declared, so that their help ends in examples; and `tabnas help`."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tabnas.errors import TabNASError

EXAMPLES = "\nFor example:\n"
"""The line of a docstring after which examples follow."""


class Command(TyperCommand):
    """A command that refuses repeated options.

    Its help has no `<bool>` beside flags and no `{}` around arguments.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)  # parsing empties the list
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _, _, params = self.make_parser(ctx).parse_args(given)
            _refuse_repeated_options(params)
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class CommandGroup(TyperGroup):
    """A group of commands with the same help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


def _refuse_repeated_options(params: list[Any]) -> None:
    """Refuse an option with one value that is given twice; Typer takes the last of its values.

    Flags can be repeated.
    """
    for param, times in Counter(params).items():
        if times > 1 and not (param.multiple or getattr(param, "is_flag", False)):
            raise TabNASError(
                f"{max(param.opts, key=len)} must be given once, got it "
                f"{'twice' if times == 2 else f'{times} times'}; keep one"
            )


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
