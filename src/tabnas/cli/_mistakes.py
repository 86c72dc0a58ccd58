"""What the parser of options complains of, in sentences like ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer import TyperException

from tabnas.cli._text import plain
from tabnas.errors import find_nearest

OURS = "Value error, "
"""What a complaint of our own parsers begins with, by the time it comes here."""


def sentence(error: TyperException, command: Any, arguments: Sequence[str]) -> str:
    """What is wrong with the arguments, and what to do; empty where the help was shown instead."""
    said = error.format_message()
    if not said:
        return ""
    path, named = _command(command, arguments)
    advice = f"see {path} --help"
    try:
        better = _in_our_words(error, said, named, arguments, advice)
    except (AttributeError, IndexError, KeyError, TypeError):
        better = None
    return better or f"{said[0].lower()}{said[1:].rstrip('.')}; {advice}"


def _in_our_words(
    error: TyperException, said: str, named: Any, arguments: Sequence[str], advice: str
) -> str | None:
    """The complaint in a sentence like ours, or None if it is not one of those that are known.

    Typer does not promise which attributes its errors have, nor their texts: another version may
    raise here, or say something else, and is then left to speak for itself.
    """
    facts: dict[str, Any] = vars(error)
    parameter = facts.get("param")
    if "possibilities" in facts:
        return _no_such_option(facts["option_name"], named, arguments, advice)
    if "option_name" in facts and "not take a value" in said:
        return f"{facts['option_name']} takes no value, got one; {advice}"
    if "option_name" in facts and "requires" in said:
        option = facts["option_name"]
        return f"{option} must be followed by a value, got none; {advice}"
    if parameter is None and "Did you mean" in said:
        return f"{said[0].lower()}{said[1:].replace('. Did', '; did')}"
    if parameter is None and "unexpected extra" in said:
        return _too_many(said, named, advice)
    if parameter is None:
        return None
    name = max(parameter.opts, key=len) if parameter.opts[0].startswith("-") else parameter.metavar
    name = name or parameter.name.upper()
    if not facts["message"]:
        return f"{name} is missing; {advice}"
    must, _, hint = facts["message"].removeprefix(OURS).rstrip(".").partition("; ")
    if facts["message"].startswith(OURS):
        given = _given(parameter.opts, arguments)
        return f"{name} {must}, got {given}{'; ' if hint else ''}{hint}"
    return f"{name}: {must}; {advice}"


def _command(command: Any, arguments: Sequence[str]) -> tuple[str, Any]:
    """The command that was meant, and how it is called."""
    path = "tabnas"
    for argument in arguments:
        inside = getattr(command, "commands", {})
        if argument in inside:
            command, path = inside[argument], f"{path} {argument}"
        elif not argument.startswith("-"):
            break
    return path, command


def _no_such_option(option: str, command: Any, arguments: Sequence[str], advice: str) -> str:
    """An option that there is not; -target is read as -t, which is not what was meant."""
    for argument in arguments:
        if not option.startswith("--") and argument.startswith(option) and len(argument) > 2:
            option = argument.partition("=")[0]
    known = [name for one in command.params for name in one.opts if name.startswith("--")]
    near = find_nearest(f"--{option.lstrip('-')}", known, cutoff=0.7) if len(option) > 2 else None
    return f"there is no option {option!r}; {f'did you mean {near!r}?' if near else advice}"


def _too_many(said: str, command: Any, advice: str) -> str | None:
    """Words that no argument is left for; the first may be what belongs behind --target."""
    extra = plain(said.partition("(")[2].partition("(")[2].rstrip(")").split(" ")[0])
    if not extra:
        return None
    wanted = [one.metavar or one.name for one in command.params if not one.opts[0].startswith("-")]
    takes = f"takes {' and '.join(wanted)}" if wanted else "takes no arguments"
    options = [name for one in command.params for name in one.opts]
    hint = f"did you mean --target {extra}?" if "--target" in options else advice
    return f"{command.name} {takes}, got {extra!r} besides; {hint}"


def _given(options: Sequence[str], arguments: Sequence[str]) -> str:
    """What stands after an option."""
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in options:
            return repr(value)
        name, equals, value = argument.partition("=")
        if equals and name in options:
            return repr(value)
    return "something else"
