"""The entry point: commands, exit codes, and errors in one sentence."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer import Abort, TyperException

import tabnas
from tabnas.cli import _paper
from tabnas.cli._commands import Group, add, show_help
from tabnas.cli._count import count
from tabnas.cli._datasets import datasets
from tabnas.cli._encode import encode
from tabnas.cli._ending import INTERRUPTED, MISTAKE, TERMINATED, EndedError
from tabnas.cli._evaluate import evaluate
from tabnas.cli._export import export
from tabnas.cli._latency import latency
from tabnas.cli._mistakes import sentence
from tabnas.cli._predict import predict
from tabnas.cli._ranks import launched
from tabnas.cli._report import report
from tabnas.cli._resume import resume
from tabnas.cli._search import search
from tabnas.cli._text import is_text, plain
from tabnas.cli._tradeoff import tradeoff
from tabnas.cli._watch import watch
from tabnas.errors import TabNASError

DONE, FAULT = 0, 1
LONGEST_MESSAGE = 2_000
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
MAKE_ROOM = "make room, or write elsewhere"
TOO_LONG = (
    "the name of a file or folder must have at most 255 bytes, and its path 4,096, got a longer "
    "one; shorten it"
)

PANELS: dict[str, list[Callable[..., None]]] = {
    "Find a network": [search, tradeoff, watch, resume],
    "Use it": [predict, evaluate, export, report],
    "Prepare and look around": [encode, count, latency, datasets],
}
EXAMPLES = """\
# from a table and a limit to a model, its report and its ONNX file
tabnas search train.csv --target income --max-parameters 20000
tabnas predict runs/train new.csv --out predictions.csv
tabnas export runs/train income.onnx

# all about one command
tabnas search --help"""

app = typer.Typer(
    cls=Group,
    help="The best neural network for a table inside a hard resource limit.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for command in commands:
        add(app, command, panel=panel)
app.add_typer(_paper.app, name="paper", rich_help_panel=list(PANELS)[-1])
add(app, show_help, name="help", panel=list(PANELS)[-1])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabnas {tabnas.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    # to be told to end is no reason to leave something half-written
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    sys.exit(run(sys.argv[1:]))


@cache
def _whole() -> Any:
    """All commands as one, which takes a while to put together."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    command = _whole()
    for argument in arguments:
        if not is_text(argument):
            say(
                f"names and values must be written in UTF-8, got {plain(argument)!r} with other "
                "bytes; rename the file"
            )
            return MISTAKE
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: say(f"note: {message}")
        try:
            code = command.main(arguments, prog_name="tabnas", standalone_mode=False)
            sys.stdout.flush()
        except TyperException as error:
            said = sentence(error, command, arguments)
            if said:
                say(said)
            return error.exit_code
        except TabNASError as error:
            say(str(error))
            return MISTAKE
        except EndedError as ended:
            return ended.code
        except (Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except (BrokenPipeError, SystemExit) as error:
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise
            # whoever reads has enough, as in `tabnas predict ... | head`
            _discard_output()
            return DONE
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                say(TOO_LONG)
                return MISTAKE
            if error.errno in NO_ROOM and error.filename is None:
                _discard_output()
                say(f"the output cannot be written ({error.strerror}); {MAKE_ROOM}")
                return MISTAKE
            return _fault()
        except Exception:
            return _fault()
    if code == INTERRUPTED:  # so Typer reports it
        say("interrupted, and nothing was written")
    return code if isinstance(code, int) else DONE


def _discard_output() -> None:
    """Let standard output lead nowhere, so that what is left in it fails no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fault() -> int:
    """Print the error that is handled just now, with the lines that led to it."""
    traceback.print_exc()
    say("this is a fault of tabnas, not of yours; the lines above help to mend it")
    return FAULT


def say(message: str) -> None:
    """One line to standard error, without anything that a terminal would obey.

    Of several processes that all have the same to say, the first does.
    """
    if launched()[0]:
        return
    line = plain(" ".join(message.splitlines()), longest=LONGEST_MESSAGE)
    with suppress(OSError):  # the exit code says it, too
        print(f"tabnas: {line}", file=sys.stderr)
