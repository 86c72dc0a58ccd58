"""Generate the reference of the command line from the commands themselves.

In a page, `<!-- commands: tabnas -->` is replaced by every command of `tabnas`, and
`<!-- commands: tabnas paper -->` by every command of `tabnas paper`. Commands with the same options
share one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, get_args

import typer

MARK = re.compile(r"<!-- commands: (.*?) -->")
OPTION = re.compile(r"(?<![\w`-])--[a-z][a-z-]*")
SEVERAL = -1
WORDS = {"str": "text", "int": "integer", "float": "number", "path": "path"}


def on_page_markdown(markdown: str, **_: object) -> str:
    return MARK.sub(lambda found: "\n\n".join(describe_commands(found[1])), markdown)


def describe_commands(name: str) -> Iterator[str]:
    """Yield the Markdown of the commands directly below `name`, one section each."""
    group = command(name)
    options: dict[str, str] = {}  # by table, the first command that has it
    for word, below in group.commands.items():
        if hasattr(below, "commands"):  # has its own page
            continue
        full = f"{name} {word}"
        yield f"## `{full}`"
        yield f"```\n{usage(full, below)}\n```"
        yield str(below.help).strip()
        table = "\n".join(rows(below))
        if table in options:
            yield f"Options: those of [`{options[table]}`](#{anchor(options[table])})."
        elif visible_parameters(below):
            options[table] = full
            yield table


def command(name: str) -> Any:
    from tabnas.cli._main import app

    found: Any = typer.main.get_command(app)
    for word in name.split()[1:]:
        found = found.commands[word]
    return found


def anchor(name: str) -> str:
    return name.replace(" ", "-")


def usage(name: str, below: Any) -> str:
    """Return the command with its arguments and its required options."""
    words = [name]
    for parameter in visible_parameters(below):
        if not is_option(parameter):
            word = placeholder(parameter) + ("..." if parameter.nargs == SEVERAL else "")
            words.append(word if parameter.required else f"[{word}]")
        elif parameter.required:
            words.append(f"{parameter.opts[0]} {placeholder(parameter)}")
    return " ".join([*words, "[OPTIONS]"])


def placeholder(parameter: Any) -> str:
    """Return the placeholder of its value."""
    name = parameter.opts[0] if is_option(parameter) else parameter.name
    return str(parameter.metavar or name.lstrip("-").upper())


def visible_parameters(below: Any) -> list[Any]:
    return [parameter for parameter in below.params if not parameter.hidden]


def is_option(parameter: Any) -> bool:
    return str(parameter.opts[0]).startswith("-")


def rows(below: Any) -> Iterator[str]:
    """Yield the rows of a table, grouped like the help: arguments, options, other panels."""
    titles = {parameter: panel(parameter) for parameter in visible_parameters(below)}
    order = ["Arguments", "Options", *titles.values()]
    listed = sorted(titles, key=lambda parameter: order.index(titles[parameter]))
    for number, (title, members) in enumerate(groupby(listed, key=titles.__getitem__)):
        yield f"| **{title}** | | |"
        if number == 0:
            yield "|:--|:--|:--|"
        yield from map(row, members)


def panel(parameter: Any) -> str:
    return parameter.rich_help_panel or ("Options" if is_option(parameter) else "Arguments")


def row(parameter: Any) -> str:
    names = (
        [*parameter.opts, *parameter.secondary_opts]
        if is_option(parameter)
        else [placeholder(parameter)]
    )
    text = OPTION.sub(r"`\g<0>`", " ".join(str(parameter.help or "").split()))
    if default(parameter):
        text += f" *Default: {default(parameter)}.*"
    if parameter.required:
        text += " *Required.*"
    cells = (", ".join(f"`{name}`" for name in names), value_type(parameter), text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def value_type(parameter: Any) -> str:
    """Return the type of its value; an empty string for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    if is_option(parameter) and parameter.metavar:
        return f"`{parameter.metavar}`"
    [kind] = get_args(parameter.type_descriptor.annotation) or [
        parameter.type_descriptor.annotation
    ]
    word = WORDS.get(kind.__name__.lower(), kind.__name__.lower())
    if parameter.min is not None:
        word += f" ≥ {parameter.min:g}"
    if parameter.max is not None:
        word += f" ≤ {parameter.max:g}"
    return word


def default(parameter: Any) -> str:
    """Return the default as text; an empty string if it need not be shown."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if not parameter.show_default or parameter.default is None or parameter.default is False:
        return ""
    return f"`{parameter.default}`"
