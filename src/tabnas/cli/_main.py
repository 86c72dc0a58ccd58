"""The list of commands, and what happens when one fails."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any

import typer
from typer import Abort, TyperException

import tabnas
from tabnas.cli._errors import (
    INTERNAL_ERROR,
    INTERRUPTED,
    SUCCESS,
    USAGE_ERROR,
    CommandExitError,
    describe_usage_error,
)
from tabnas.cli._help import CommandGroup, add_command, format_examples, show_help
from tabnas.cli._process_group import get_rank_and_size
from tabnas.cli.commands import _paper
from tabnas.cli.commands._count import count
from tabnas.cli.commands._datasets import datasets
from tabnas.cli.commands._encode import encode
from tabnas.cli.commands._evaluate import evaluate
from tabnas.cli.commands._export import export
from tabnas.cli.commands._latency import latency
from tabnas.cli.commands._predict import predict
from tabnas.cli.commands._report import report
from tabnas.cli.commands._resume import resume
from tabnas.cli.commands._search import search
from tabnas.cli.commands._tradeoff import tradeoff
from tabnas.cli.commands._watch import watch
from tabnas.errors import TabNASError
from tabnas.formatting import is_utf8, shorten

MAX_MESSAGE_LENGTH = 2_000
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
DISK_REMEDY = "make room, or write elsewhere"
NAME_TOO_LONG = (
    "the name of a file or folder must have at most 255 bytes, and its path at most 4,096, got a "
    "longer one; shorten it"
)

PANELS: dict[str, list[Callable[..., None]]] = {
    "Find a network": [search, tradeoff, watch, resume],
    "Use a network": [predict, evaluate, export, report],
    "Prepare and explore": [encode, count, latency, datasets],
}
EXAMPLES = """
# search a network for a table, predict with it, export it
tabnas search train.csv --target income --max-parameters 20000
tabnas predict runs/train new.csv --out predictions.csv
tabnas export runs/train income.onnx

# show the options of one command
tabnas search --help"""

app = typer.Typer(
    cls=CommandGroup,
    help="Find the best neural network for a table within a hard resource limit.",
    epilog=format_examples(EXAMPLES),
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for command in commands:
        add_command(app, command, panel=panel)
app.add_typer(_paper.app, name="paper", rich_help_panel=list(PANELS)[-1])
add_command(app, show_help, name="help", panel=list(PANELS)[-1])


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"tabnas {tabnas.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    pass


@cache
def get_root_command() -> Any:
    """Return all commands as one Typer command, which is slow to build."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    command = get_root_command()
    for argument in arguments:
        if not is_utf8(argument):
            print_error(
                f"names and values must be UTF-8, got other bytes in {shorten(argument)!r}; "
                "rename the file"
            )
            return USAGE_ERROR
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print_error(f"note: {message}")
        try:
            code = command.main(arguments, prog_name="tabnas", standalone_mode=False)
            sys.stdout.flush()
        except TyperException as error:
            message = describe_usage_error(error, command, arguments)
            if message:
                print_error(message)
            return error.exit_code
        except TabNASError as error:
            print_error(str(error))
            return USAGE_ERROR
        except CommandExitError as error:
            return error.code
        except (Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except (BrokenPipeError, SystemExit) as error:
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise
            # the reader has closed the pipe, as in `tabnas predict ... | head`
            _discard_output()
            return SUCCESS
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                print_error(NAME_TOO_LONG)
                return USAGE_ERROR
            if error.errno in DISK_ERRORS and error.filename is None:
                _discard_output()
                print_error(f"the output cannot be written ({error.strerror}); {DISK_REMEDY}")
                return USAGE_ERROR
            return _report_bug()
        except Exception:
            return _report_bug()
    if code == INTERRUPTED:  # Typer returns it after Ctrl-C
        print_error("interrupted")
    return code if isinstance(code, int) else SUCCESS


def _discard_output() -> None:
    """Send standard output to nowhere, so that flushing the rest does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_bug() -> int:
    """Print the traceback of an unexpected error, and say that it is a bug."""
    traceback.print_exc()
    print_error("this is a bug of tabnas, not your mistake; please report the lines above")
    return INTERNAL_ERROR


def print_error(message: str) -> None:
    """Print a message to standard error, in one line without control characters.

    Only the first of several processes prints.
    """
    if get_rank_and_size()[0]:
        return
    line = shorten(" ".join(message.splitlines()), MAX_MESSAGE_LENGTH)
    with suppress(OSError):  # the exit code remains
        print(f"tabnas: {line}", file=sys.stderr)
