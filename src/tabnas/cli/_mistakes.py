"""What the parser of options complains of, in sentences like ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.exceptions import TyperException

from tabnas.errors import did_you_mean

MUST = {
    r"valid integer": "must be an integer in plain digits",
    r"valid number": "must be a number",
    r"greater than or equal to (\S+)": r"must be at least {}",
    r"less than or equal to (\S+)": r"must be at most {}",
}


def sentence(error: TyperException, arguments: Sequence[str]) -> str:
    """What is wrong with the arguments, and what to do; empty where the help was shown instead."""
    said = error.format_message()
    if not said:
        return ""
    # the parser's own kinds of errors are private to it, what they hold is not
    facts: dict[str, Any] = vars(error)
    advice = f"see {_command(facts)} --help"
    if "possibilities" in facts:
        option, near = facts["option_name"], facts["possibilities"]
        return f"there is no option {option!r}; {did_you_mean(option, near) if near else advice}"
    if facts.get("param") is None and "Did you mean" in said:
        return f"{said[0].lower()}{said[1:].replace('. Did', '; did')}"
    if facts.get("param") is None:
        return f"{said[0].lower()}{said[1:].rstrip('.')}; {advice}"
    parameter = facts["param"]
    name = max(parameter.opts, key=len) if parameter.opts[0].startswith("-") else parameter.metavar
    if not facts["message"]:
        return f"{name} is missing; {advice}"
    given = _given(parameter.opts, arguments)
    for complaint, must in MUST.items():
        found = re.search(complaint, said)
        if found:
            return f"{name} {must.format(*found.groups())}, however {given} was given"
    return f"{name}: {facts['message'].rstrip('.')}; {advice}"


def _command(facts: dict[str, Any]) -> str:
    context = facts.get("ctx")
    return context.command_path if context is not None else "tabnas"


def _given(options: Sequence[str], arguments: Sequence[str]) -> str:
    """What stands after an option."""
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in options:
            return repr(value)
        name, equals, value = argument.partition("=")
        if equals and name in options:
            return repr(value)
    return "something else"
