"""The entry point: commands, exit codes, and errors in one sentence."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from typer.exceptions import Abort, TyperException

import tabnas
from tabnas.cli import _paper
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
from tabnas.cli._text import plain
from tabnas.cli._tradeoff import tradeoff
from tabnas.cli._watch import watch
from tabnas.errors import TabnasError

DONE, FAULT = 0, 1
LONGEST_MESSAGE = 2_000

app = typer.Typer(
    help="The best neural network for a table inside a hard resource limit.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(search)
app.command()(tradeoff)
app.command()(encode)
app.command()(watch)
app.command()(resume)
app.command()(predict)
app.command()(evaluate)
app.command()(export)
app.command()(report)
app.command()(count)
app.command()(latency)
app.command()(datasets)
app.add_typer(_paper.app, name="paper")


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


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    command = typer.main.get_command(app)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: say(f"note: {message}")
        try:
            code = command.main(arguments, prog_name="tabnas", standalone_mode=False)
            sys.stdout.flush()
        except TyperException as error:
            if sentence(error, arguments):
                say(sentence(error, arguments))
            return error.exit_code
        except TabnasError as error:
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
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except Exception:
            traceback.print_exc()
            say("this is a fault of tabnas, not of yours; the lines above help to mend it")
            return FAULT
    if code == INTERRUPTED:  # so Typer reports it
        say("interrupted, and nothing was written")
    return code if isinstance(code, int) else DONE


def say(message: str) -> None:
    """One line to standard error, without anything that a terminal would obey.

    Of several processes that all have the same to say, the first does.
    """
    if launched()[0]:
        return
    line = plain(" ".join(message.splitlines()), longest=LONGEST_MESSAGE)
    print(f"tabnas: {line}", file=sys.stderr)
