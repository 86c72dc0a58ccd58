"""Read the files of a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabnas.decoding import parse_json, parse_toml
from tabnas.errors import TabNASError
from tabnas.files import read_file, refuse_links
from tabnas.formatting import quote_path
from tabnas.model import Model, load_model
from tabnas.results import RunResult, Snapshot, decode_history, decode_result

CONFIG = "config.toml"
"""The file with the settings of a run."""
HISTORY, RESULT, MODEL = "history.jsonl", "result.json", "model"
MODEL_FILE = "model.json"
MAX_CONFIG_BYTES, MAX_RESULT_BYTES = 16 << 20, 256 << 20


def load_run_model(path: str | Path) -> Model:
    """Load the model of a finished run, or of a model's folder."""
    folder = Path(path)
    if not folder.is_dir():
        problem = "it is a file" if folder.exists() else "there is none"
        raise TabNASError(
            f"{str(path)!r} must be the folder of a finished run, but {problem}; "
            "name one that a search has written"
        )
    if (folder / MODEL).is_dir():
        refuse_links(folder, MODEL)
        folder /= MODEL
    elif not (folder / MODEL_FILE).exists():
        raise TabNASError(
            f"{str(path)!r} must be the folder of a finished run, but it holds no model; "
            "name one that a search has written"
        )
    try:
        return load_model(folder)
    except TabNASError as error:
        raise TabNASError(
            f"the model in {str(path)!r} is damaged or incomplete ({error}); copy it again, or "
            "repeat the run"
        ) from None


def load_result(path: str | Path) -> RunResult:
    """Return the result of a finished run."""
    file = Path(path) / RESULT
    if not file.exists():
        raise TabNASError(f"{str(path)!r} is not a finished run: it has no {RESULT}")
    return decode_result(load_json(file), source=repr(str(file)))


def load_history(path: str | Path) -> tuple[Snapshot, ...]:
    """Return the snapshots of a run's search; none if there is no `history.jsonl`."""
    file = Path(path) / HISTORY
    if not file.exists():
        return ()
    source = repr(str(file))
    lines = _read(file, MAX_RESULT_BYTES).splitlines()
    return decode_history(
        [parse_json(line, source=f"{source}: line {k}") for k, line in enumerate(lines, start=1)],
        source=source,
    )


def describe_resumption(path: str | Path) -> str:
    """Return how to resume a stopped run.

    That is a command, or, for a run begun in Python, the call to repeat.
    """
    try:
        config = load_config(path)
        is_of_python = "settings" in config and "data" not in config
    except TabNASError:  # `tabnas resume` says what is wrong
        is_of_python = False
    if is_of_python and "tradeoff" in config:
        return f"continue in Python, with TradeoffFolder({str(path)!r}, resume=True)"
    if is_of_python:
        return "make the call again that began it in Python, with the same rows and settings"
    return f"continue with: tabnas resume {quote_path(path)}"


def load_config(path: str | Path) -> dict[str, Any]:
    """Return the contents of a run's `config.toml`."""
    file = Path(path) / CONFIG
    if not file.exists():
        raise TabNASError(f"{str(path)!r} is not a run: it has no {CONFIG}")
    source = repr(str(file))
    try:
        return parse_toml(_read(file, MAX_CONFIG_BYTES).decode(), source=source)
    except UnicodeDecodeError as error:
        raise TabNASError(f"{source} cannot be read as TOML: {error}") from None


def load_json(file: Path) -> Any:
    """Return the contents of a JSON file of a run."""
    return parse_json(_read(file, MAX_RESULT_BYTES), source=repr(str(file)))


def _read(file: Path, max_size: int) -> bytes:
    return read_file(file.parent, file.name, "run", max_size=max_size)
