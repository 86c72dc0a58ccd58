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

from tabnas.cli._source import Source
from tabnas.cli._text import plain, terminal

if TYPE_CHECKING:
    from tabnas.runs import RunFolder, RunSettings

INTERRUPTED, TERMINATED = 130, 143


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a command goes about its work, whatever the work is."""

    every: float  # seconds from one checkpoint to the next
    quiet: bool
    as_json: bool


class EndedError(Exception):
    """A command ended early, has said so, and has an exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def stoppable(console: Console, folder: str) -> Iterator[None]:
    """Work that says how to go on with it when it is asked to stop."""
    from tabnas.runs import Stopped

    try:
        yield
    except Stopped as stopped:
        console.print(f"tabnas: stopped; go on with: tabnas resume {plain(folder)}", markup=False)
        ended = TERMINATED if stopped.signal == signal.SIGTERM else INTERRUPTED
        raise EndedError(ended) from None


def carry_out(
    folder: RunFolder,
    source: Source,
    settings: RunSettings,
    manner: Manner,
    *,
    tensorboard: bool = False,
    resolved: Mapping[str, Any] | None = None,
) -> None:
    """Do the work of a run, or the rest of it."""
    from tabnas.cli._progress import showing
    from tabnas.cli._summary import show_result
    from tabnas.runs import EventLog, Ledger, LiveFile

    console = terminal(stderr=True)
    cost = next(iter(settings.limits))
    with ExitStack() as log:
        with (
            stoppable(console, folder.given),
            showing(console, quiet=manner.quiet or manner.as_json, cost=cost) as show,
        ):
            live = LiveFile(folder.path, show)
            run = source.planned(settings, resolved, observe=live)
            live.plan(run)
            config = {"data": source.to_dict(), "settings": settings.to_dict()}
            folder.write_config(config | {"plan": run.plan.resolved})
            ledger = Ledger(folder.checkpoint, identity=run.identity(), every=manner.every)
            if ledger.note:
                console.print(f"tabnas: note: {plain(ledger.note)}", markup=False)
            events = log.enter_context(EventLog(folder.path, run, live)) if tensorboard else None
            outcome = run.execute(events or live, ledger)
        result = folder.finish(outcome)
        if events is not None:
            events.finish(result)
    if manner.as_json:
        typer.echo(json.dumps(result | {"folder": folder.given}, indent=2))
    elif not manner.quiet:
        show_result(terminal(), result, folder.given)
