"""A run as a folder: how it was made, what it saw, what it found, and the model."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import tomli_w

from tabnas.errors import TabnasError
from tabnas.model import Model, load_model, save_model
from tabnas.runs._pipeline import Outcome
from tabnas.runs._result import describe_outcome

CONFIG, HISTORY, RESULT, MODEL = "config.toml", "history.jsonl", "result.json", "model"
MODEL_FILE = "model.json"
CONFIG_HEADING = """\
# What was asked of this run: the rows, and every setting that was given or has a fixed default.
# What followed from the table by rule (widths, epochs, batch size) is in result.json under "plan".

"""


class RunFolder:
    """A place for a run, taken before the work begins so that it cannot fail for that at the end.

    Everything is written aside and appears at once. Used as a context: what is not finished leaves
    nothing behind.

        config.toml     all that is needed to make the run again
        history.jsonl   one line for each snapshot of the search
        result.json     what was found
        model/          the model: `tabnas.load_model`
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir() and any(self.path.iterdir()):
            raise TabnasError(
                f"the folder {str(path)!r} must be new or empty, however it holds files; "
                "name another with --out or remove it"
            )
        if self.path.exists() and not self.path.is_dir():
            raise TabnasError(
                f"{str(path)!r} must be a folder, however it is a file; name another with --out"
            )
        # of the same parent, so that it can be renamed
        self._aside = self.path.absolute().with_name(f".{self.path.name}.{uuid4().hex[:8]}")
        self._made = [parent for parent in self._aside.parents if not parent.exists()]
        try:
            self._aside.mkdir(parents=True)
        except OSError as error:
            self._clear()
            raise TabnasError(
                f"the folder {str(path)!r} cannot be written ({error.strerror or error}); "
                "name another with --out"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clear()

    def _clear(self) -> None:
        """Take away what was made on the way, and is empty."""
        shutil.rmtree(self._aside, ignore_errors=True)
        for parent in self._made:
            with suppress(OSError):
                parent.rmdir()

    def finish(self, outcome: Outcome, config: Mapping[str, Any]) -> dict[str, Any]:
        """Write everything; returns what went to `result.json`."""
        result = describe_outcome(outcome)
        try:
            save_model(outcome.model, self._aside / MODEL)
            snapshots = (json.dumps(snapshot.to_dict()) for snapshot in outcome.snapshots)
            self._write(HISTORY, "".join(f"{line}\n" for line in snapshots))
            self._write(RESULT, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
            self._write(CONFIG, CONFIG_HEADING + tomli_w.dumps(config))
            if self.path.is_dir():
                self.path.rmdir()  # empty, or this fails
            os.replace(self._aside, self.path)
        except OSError as error:
            raise TabnasError(
                f"the run cannot be written to {str(self.path)!r}: {error.strerror or error}"
            ) from None
        return result

    def _write(self, name: str, text: str) -> None:
        (self._aside / name).write_text(text, encoding="utf-8")


def load_run_model(path: str | Path) -> Model:
    """The model of a finished run, or of a model's own folder."""
    folder = Path(path)
    if not folder.is_dir():
        found = "it is a file" if folder.exists() else "there is none"
        raise TabnasError(
            f"{str(path)!r} must be the folder of a finished run, however {found}; "
            "name one that a search has written"
        )
    if (folder / MODEL).is_dir():
        folder /= MODEL
    elif not (folder / MODEL_FILE).exists():
        raise TabnasError(
            f"{str(path)!r} must be the folder of a finished run, however it holds no model; "
            "name one that a search has written"
        )
    try:
        return load_model(folder)
    except TabnasError as error:
        raise TabnasError(
            f"the model in {str(path)!r} is damaged or incomplete ({error}); copy it once more, "
            "or make the run again"
        ) from None


def load_result(path: str | Path) -> dict[str, Any]:
    """`result.json` of a finished run."""
    file = Path(path) / RESULT
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise TabnasError(f"{str(path)!r} is no finished run: it has no {RESULT}") from None
    except ValueError as error:
        raise TabnasError(f"{str(file)!r} cannot be read: {error}") from None
    if not isinstance(result, dict):
        raise TabnasError(f"{str(file)!r} must hold the facts of a run, however it holds others")
    return result


def load_config(path: str | Path) -> dict[str, Any]:
    """`config.toml` of a run."""
    file = Path(path) / CONFIG
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise TabnasError(f"{str(path)!r} is no run: it has no {CONFIG}") from None
    except ValueError as error:
        raise TabnasError(f"{str(file)!r} cannot be read: {error}") from None
