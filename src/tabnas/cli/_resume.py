"""`tabnas resume`: go on with a run that was stopped."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._options import CheckpointSeconds, Json
from tabnas.errors import TabnasError


def resume(
    run: Annotated[Path, typer.Argument(help="The folder of a stopped run.", metavar="RUN")],
    checkpoint_seconds: CheckpointSeconds = 60.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped, killed, or lost its machine.

    It ends with the same bits as if nothing had happened. The table and the version of tabnas must
    be those that it began with; everything else is in the folder. The folder may be somebody
    else's: the table that its config.toml names is read, and nothing outside it is written. Events
    for TensorBoard go on, too, if the run has a folder of them.

        tabnas resume runs/income
    """
    from tabnas.cli._running import Manner, carry_out
    from tabnas.cli._source import Source
    from tabnas.cli._tradeoff import carry_out_tradeoff, tradeoff_of
    from tabnas.runs import RunFolder, RunSettings, TradeoffFolder, load_config

    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    begun = load_config(run) if (run / "config.toml").exists() else {}
    if "member" in begun:
        raise TabnasError(
            f"{str(run)!r} is a part of a trade-off and cannot be gone on with by itself; resume "
            "the folder that it lies in"
        )
    several = tradeoff_of(begun)
    folder = RunFolder(run, resume=True) if several is None else TradeoffFolder(run, resume=True)
    with folder:
        config = load_config(run)
        source = Source.from_dict(config.get("data", {}))
        settings = RunSettings.from_dict(config.get("settings", {}))
        resolved = config.get("plan")
        manner = Manner(every=checkpoint_seconds, quiet=quiet, as_json=as_json)
        if several is not None and isinstance(folder, TradeoffFolder):
            carry_out_tradeoff(folder, source, settings, manner, *several, resolved=resolved)
            return
        events = _has_events(folder.path)
        carry_out(folder, source, settings, manner, tensorboard=events, resolved=resolved)


def _has_events(folder: Path) -> bool:
    """Whether to go on with events for TensorBoard; a machine without it goes on without them."""
    from tabnas.runs import TENSORBOARD, refuse_without_tensorboard

    if not (folder / TENSORBOARD).is_dir():
        return False
    try:
        refuse_without_tensorboard()
    except TabnasError as error:
        warnings.warn(f"no more events are written: {error}", stacklevel=2)
        return False
    return True
