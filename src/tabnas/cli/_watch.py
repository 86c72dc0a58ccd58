"""`tabnas watch`: follow a run from another window."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import sleep, time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.live import Live

from tabnas.cli import _completing as completing
from tabnas.cli._ending import INTERRUPTED, EndedError
from tabnas.cli._folders import meant
from tabnas.cli._text import plain, shown, terminal
from tabnas.decoding import encode
from tabnas.errors import TabNASError
from tabnas.formatting import sanitize_texts

if TYPE_CHECKING:
    from tabnas.results import RunResult, TradeoffResult
    from tabnas.runs import RunStatus

STOPPED = 3
"""The exit code of a view whose run has ended without a result."""
LOOKS = 0.5  # seconds from one to the next


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a folder says of its run, at a glance."""

    state: Literal["running", "stopped", "finished", "gone"]
    stand: RunStatus | None
    resumable: bool


def watch(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run that is at work.",
            metavar="RUN",
            autocompletion=completing.all_runs,
        ),
    ],
    once: Annotated[bool, typer.Option("--once", help="Show where it stands, and end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where it stands as JSON for machines, and end.")
    ] = False,
) -> None:
    """Follow a run from another window, until it ends.

    It reads the run's files and does nothing else, so it can be started and ended at any time. The
    exit code is 0 when the run is finished and 3 when it has stopped without a result; after one
    look, --once or --json, it is 0.

    For example:

    # until the run ends
    tabnas watch runs/income

    # one look
    tabnas watch runs/income --once
    """
    seen = look(run)
    if seen.state == "gone":
        raise TabNASError(
            f"{plain(run)!r} must be the folder of a run, but there is none; {meant(run)}"
        )
    if as_json:
        typer.echo(json.dumps(_for_machines(run, seen), indent=2, allow_nan=False))
        return
    console = terminal()
    if not once:
        seen = _followed(console, run, seen)
    _show_end(console, run, seen)
    if seen.state in ("stopped", "gone") and not once:
        raise EndedError(STOPPED)


def look(run: Path) -> Seen:
    """What the files of a run say; nothing is written and nobody is waited for."""
    from tabnas.runs import CONFIG, RunFolder, TradeoffFolder, is_locked, read_status

    running = is_locked(run)  # before the rest: whoever let go has written it all
    resumable = (run / CONFIG).exists()
    finals = [run / folder.final_file for folder in (RunFolder, TradeoffFolder)]
    if any(final.exists() for final in finals):
        return Seen(state="finished", stand=None, resumable=False)
    stand = read_status(run)
    if running:
        return Seen(state="running", stand=stand, resumable=resumable)
    known = resumable or stand is not None
    return Seen(state="stopped" if known else "gone", stand=stand, resumable=resumable)


def _followed(console: Console, run: Path, seen: Seen) -> Seen:
    """Show a run while it is at work; returns what was seen last."""
    try:
        if not console.is_terminal:
            return _while_running(run, seen, _lines(console))
        with Live(console=console, auto_refresh=False, transient=True) as live:
            return _while_running(
                run, seen, lambda now: live.update(_drawn(run, now), refresh=True)
            )
    except KeyboardInterrupt:
        raise EndedError(INTERRUPTED) from None


def _while_running(run: Path, seen: Seen, show: Callable[[Seen], None]) -> Seen:
    while seen.state == "running":
        show(seen)
        sleep(LOOKS)
        seen = look(run)
    return seen


def _lines(console: Console) -> Callable[[Seen], None]:
    """A line whenever the phase, the favourite or a tenth of the phase is another."""
    from tabnas.cli._stand import line

    before: tuple[Any, ...] = ()

    def show(seen: Seen) -> None:
        nonlocal before
        stand = seen.stand
        if stand is None:
            return
        favourite = stand.snapshot.favourite if stand.snapshot else ""
        now = (stand.phase, favourite, int(10 * stand.done) if isfinite(stand.done) else 0)
        if now != before:
            before = now
            console.print(line(stand), markup=False, highlight=False, soft_wrap=True)

    return show


def _drawn(run: Path, seen: Seen) -> Any:
    from tabnas.cli._stand import frame

    if seen.stand is None:
        return shown(f"{plain(run)}: at work, and has not said on what", longest=200)
    return frame(seen.stand, str(run), time() - seen.stand.started)


def _show_end(console: Console, run: Path, seen: Seen) -> None:
    """The last that is to be said: a result, or where the run stands."""
    if seen.state == "finished":
        show_finished(console, run)
        return
    if seen.state == "running":
        console.print(_drawn(run, seen))
        return
    said = "stopped before there was anything to go on from; begin again with tabnas search"
    if seen.resumable:
        said = f"stopped; go on with: tabnas resume {plain(run, longest=200)}"
        if seen.stand is not None:
            from tabnas.cli._stand import line

            said = f"{line(seen.stand)}\n{said}"
    elif seen.state == "gone":
        said = "the run has ended and left nothing behind; its own window says why"
    console.print(said, markup=False, highlight=False, soft_wrap=True)


def show_finished(console: Console, run: Path) -> None:
    """The summary that the search itself ends with."""
    from tabnas.cli._summary import show_result
    from tabnas.cli._tradeoff_summary import show_tradeoff
    from tabnas.results import TradeoffResult

    result = sanitize_texts(load_finished(run))
    if isinstance(result, TradeoffResult):
        show_tradeoff(console, result, str(run))
    else:
        show_result(console, result, str(run))


def load_finished(run: Path) -> RunResult | TradeoffResult:
    """Return the result of a finished run or trade-off."""
    from tabnas.runs import is_tradeoff, load_result, load_tradeoff

    return load_tradeoff(run) if is_tradeoff(run) else load_result(run)


def _for_machines(run: Path, seen: Seen) -> dict[str, Any]:
    said: dict[str, Any] = {"folder": str(run), "state": seen.state}
    if seen.stand is not None:
        said |= encode(seen.stand)
    if seen.state == "finished":
        said["result"] = encode(load_finished(run))
    return {name: _finite(value) for name, value in said.items()}


def _finite(value: Any) -> Any:
    """Fit for JSON, which knows no numbers beyond the finite ones."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return value
