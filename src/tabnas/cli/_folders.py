"""Folders that were named for runs and are none, and what their owner may have meant."""

from __future__ import annotations

from pathlib import Path

from tabnas.cli._completing import all_runs, finished_runs, reported_runs, stopped_runs
from tabnas.cli._text import plain
from tabnas.errors import TabNASError, find_nearest

FINALS = ("result.json", "tradeoff.json")
LONGEST = 200
MOST_NAMED = 3


def finished(run: Path, *, tradeoff: bool = False) -> Path:
    """The folder of a finished run, of a model, or if so wanted of a trade-off.

    What is none is refused; what is half a run is left to whoever reads it.
    """
    ends = ["result.json", "model", "model.json", *(["tradeoff.json"] if tradeoff else [])]
    if any((run / end).exists() for end in ends):
        return run
    raise TabNASError(
        f"{_shown(run)} must be the folder of a finished run, but {_problem(run, tradeoff)}"
    )


def begun(run: Path) -> Path:
    """The folder of a run that can be gone on with, or whose reader says why not."""
    if (run / "config.toml").exists() or is_finished(run):
        return run
    found = "it holds no config.toml" if run.is_dir() else "there is none"
    raise TabNASError(
        f"{_shown(run)} must be the folder of a run that was stopped, but {found}; "
        f"{_one_of(str(run), stopped_runs(''))}"
    )


def is_finished(run: Path) -> bool:
    """Whether a run or trade-off in this folder has written its result."""
    return any((run / end).exists() for end in FINALS)


def meant(run: Path) -> str:
    """Which run to name instead of one that is none, but far it is."""
    return _one_of(str(run), all_runs(""))


def _problem(run: Path, tradeoff: bool) -> str:
    """What the folder is instead, and what to do."""
    near = (reported_runs if tradeoff else finished_runs)("")
    if run.is_file():
        return "it is a file; the folder comes first, then the file"
    if not run.is_dir():
        return f"there is none; {_one_of(str(run), near)}"
    if (run / "tradeoff.json").exists():
        limits = [str(path.parent) for path in run.glob("limit-*/result.json")]
        return f"it is that of a trade-off, with a run for each limit; {_one_of('', limits)}"
    if (run / "config.toml").exists():
        return (
            "the run has not ended; follow it with: tabnas watch "
            f"{plain(run, longest=LONGEST)}, or if it was stopped, go on with: tabnas resume "
            f"{plain(run, longest=LONGEST)}"
        )
    inside = [str(path.parent) for path in run.glob("*/result.json")]
    return f"it holds no model; {_one_of(str(run), inside or near)}"


def _one_of(name: str, runs: list[str]) -> str:
    """Which to name instead."""
    if not runs:
        return "name one that a search has written: what --out was, or runs/NAME"
    near = find_nearest(name, runs, cutoff=0.8) if name else None
    if near is not None:
        return f"did you mean {plain(near)!r}?"
    named = ", ".join(repr(plain(run)) for run in sorted(runs)[:MOST_NAMED])
    return f"name one like {named}"


def _shown(run: Path) -> str:
    return repr(plain(run, longest=LONGEST))
