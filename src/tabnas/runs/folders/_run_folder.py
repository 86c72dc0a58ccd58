"""The folder of a run: its files, its lock, and how they are written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import tomli_w

from tabnas.decoding import to_builtins
from tabnas.errors import TabNASError
from tabnas.files import atomic_write, is_temporary, refuse_links, remove_temporaries
from tabnas.locks import LOCK_NAME as LOCK
from tabnas.locks import FolderLock
from tabnas.model import save_model
from tabnas.results import RunResult, TradeoffResult
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.checkpoints._file import has_checkpoint
from tabnas.runs.checkpoints._run_checkpoint import SAVE_EVERY, RunCheckpoint
from tabnas.runs.folders._pages import CARD, REPORT, write_card, write_pages, write_report
from tabnas.runs.folders._read_run import (
    CONFIG,
    HISTORY,
    MODEL,
    RESULT,
    describe_resumption,
    load_config,
)
from tabnas.runs.folders._result import build_run_result
from tabnas.runs.folders._status import PROGRESS
from tabnas.runs.folders._tensorboard import TENSORBOARD

CHECKPOINT = "checkpoint"
FILE_NAMES = (CONFIG, CHECKPOINT, HISTORY, MODEL, REPORT, CARD, RESULT, LOCK, PROGRESS, TENSORBOARD)
"""The files and folders that a run writes."""
CONFIG_HEADING = """\
# What was asked of this run: the rows, and every setting that was given or has a fixed default.
# What followed from the table by rule (widths, epochs, batch size) is in result.json under "plan".

"""


class RunFolder:
    """The folder of a run, created before the work begins so that a bad path fails early.

    As a context manager it is locked: one process to a folder. If the run ends before there is
    anything to resume, nothing is left behind. The folder of a resumed run may come from somebody
    else, so links in it are refused: nothing outside is ever written or removed.

        config.toml     the settings, to repeat the run or to resume it
        checkpoint/     finished steps and the state of the current one; removed at the end
        progress.json   the status, for `tabnas watch`; removed at the end
        tensorboard/    events for TensorBoard, if wanted
        history.jsonl   the snapshots of the search, one a line
        model/          the model, for `tabnas.load_model`
        result.json     the result; written last
        report.html     the report, made from the files above
        MODEL_CARD.md   the model card, for people to complete
    """

    final_file = RESULT
    """The file that is there once the run is finished."""
    file_names: tuple[str, ...] = FILE_NAMES
    """The files and folders that are written here."""

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path).absolute()
        self.name = str(path)
        """The path as the user has written it."""
        self._made: list[Path] = []
        self._lock: FolderLock | None = None
        self._finished = False
        self._resumed = resume
        check = self._check_resumable if resume else self._check_empty
        check()
        refuse_links(self.path, *self.file_names)
        try:
            self._made = [p for p in (self.path, *self.path.parents) if not p.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.path)
            check()  # again: another process may have worked here until now
            remove_temporaries(self.path, *self.file_names)
        except OSError as error:
            self._clear()
            raise TabNASError(
                f"the folder {self.name!r} cannot be written ({error.strerror or error}); "
                "name another"
            ) from None
        except TabNASError:  # another process is using it: there is nothing to clear
            if self._lock is not None:
                self._lock.release()
            raise
        except BaseException:  # a signal arrived just now
            self._clear()
            raise

    def _check_empty(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise TabNASError(f"{self.name!r} must be a folder, but it is a file; name another")
        inside = list(self.path.iterdir()) if self.path.is_dir() else []
        held = {path.name for path in inside if not is_temporary(path, *self.file_names)}
        if held <= {LOCK, PROGRESS}:
            return
        if (self.path / CONFIG).exists() and not (self.path / self.final_file).exists():
            raise TabNASError(
                f"the folder {self.name!r} holds a run that is not finished; name another folder, "
                f"or {describe_resumption(self.name)}"
            )
        raise TabNASError(
            f"the folder {self.name!r} must be new or empty, but it holds files; "
            "name another or remove it"
        )

    def _check_resumable(self) -> None:
        if (self.path / self.final_file).exists():
            raise TabNASError(f"the run in {self.name!r} is finished: see its {self.final_file}")
        if not (self.path / CONFIG).exists():
            raise TabNASError(
                f"{self.name!r} must be the folder of a run that was stopped, but it holds "
                f"no {CONFIG}; name one that a search has written"
            )

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / CHECKPOINT

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._finished and not has_checkpoint(self.checkpoint):
            self._clear()
        elif self._lock is not None:
            self._lock.release(remove=self._finished)

    def _clear(self) -> None:
        """Remove the files of a run without a checkpoint, and release the folder."""
        if self._lock is None:
            if self.path in self._made:
                shutil.rmtree(self.path, ignore_errors=True)
        elif self.path in self._made:
            self._lock.discard()
        else:
            if not self._resumed:  # it existed, and was empty
                for name in (CONFIG, PROGRESS):
                    (self.path / name).unlink(missing_ok=True)
                for name in (CHECKPOINT, TENSORBOARD):
                    shutil.rmtree(self.path / name, ignore_errors=True)
            self._lock.release(remove=not self._resumed)
        for parent in self._made:
            with suppress(OSError):
                parent.rmdir()

    def begin(
        self,
        run: PlannedRun | PlannedTradeoff,
        config: Mapping[str, Any],
        *,
        every: float = SAVE_EVERY,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> RunCheckpoint:
        """Open the checkpoint of the run, then write `config.toml`.

        If the run differs from that of the checkpoint, nothing is written, and an error is raised.
        """
        checkpoint = RunCheckpoint(
            self.checkpoint, identity=run.identity(), every=every, process_group=process_group
        )
        self.write_config(config)
        return checkpoint

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write `config.toml`; a resumed run keeps its other sections."""
        before = load_config(self.path) if self._resumed else {}
        now = {**before, **config}
        if now != before or not before:
            self.write(CONFIG, CONFIG_HEADING + tomli_w.dumps(now))

    def finish(self, finished: FinishedRun) -> RunResult:
        """Write the model and `result.json`, then the report and model card; return the result."""
        history = finished.snapshots
        self.write(HISTORY, "".join(f"{json.dumps(to_builtins(line))}\n" for line in history))
        save_model(finished.model, self.path / MODEL, overwrite=True)
        result = build_run_result(finished)
        self.write_result(RESULT, result)
        self.remove_checkpoint()
        pages = {
            REPORT: lambda path: write_report(path, result, history),
            CARD: lambda path: write_card(path, result),
        }
        write_pages(self.path, pages)
        return result

    def write_result(self, name: str, result: RunResult | TradeoffResult) -> None:
        """Write a result as JSON."""
        self.write(name, json.dumps(to_builtins(result), indent=2, ensure_ascii=False) + "\n")

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint and the status of a finished run."""
        self._finished = True
        remove_progress(self.path)

    def write(self, name: str, text: str) -> None:
        """Write a file atomically."""
        try:
            atomic_write(self.path / name, text)
        except OSError as error:
            raise TabNASError(
                f"the run cannot be written to {self.name!r}: {error.strerror or error}"
            ) from None


def remove_progress(folder: Path) -> None:
    """Remove the checkpoint and the status of a finished run."""
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    (folder / PROGRESS).unlink(missing_ok=True)
