"""`tabnas resume`: go on with a run that was stopped."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli import _completing as completing
from tabnas.cli._folders import begun, is_finished
from tabnas.cli._options import CheckpointSeconds, Json, Quiet
from tabnas.cli._ranks import refuse_ranks, together
from tabnas.cli._side_by_side import Address, Backend, Processes, make_job_config
from tabnas.cli._text import plain, terminal
from tabnas.decoding import encode
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.cli._running import Manner
    from tabnas.jobs import JobConfig
    from tabnas.runs import Ranks


def resume(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a stopped run.",
            metavar="RUN",
            autocompletion=completing.stopped_runs,
        ),
    ],
    checkpoint_seconds: CheckpointSeconds = 60.0,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped, killed, or lost its machine.

    A run that is finished is shown; if it was killed while it wrote its last files, those are
    written first.

    Any other run ends with the same bits as if nothing had happened. The table and the version of
    tabnas must be those that it began with; everything else is in the folder. The folder may be
    somebody else's: the table that its config.toml names is read, and nothing outside it is
    written. Events for TensorBoard go on, too, if the run has a folder of them. How many processes
    train the candidates of a trade-off is no part of it and is said anew.

    For example:

    # after Ctrl-C, a crash, a lost machine
    tabnas resume runs/income

    # a search of the engine torch, in however many processes
    torchrun --nproc-per-node 4 -m tabnas resume runs/income
    """
    from tabnas.cli._running import Manner

    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    job_config = make_job_config(processes, backend, address)
    manner = Manner(every=checkpoint_seconds, quiet=quiet, as_json=as_json)
    with together() as ranks:
        if ranks.is_first:
            _go_on(run, manner, job_config, ranks)
        else:
            _take_part(ranks)


def _go_on(run: Path, manner: Manner, job_config: JobConfig, ranks: Ranks) -> None:
    from tabnas.cli._running import carry_out
    from tabnas.cli._source import Source
    from tabnas.cli._tradeoff import carry_out_tradeoff, tradeoff_of
    from tabnas.runs import RunFolder, RunSettings, TradeoffFolder, complete_run, load_config

    if is_finished(begun(run)):
        complete_run(run)
        ranks.broadcast(None)
        _show(run, manner)
        return
    before = load_config(run) if (run / "config.toml").exists() else {}
    if "member" in before:
        raise TabNASError(
            f"{str(run)!r} is a part of a trade-off and cannot be gone on with by itself; resume "
            "the folder that it lies in"
        )
    several = tradeoff_of(before)
    if several is None and not job_config.in_process:
        raise TabNASError(
            "--processes and --backend must go on with a trade-off, but "
            f"{str(run)!r} is a run of one limit, which is done in order; leave them out"
        )
    if several is not None:
        refuse_ranks("resume of a trade-off")
    folder = RunFolder(run, resume=True) if several is None else TradeoffFolder(run, resume=True)
    with folder:
        config = load_config(run)
        source = Source.from_dict(config.get("data", {}))
        settings = RunSettings.from_dict(config.get("settings", {}))
        resolved = config.get("plan")
        if several is not None and isinstance(folder, TradeoffFolder):
            carry_out_tradeoff(
                folder, source, settings, manner, *several, job_config=job_config, resolved=resolved
            )
            return
        asked_for = {"data": source.to_dict(), "settings": settings.to_dict()}
        ranks.broadcast({"folder": folder.name, **asked_for})
        events = _has_events(folder.path)
        carry_out(
            folder, source, settings, manner, tensorboard=events, resolved=resolved, ranks=ranks
        )


def _show(run: Path, manner: Manner) -> None:
    """Print what a finished run found."""
    from tabnas.cli._watch import load_finished, show_finished

    if manner.as_json:
        typer.echo(json.dumps(encode(load_finished(run)) | {"folder": str(run)}, indent=2))
    elif not manner.quiet:
        typer.echo(f"tabnas: note: the run in {plain(run, longest=200)} is finished", err=True)
        show_finished(terminal(), run)


def _take_part(ranks: Ranks) -> None:
    """The folder may be on another machine: its first process says what is in it."""
    from tabnas.cli._running import take_part
    from tabnas.cli._source import Source
    from tabnas.runs import RunSettings

    said, _ = ranks.broadcast(None)
    if said is None:  # the run was finished already
        return
    source, settings = Source.from_dict(said["data"]), RunSettings.from_dict(said["settings"])
    take_part(said["folder"], source, settings, ranks)


def _has_events(folder: Path) -> bool:
    """Whether to go on with events for TensorBoard; a machine without it goes on without them."""
    from tabnas.runs import TENSORBOARD, refuse_without_tensorboard

    if not (folder / TENSORBOARD).is_dir():
        return False
    try:
        refuse_without_tensorboard()
    except TabNASError as error:
        warnings.warn(f"no more events are written: {error}", stacklevel=2)
        return False
    return True
