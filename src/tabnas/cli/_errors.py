"""Exit codes, and errors of the command line in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tabnas.errors import find_nearest

if TYPE_CHECKING:
    from typer import TyperException

SUCCESS, INTERNAL_ERROR, USAGE_ERROR, RANK_LOST, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143


class CommandExitError(Exception):
    """Ends a command with an exit code, after it has printed the reason."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def describe_usage_error(error: TyperException, root: Any, arguments: Sequence[str]) -> str:
    """Return Typer's complaint in one sentence; empty if Typer has shown the help instead.

    An unknown option gets the nearest known one as a hint.
    """
    message = error.format_message()
    if not message:
        return ""
    path, command = _find_command(root, arguments)
    advice = f"see {path} --help"
    option = getattr(error, "option_name", None)
    if isinstance(option, str) and hasattr(error, "possibilities"):
        return _describe_unknown_option(option, command, arguments, advice)
    # Typer puts "Value error, " before the message of a ValueError from a parser
    message = message.replace("Value error, ", "", 1).rstrip(".")
    message = f"{message[0].lower()}{message[1:]}"
    return message if message.endswith("?") else f"{message}; {advice}"


def _find_command(command: Any, arguments: Sequence[str]) -> tuple[str, Any]:
    """Return the command that the arguments name, and how it is called."""
    path = "tabnas"
    for argument in arguments:
        subcommands = getattr(command, "commands", {})
        if argument in subcommands:
            command, path = subcommands[argument], f"{path} {argument}"
        elif not argument.startswith("-"):
            break
    return path, command


def _describe_unknown_option(
    option: str, command: Any, arguments: Sequence[str], advice: str
) -> str:
    for argument in arguments:  # Typer reads -target as -t
        if not option.startswith("--") and argument.startswith(option) and len(argument) > 2:
            option = argument.partition("=")[0]
    known = [name for param in command.params for name in param.opts if name.startswith("--")]
    near = find_nearest(f"--{option.lstrip('-')}", known, cutoff=0.7) if len(option) > 2 else None
    return f"there is no option {option!r}; {f'did you mean {near!r}?' if near else advice}"
