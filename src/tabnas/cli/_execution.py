"""Execute a run: progress while it works, checkpoints, a summary at the end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tabnas.cli._errors import INTERRUPTED, RANK_LOST, TERMINATED, CommandExitError
from tabnas.cli._ranks import recovery_advice, resume_command
from tabnas.cli._source import Source
from tabnas.cli.display._formatting import make_console, sanitize
from tabnas.decoding import encode

if TYPE_CHECKING:
    from tabnas.runs import Ranks, RunFolder, RunSettings


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What a run prints, and how often it writes a checkpoint."""

    checkpoint_seconds: float
    quiet: bool
    as_json: bool


@contextmanager
def report_interruption(
    console: Console, folder: str, ranks: Ranks | None = None
) -> Iterator[None]:
    """Print how to continue when the work is stopped or a process is lost, and exit."""
    from tabnas.nets import LostRankError
    from tabnas.runs import SINGLE_PROCESS, RunStopped

    ranks = ranks or SINGLE_PROCESS
    try:
        yield
    except RunStopped as stopped:
        if ranks.is_reporter():
            message = f"tabnas: stopped; continue with: {resume_command(folder, ranks)}"
            console.print(message, markup=False, soft_wrap=True)
        code = TERMINATED if stopped.signal == signal.SIGTERM else INTERRUPTED
        raise CommandExitError(code) from None
    except LostRankError as error:
        if ranks.is_reporter():
            message = f"tabnas: {error}; {recovery_advice(folder, ranks)}"
            console.print(message, markup=False, soft_wrap=True)
        raise CommandExitError(RANK_LOST) from None


def execute_run(
    folder: RunFolder,
    source: Source,
    settings: RunSettings,
    output: OutputOptions,
    *,
    tensorboard: bool = False,
    resolved: Mapping[str, Any] | None = None,
    ranks: Ranks | None = None,
) -> None:
    """Execute a run or the rest of it; with several processes, as the first of them."""
    from tabnas.cli.display._progress import run_progress
    from tabnas.cli.display._run_summary import print_result
    from tabnas.runs import SINGLE_PROCESS, EventLog, StatusFile

    ranks = ranks or SINGLE_PROCESS
    console = make_console(stderr=True)
    cost = next(iter(settings.limits))
    with ExitStack() as log:
        with (
            report_interruption(console, folder.name, ranks),
            run_progress(console, quiet=output.quiet or output.as_json, cost=cost) as show,
        ):
            live = StatusFile(folder.path, show)
            run = source.plan(settings, resolved, observe=live, ranks=ranks)
            config = {"data": source.to_dict(), "settings": settings.to_dict()}
            config |= {"plan": run.plan.resolved}
            checkpoint = folder.begin(run, config, every=output.checkpoint_seconds, ranks=ranks)
            live.set_plan(run)
            if checkpoint.note:
                console.print(f"tabnas: note: {sanitize(checkpoint.note)}", markup=False)
            events = log.enter_context(EventLog(folder.path, run, live)) if tensorboard else None
            outcome = run.execute(events or live, checkpoint)
        result = folder.finish(outcome)
        if events is not None:
            events.finish(result)
    if output.as_json:
        typer.echo(json.dumps(encode(result) | {"folder": folder.name}, indent=2))
    elif not output.quiet:
        print_result(make_console(), result, folder.name)


def run_secondary_rank(folder: str, source: Source, settings: RunSettings, ranks: Ranks) -> None:
    """Execute the same run in another process; the first one writes the folder and prints."""
    from tabnas.runs import RunCheckpoint

    with report_interruption(make_console(stderr=True), folder, ranks):
        run = source.plan(settings, ranks=ranks)
        run.assist(RunCheckpoint(identity=run.identity(), ranks=ranks))
