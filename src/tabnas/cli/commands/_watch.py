"""`tabnas watch`: follow a run from another terminal."""

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

from tabnas.cli._errors import INTERRUPTED, CommandExitError
from tabnas.cli._execution import OutputOptions
from tabnas.cli._run_folders import suggest_run
from tabnas.cli.display._formatting import make_console, safe_text
from tabnas.cli.options import _completion as completion
from tabnas.cli.options._shared import flag
from tabnas.decoding import to_builtins
from tabnas.errors import TabNASError
from tabnas.formatting import sanitize_texts, shorten

if TYPE_CHECKING:
    from tabnas.results import RunResult, TradeoffResult
    from tabnas.runs import RunStatus

STOPPED = 3
"""The exit code if the run has ended without a result."""
REFRESH_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class WatchState:
    """The state of a run, as its folder shows it at one moment."""

    name: Literal["running", "stopped", "finished", "gone"]
    status: RunStatus | None
    is_resumable: bool


def watch(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run.",
            metavar="RUN",
            autocompletion=completion.list_runs,
        ),
    ],
    once: Annotated[bool, flag("--once", help="Show the state once and exit.")] = False,
    as_json: Annotated[bool, flag("--json", help="Print the state once as JSON and exit.")] = False,
) -> None:
    """Follow a run from another terminal until it ends.

    The command only reads files of the run. It can be started and stopped at any time.

    The exit code is 0 if the run has finished and 3 if it has stopped without a result. With --once
    or --json it is always 0.

    For example:

    # follow until the run ends
    tabnas watch runs/income

    # show the state once
    tabnas watch runs/income --once
    """
    state = read_state(run)
    if state.name == "gone":
        raise TabNASError(
            f"{shorten(run)!r} must be the folder of a run, but it is not; {suggest_run(run)}"
        )
    if as_json:
        typer.echo(json.dumps(_to_json(run, state), indent=2, allow_nan=False))
        return
    console = make_console()
    if not once:
        state = _follow(console, run, state)
    _print_end(console, run, state)
    if state.name in ("stopped", "gone") and not once:
        raise CommandExitError(STOPPED)


def read_state(run: Path) -> WatchState:
    """Read the state of a run from its files, without writing or waiting."""
    from tabnas.runs import CONFIG, RunFolder, TradeoffFolder, is_locked, read_status

    running = is_locked(run)  # first: once the lock is released, all files are written
    resumable = (run / CONFIG).exists()
    finals = [run / folder.final_file for folder in (RunFolder, TradeoffFolder)]
    if any(final.exists() for final in finals):
        return WatchState(name="finished", status=None, is_resumable=False)
    status = read_status(run)
    if running:
        return WatchState(name="running", status=status, is_resumable=resumable)
    is_known = resumable or status is not None
    return WatchState(name="stopped" if is_known else "gone", status=status, is_resumable=resumable)


def _follow(console: Console, run: Path, state: WatchState) -> WatchState:
    """Show a run while it is running; return its last state."""
    try:
        if not console.is_terminal:
            return _poll(run, state, _status_lines(console))
        with Live(console=console, auto_refresh=False, transient=True) as live:
            return _poll(run, state, lambda now: live.update(_draw(run, now), refresh=True))
    except KeyboardInterrupt:
        raise CommandExitError(INTERRUPTED) from None


def _poll(run: Path, state: WatchState, show: Callable[[WatchState], None]) -> WatchState:
    while state.name == "running":
        show(state)
        sleep(REFRESH_SECONDS)
        state = read_state(run)
    return state


def _status_lines(console: Console) -> Callable[[WatchState], None]:
    """Print a line when the phase, its tenth or the most likely architecture changes."""
    from tabnas.cli.display._run_status import summarize_status

    before: tuple[Any, ...] = ()

    def show(state: WatchState) -> None:
        nonlocal before
        status = state.status
        if status is None:
            return
        most_likely = status.snapshot.most_likely if status.snapshot else ""
        now = (status.phase, most_likely, int(10 * status.done) if isfinite(status.done) else 0)
        if now != before:
            before = now
            console.print(summarize_status(status), markup=False, highlight=False, soft_wrap=True)

    return show


def _draw(run: Path, state: WatchState) -> Any:
    from tabnas.cli.display._run_status import draw_status

    if state.status is None:
        return safe_text(
            f"{shorten(run)}: running, but its status is not known yet", max_length=200
        )
    return draw_status(state.status, str(run), time() - state.status.started)


def _print_end(console: Console, run: Path, state: WatchState) -> None:
    """Print the result of a finished run, or the last status of another."""
    if state.name == "finished":
        print_finished(run, OutputOptions())
        return
    if state.name == "running":
        console.print(_draw(run, state))
        return
    message = "stopped before there was anything to resume; start again with tabnas search"
    if state.is_resumable:
        from tabnas.runs import describe_resumption

        message = f"stopped; {describe_resumption(run)}"
        if state.status is not None:
            from tabnas.cli.display._run_status import summarize_status

            message = f"{summarize_status(state.status)}\n{message}"
    elif state.name == "gone":
        message = "the run has ended and left no files; see its terminal for the reason"
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def print_finished(run: Path, output: OutputOptions) -> None:
    """Print the summary that the search itself ends with."""
    from tabnas.cli._execution import print_result

    print_result(sanitize_texts(load_finished(run)), str(run), output)


def load_finished(run: Path) -> RunResult | TradeoffResult:
    """Load the result of a finished run or trade-off."""
    from tabnas.runs import is_tradeoff, load_result, load_tradeoff

    return load_tradeoff(run) if is_tradeoff(run) else load_result(run)


def _to_json(run: Path, state: WatchState) -> dict[str, Any]:
    description: dict[str, Any] = {"folder": str(run), "state": state.name}
    if state.status is not None:
        description |= to_builtins(state.status)
    if state.name == "finished":
        description["result"] = to_builtins(load_finished(run))
    return {name: _replace_nonfinite(value) for name, value in description.items()}


def _replace_nonfinite(value: Any) -> Any:
    """Replace infinities and nan, which JSON does not have, by None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [_replace_nonfinite(item) for item in value]
    if isinstance(value, dict):
        return {name: _replace_nonfinite(item) for name, item in value.items()}
    return value
