"""Check that folders on the command line hold runs, and suggest others if not."""

from __future__ import annotations

from pathlib import Path

from tabnas.cli.options._completion import (
    list_finished_runs,
    list_reportable_runs,
    list_runs,
    list_stopped_runs,
)
from tabnas.errors import TabNASError, find_nearest
from tabnas.formatting import quote_path, shorten

RESULT_FILES = ("result.json", "tradeoff.json")
MAX_PATH_LENGTH = 200
MAX_SUGGESTIONS = 3


def check_finished(run: Path, *, tradeoff: bool = False) -> Path:
    """Return the folder of a finished run or a model, or of a trade-off if that is allowed.

    Refuse any other folder. Whether the files are complete is checked when they are read.
    """
    files = ["result.json", "model", "model.json", *(["tradeoff.json"] if tradeoff else [])]
    if any((run / file).exists() for file in files):
        return run
    raise TabNASError(
        f"{_quote(run)} must be the folder of a finished run, but "
        f"{_explain_unfinished(run, tradeoff)}"
    )


def check_resumable(run: Path) -> Path:
    """Return the folder of a run that was started, finished or not; refuse any other."""
    if (run / "config.toml").exists() or is_finished(run):
        return run
    problem = "it has no config.toml" if run.is_dir() else "it does not exist"
    raise TabNASError(
        f"{_quote(run)} must be the folder of a stopped run, but {problem}; "
        f"{_suggest(str(run), list_stopped_runs(''))}"
    )


def is_finished(run: Path) -> bool:
    """Return whether a run or trade-off in this folder has written its result."""
    return any((run / file).exists() for file in RESULT_FILES)


def is_resumable(run: Path) -> bool:
    """Return whether `tabnas resume` continues the run of this folder, or completes its files."""
    return is_finished(run) or any((run / "checkpoint").glob("*.checkpoint"))


def suggest_run(run: Path) -> str:
    """Return a hint at which run, finished or not, to name instead."""
    return _suggest(str(run), list_runs(""))


def _explain_unfinished(run: Path, tradeoff: bool) -> str:
    """Return what the folder is instead, and what to do."""
    near = (list_reportable_runs if tradeoff else list_finished_runs)("")
    if run.is_file():
        return "it is a file; name the folder first, then the file"
    if not run.is_dir():
        return f"it does not exist; {_suggest(str(run), near)}"
    if (run / "tradeoff.json").exists():
        members = [str(path.parent) for path in run.glob("limit-*/result.json")]
        return f"it is a trade-off, which has a run for each limit; {_suggest('', members)}"
    if (run / "config.toml").exists():
        from tabnas.runs import describe_resumption

        return (
            "the run has not ended; follow it with: tabnas watch "
            f"{quote_path(run)}, or if it was stopped, {describe_resumption(run)}"
        )
    inside = [str(path.parent) for path in run.glob("*/result.json")]
    return f"it has no model; {_suggest(str(run), inside or near)}"


def _suggest(name: str, runs: list[str]) -> str:
    """Return a hint at the nearest of the runs, or some of them."""
    if not runs:
        return "name one that a search has written: its --out, or runs/NAME"
    near = find_nearest(name, runs, cutoff=0.8) if name else None
    if near is not None:
        return f"did you mean {shorten(near)!r}?"
    examples = ", ".join(repr(shorten(run)) for run in sorted(runs)[:MAX_SUGGESTIONS])
    return f"name one like {examples}"


def _quote(run: Path) -> str:
    return repr(shorten(run, MAX_PATH_LENGTH))
