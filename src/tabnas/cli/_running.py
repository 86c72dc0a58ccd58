"""A run carried out for people: progress, checkpoints, the summary at the end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tabnas.cli._ending import INTERRUPTED, LOST, TERMINATED, EndedError
from tabnas.cli._ranks import again, what_to_do
from tabnas.cli._source import Source
from tabnas.cli._text import plain, terminal
from tabnas.decoding import encode

if TYPE_CHECKING:
    from tabnas.runs import Ranks, RunFolder, RunSettings


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a command goes about its work, whatever the work is."""

    every: float  # seconds from one checkpoint to the next
    quiet: bool
    as_json: bool


@contextmanager
def stoppable(console: Console, folder: str, ranks: Ranks | None = None) -> Iterator[None]:
    """Work that says how to go on with it when it is asked to stop, or loses a process."""
    from tabnas.nets import LostRankError
    from tabnas.runs import SINGLE_PROCESS, RunStopped

    ranks = ranks or SINGLE_PROCESS
    try:
        yield
    except RunStopped as stopped:
        if ranks.is_reporter():
            said = f"tabnas: stopped; go on with: {again(folder, ranks)}"
            console.print(said, markup=False, soft_wrap=True)
        ended = TERMINATED if stopped.signal == signal.SIGTERM else INTERRUPTED
        raise EndedError(ended) from None
    except LostRankError as error:
        if ranks.is_reporter():
            said = f"tabnas: {error}; {what_to_do(folder, ranks)}"
            console.print(said, markup=False, soft_wrap=True)
        raise EndedError(LOST) from None


def carry_out(
    folder: RunFolder,
    source: Source,
    settings: RunSettings,
    manner: Manner,
    *,
    tensorboard: bool = False,
    resolved: Mapping[str, Any] | None = None,
    ranks: Ranks | None = None,
) -> None:
    """Do the work of a run, or the rest of it; of several processes, as their first."""
    from tabnas.cli._progress import showing
    from tabnas.cli._summary import show_result
    from tabnas.runs import SINGLE_PROCESS, EventLog, StatusFile

    ranks = ranks or SINGLE_PROCESS
    console = terminal(stderr=True)
    cost = next(iter(settings.limits))
    with ExitStack() as log:
        with (
            stoppable(console, folder.name, ranks),
            showing(console, quiet=manner.quiet or manner.as_json, cost=cost) as show,
        ):
            live = StatusFile(folder.path, show)
            run = source.planned(settings, resolved, observe=live, ranks=ranks)
            config = {"data": source.to_dict(), "settings": settings.to_dict()}
            config |= {"plan": run.plan.resolved}
            checkpoint = folder.begin(run, config, every=manner.every, ranks=ranks)
            live.set_plan(run)
            if checkpoint.note:
                console.print(f"tabnas: note: {plain(checkpoint.note)}", markup=False)
            events = log.enter_context(EventLog(folder.path, run, live)) if tensorboard else None
            outcome = run.execute(events or live, checkpoint)
        result = folder.finish(outcome)
        if events is not None:
            events.finish(result)
    if manner.as_json:
        typer.echo(json.dumps(encode(result) | {"folder": folder.name}, indent=2))
    elif not manner.quiet:
        show_result(terminal(), result, folder.name)


def take_part(folder: str, source: Source, settings: RunSettings, ranks: Ranks) -> None:
    """Do the same work for another process, which has the folder and does the talking."""
    from tabnas.runs import RunCheckpoint

    with stoppable(terminal(stderr=True), folder, ranks):
        run = source.planned(settings, ranks=ranks)
        run.assist(RunCheckpoint(identity=run.identity(), ranks=ranks))
