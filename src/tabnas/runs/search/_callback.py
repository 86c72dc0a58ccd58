"""The callback of a search: snapshots, progress and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tabnas.runs._progress import UPDATE_SECONDS, Progress, ProgressCallback
from tabnas.runs.search._snapshots import SnapshotRecorder, take_snapshot
from tabnas.search import Search, StepRecord


def make_search_callback(
    search: Search,
    recorder: SnapshotRecorder,
    on_progress: ProgressCallback,
    on_step: Callable[[], None],
) -> Callable[[StepRecord], None]:
    """Return a callback for every step of a search.

    It takes the snapshots that are due, calls `on_step` each time, and reports progress every
    `UPDATE_SECONDS`.
    """
    start = last = perf_counter()
    rows_per_step = search.settings.batch_size * search.settings.workers

    def callback(record: StepRecord) -> None:
        nonlocal last
        snapshot = recorder.add_snapshot(record) if recorder.is_due() else None
        on_step()
        now = perf_counter()
        if now - last < UPDATE_SECONDS and search.progress < 1:
            return
        last = now
        skipped = search.history.skipped
        on_progress(
            Progress(
                "search",
                search.progress,
                snapshot or take_snapshot(search, record),
                epoch=search.progress * search.settings.epochs,
                rows_per_second=search.step * rows_per_step / (now - start),
                note=f"skipped steps: {skipped:,}" if skipped else "",
                feasible=search.feasible,
            )
        )

    return callback
