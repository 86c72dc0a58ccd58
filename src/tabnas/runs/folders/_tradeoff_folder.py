"""The folder of a trade-off: the curve, and a run for each limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tabnas.errors import TabNASError
from tabnas.files import refuse_links
from tabnas.report import render_tradeoff
from tabnas.results import TradeoffResult, decode_tradeoff
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.folders._completion import complete_folder
from tabnas.runs.folders._pages import PAGES, write_page, write_pages
from tabnas.runs.folders._read_run import CONFIG, RESULT, load_config, load_json
from tabnas.runs.folders._run_folder import RunFolder
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result, folder_name

TRADEOFF, PAGE = "tradeoff.json", "tradeoff.html"


class TradeoffFolder(RunFolder):
    """The folder of a trade-off, created before the work begins.

    config.toml     the settings, to repeat the trade-off or to resume it
    checkpoint/     finished steps and the state of the current one; removed at the end
    limit-5000/     a finished run for each limit: its model, result and report
    tradeoff.json   the curve; written last
    tradeoff.html   the page, made from the files above
    """

    final_file = TRADEOFF
    file_names = (*RunFolder.file_names, TRADEOFF, PAGE)

    def finish_all(
        self, tradeoff: PlannedTradeoff, finished_runs: Sequence[FinishedRun]
    ) -> TradeoffResult:
        """Write every run and `tradeoff.json`, then its page; return the result."""
        config = load_config(self.path)
        result = build_tradeoff_result(tradeoff, finished_runs)
        for limit, run, finished in zip(tradeoff.limits, tradeoff.runs, finished_runs, strict=True):
            name = folder_name(limit)
            refuse_links(self.path, name)
            path = self.path / name
            if (path / RESULT).exists():  # an earlier process has written this run
                complete_folder(path, RunFolder.file_names, PAGES)
                continue
            settings = {
                "settings": run.settings.to_dict(),
                "plan": run.plan.saved_plan,
                "member": {"limit": limit},  # marks a run that cannot be resumed by itself
            }
            with RunFolder(path, resume=(path / CONFIG).exists()) as folder:
                folder.write_config({**config, **settings})
                folder.finish(finished)
        self.write_result(TRADEOFF, result)
        self.remove_checkpoint()
        write_pages(self.path, {PAGE: lambda path: write_tradeoff_page(path, result)})
        return result


def is_tradeoff(path: str | Path) -> bool:
    """Return whether a folder is that of a finished trade-off."""
    return (Path(path) / TRADEOFF).exists()


def load_tradeoff(path: str | Path) -> TradeoffResult:
    """Return the result of a finished trade-off."""
    if not is_tradeoff(path):
        raise TabNASError(f"{str(path)!r} is not a finished trade-off: it has no {TRADEOFF}")
    file = Path(path) / TRADEOFF
    return decode_tradeoff(load_json(file), source=repr(str(file)))


def write_tradeoff_page(path: str | Path, result: TradeoffResult | None = None) -> Path:
    """Write the page of a finished trade-off and return its path.

    The result is read from the folder unless it is given.
    """
    result = result or load_tradeoff(path)
    return write_page(Path(path), PAGE, render_tradeoff(result, load_config(path)))


TRADEOFF_PAGES: Mapping[str, Callable[[Path], Path]] = {PAGE: write_tradeoff_page}


def complete_run(path: str | Path) -> None:
    """Complete the folder of a run or trade-off whose process was killed after its result.

    Missing pages are written, and the checkpoint is removed. Nothing is trained.
    """
    folder = Path(path)
    if is_tradeoff(folder):
        complete_folder(folder, TradeoffFolder.file_names, TRADEOFF_PAGES)
    else:
        complete_folder(folder, RunFolder.file_names, PAGES)
