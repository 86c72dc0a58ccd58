"""`tabnas resume`: continue a run that was stopped."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli._process_group import check_single_process, join_process_group
from tabnas.cli._run_folders import check_resumable, is_finished
from tabnas.cli.options import _completion as completion
from tabnas.cli.options._shared import (
    Address,
    Backend,
    CheckpointSeconds,
    Json,
    Processes,
    Quiet,
    Threads,
    make_job_config,
)
from tabnas.errors import TabNASError
from tabnas.formatting import sanitize
from tabnas.threads import limit_threads

if TYPE_CHECKING:
    from tabnas.cli._execution import OutputOptions
    from tabnas.jobs import JobConfig
    from tabnas.runs import ProcessGroup


def resume(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a stopped run.",
            metavar="RUN",
            autocompletion=completion.list_stopped_runs,
        ),
    ],
    threads: Threads = None,
    checkpoint_seconds: CheckpointSeconds = 60.0,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue a run that was stopped or killed.

    The result is the same, bit for bit, as without the interruption. The table and the version of
    tabnas must not have changed; everything else is in the folder. The command reads the table that
    config.toml names, and writes only inside the folder.

    Settings of the run stay as they were, including events for TensorBoard. The numbers of threads
    and processes are not among them, so give them again.

    If the run is finished, its result is printed. Files that were missing at the end are written
    first.

    For example:

    # after Ctrl-C or a crash
    tabnas resume runs/income

    # a search with the engine torch, in any number of processes
    torchrun --nproc-per-node 4 -m tabnas resume runs/income
    """
    from tabnas.cli._execution import OutputOptions

    if quiet:
        warnings.simplefilter("ignore")  # for the rest of the process
    job_config = make_job_config(processes, backend, address)
    output = OutputOptions(checkpoint_seconds=checkpoint_seconds, quiet=quiet, as_json=as_json)
    with limit_threads(threads), join_process_group() as process_group:
        if process_group.is_first:
            _resume(run, output, job_config, process_group)
        else:
            _join_as_secondary(process_group)


def _resume(
    run: Path, output: OutputOptions, job_config: JobConfig, process_group: ProcessGroup
) -> None:
    from tabnas.cli._data_source import DataSource
    from tabnas.cli._execution import execute
    from tabnas.runs import (
        RunFolder,
        RunSettings,
        TradeoffFolder,
        TradeoffSettings,
        complete_run,
        describe_resumption,
        load_config,
    )

    if is_finished(check_resumable(run)):
        complete_run(run)
        process_group.broadcast(None)
        _print_finished(run, output)
        return
    before = load_config(run) if (run / "config.toml").exists() else {}
    if "member" in before:
        raise TabNASError(
            f"{str(run)!r} is a part of a trade-off and cannot be resumed by itself; resume the "
            "folder that contains it"
        )
    if "settings" in before and "data" not in before:
        raise TabNASError(
            f"{str(run)!r} was begun in Python, where its rows are; {describe_resumption(run)}"
        )
    section = before.get("tradeoff")
    tradeoff = None if section is None else TradeoffSettings.from_dict(section)
    if tradeoff is None and not job_config.in_process:
        raise TabNASError(
            f"--processes and --backend must be used with a trade-off, but {str(run)!r} is a run "
            "of one limit; remove them"
        )
    if tradeoff is not None:
        check_single_process("resume", " with a trade-off")
    with (RunFolder if tradeoff is None else TradeoffFolder)(run, resume=True) as folder:
        config = load_config(run)
        source = DataSource.from_dict(config.get("data", {}))
        settings = RunSettings.from_dict(config.get("settings", {}))
        if tradeoff is None:
            message = {"data": source.to_dict(), "settings": settings.to_dict()}
            process_group.broadcast({"folder": folder.name, **message})
        execute(
            folder,
            source,
            settings,
            output,
            tradeoff=tradeoff,
            saved_plan=config.get("plan"),
            tensorboard=tradeoff is None and _continue_events(folder.path),
            process_group=process_group,
            job_config=job_config,
        )


def _print_finished(run: Path, output: OutputOptions) -> None:
    """Print the result of a finished run."""
    from tabnas.cli.commands._watch import print_finished

    if not (output.as_json or output.quiet):
        note = f"tabnas: note: the run in {sanitize(run, max_length=200)} is finished"
        typer.echo(note, err=True)
    print_finished(run, output)


def _join_as_secondary(process_group: ProcessGroup) -> None:
    """Take part as another process; the first sends what is in the folder."""
    from tabnas.cli._data_source import DataSource
    from tabnas.cli._execution import run_secondary_process
    from tabnas.runs import RunSettings

    message, _ = process_group.broadcast(None)
    if message is None:  # the run was finished already
        return
    source, settings = (
        DataSource.from_dict(message["data"]),
        RunSettings.from_dict(message["settings"]),
    )
    run_secondary_process(message["folder"], source, settings, process_group)


def _continue_events(folder: Path) -> bool:
    """Return whether to continue events for TensorBoard; warn if it is not installed."""
    from tabnas.runs import TENSORBOARD, check_tensorboard

    if not (folder / TENSORBOARD).is_dir():
        return False
    try:
        check_tensorboard()
    except TabNASError as error:
        warnings.warn(f"no more events are written: {error}", stacklevel=2)
        return False
    return True
