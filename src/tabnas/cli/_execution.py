"""Execute a run: progress while it works, checkpoints, a summary at the end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tabnas.cli._data_source import DataSource
from tabnas.cli._errors import INTERRUPTED, RANK_LOST, TERMINATED, CommandExitError
from tabnas.cli._process_group import recovery_advice, resume_command
from tabnas.cli._run_folders import is_resumable
from tabnas.cli.display._formatting import make_console
from tabnas.decoding import to_builtins
from tabnas.formatting import sanitize
from tabnas.processes import use_processes
from tabnas.threads import get_threads

if TYPE_CHECKING:
    from tabnas.jobs import JobConfig
    from tabnas.results import RunResult, TradeoffResult
    from tabnas.runs import ProcessGroup, RunCheckpoint, RunFolder
    from tabnas.settings import RunSettings, TradeoffSettings


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What a run prints, and how often it writes a checkpoint."""

    checkpoint_seconds: float = 60.0
    quiet: bool = False
    as_json: bool = False


@contextmanager
def report_interruption(
    console: Console, folder: str, process_group: ProcessGroup | None = None
) -> Iterator[None]:
    """Print how to continue when the work is stopped or a process is lost, and exit."""
    from tabnas.nets import LostRankError
    from tabnas.runs import SINGLE_PROCESS, RunStopped

    process_group = process_group or SINGLE_PROCESS

    def report(message: str) -> None:
        if process_group.elect_reporter():
            console.print(f"tabnas: {message}", markup=False, soft_wrap=True)

    stopped_message = f"stopped; continue with: {resume_command(folder, process_group)}"
    try:
        yield
    except RunStopped as stopped:
        report(stopped_message)
        code = TERMINATED if stopped.signal == signal.SIGTERM else INTERRUPTED
        raise CommandExitError(code) from None
    except (LostRankError, SystemExit, KeyboardInterrupt) as error:
        # SIGTERM, which exits, may come from the launcher while an error is on its way here
        lost = next((each for each in _contexts(error) if isinstance(each, LostRankError)), None)
        if lost is not None:
            report(f"{lost}; {recovery_advice(folder, process_group)}")
            raise CommandExitError(RANK_LOST) from None
        if process_group.size > 1:
            raise
        # a signal before there was anything to save, or a second one, which does not wait for that
        is_interrupt = isinstance(error, KeyboardInterrupt)
        is_termination = isinstance(error, SystemExit) and error.code == TERMINATED
        if is_resumable(Path(folder)) and (is_interrupt or is_termination):
            report(stopped_message)
        elif is_interrupt:
            report("interrupted, and nothing was written")
        if is_interrupt:
            raise CommandExitError(INTERRUPTED) from None
        raise


def _contexts(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, the one that was handled when it was raised, and so on."""
    while error is not None:
        yield error
        error = error.__context__


def execute(
    folder: RunFolder,
    source: DataSource,
    settings: RunSettings,
    output: OutputOptions,
    *,
    tradeoff: TradeoffSettings | None = None,
    saved_plan: Mapping[str, Any] | None = None,
    tensorboard: bool = False,
    process_group: ProcessGroup | None = None,
    job_config: JobConfig | None = None,
) -> None:
    """Execute a run or a trade-off, or the rest of it, and print the result.

    With several processes, this is the work of the first.
    """
    from tabnas.cli.display._progress import run_progress
    from tabnas.model import import_boosted_trees
    from tabnas.runs import SINGLE_PROCESS, StatusFile, execute_in_folder

    process_group = process_group or SINGLE_PROCESS
    is_parallel = get_threads() > 1 and process_group.size == 1
    console = make_console(stderr=True)
    config = {"data": source.to_dict(), "settings": settings.to_dict()}
    if tradeoff is not None:
        config["tradeoff"] = tradeoff.to_dict()

    def print_note(checkpoint: RunCheckpoint) -> None:
        if checkpoint.note:
            console.print(f"tabnas: note: {sanitize(checkpoint.note)}", markup=False)

    cost = next(iter(settings.limits)) if tradeoff is None else tradeoff.cost
    with (
        report_interruption(console, folder.name, process_group),
        run_progress(console, quiet=output.quiet or output.as_json, cost=cost) as on_progress,
        # while this process reads the table, another gets ready for the first trees
        use_processes(import_boosted_trees) if is_parallel else nullcontext(),
    ):
        status = StatusFile(folder.path, on_progress)
        planned = source.load_and_plan(
            settings,
            tradeoff,
            saved_plan=saved_plan,
            on_progress=status,
            process_group=process_group,
        )
        _, result = execute_in_folder(
            folder,
            planned,
            config,
            status=status,
            on_begin=print_note,
            checkpoint_seconds=output.checkpoint_seconds,
            tensorboard=tensorboard,
            process_group=process_group,
            job_config=job_config,
        )
    print_result(result, folder.name, output)


def print_result(result: RunResult | TradeoffResult, folder: str, output: OutputOptions) -> None:
    """Print the result of a run or a trade-off as the options say."""
    from tabnas.cli.display._run_summary import print_run
    from tabnas.cli.display._tradeoff_summary import print_tradeoff
    from tabnas.results import TradeoffResult

    if output.as_json:
        typer.echo(json.dumps(to_builtins(result) | {"folder": folder}, indent=2))
    elif output.quiet:
        return
    elif isinstance(result, TradeoffResult):
        print_tradeoff(make_console(), result, folder)
    else:
        print_run(make_console(), result, folder)


def print_plan(
    source: DataSource,
    settings: RunSettings,
    output: OutputOptions,
    tradeoff: TradeoffSettings | None = None,
) -> None:
    """Print what a run or a trade-off would do."""
    from tabnas.cli.display._plan_summary import describe_planned, print_planned
    from tabnas.cli.display._progress import run_progress

    quiet = output.quiet or output.as_json
    with run_progress(make_console(stderr=True), quiet=quiet, cost="") as on_progress:
        description = describe_planned(
            source.load_and_plan(settings, tradeoff, on_progress=on_progress)
        )
    if output.as_json:
        typer.echo(json.dumps(description, indent=2))
    else:
        print_planned(make_console(), description)


def run_secondary_process(
    folder: str, source: DataSource, settings: RunSettings, process_group: ProcessGroup
) -> None:
    """Execute the same run in another process; the first one writes the folder and prints."""
    from tabnas.runs import PlannedRun, RunCheckpoint

    with report_interruption(make_console(stderr=True), folder, process_group):
        run = source.load_and_plan(settings, process_group=process_group)
        assert isinstance(run, PlannedRun)
        run.assist(RunCheckpoint(identity=run.identity(), process_group=process_group))
