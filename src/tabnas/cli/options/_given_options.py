"""Find out which options the command line has, whatever their values."""

from __future__ import annotations

import typer


def list_given_options(context: typer.Context, *, ignore: tuple[str, ...] = ()) -> list[str]:
    """Return the options and arguments of the command line, except for some, as the help has them.

    An option is listed if it is given, even with the value that it has by default.
    """
    names = []
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if source is not None and source.name == "COMMANDLINE":
            is_argument = param.param_type_name == "argument"
            names.append(str(param.metavar) if is_argument else max(param.opts, key=len))
    return [name for name in names if name not in ignore]
