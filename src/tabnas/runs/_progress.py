"""What observers of a run are told while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from tabnas.nets import Trainer
from tabnas.runs.search._trace import Snapshot, Trace, describe
from tabnas.search import Search, StepRecord

Phase = Literal["measuring", "search", "candidates", "final training", "comparison", "refit"]
TOLD_EVERY = 0.1  # seconds: often enough for people


@dataclass(frozen=True)
class Progress:
    """What an observer is told while a run goes on."""

    phase: Phase
    done: float  # of the phase, from 0 to 1
    snapshot: Snapshot | None = None  # of the search
    epoch: float | None = None
    rows_a_second: float | None = None
    note: str = ""


Observer = Callable[[Progress], None]
"""Told of every step of a run."""


def watching(
    search: Search, trace: Trace, tell: Observer, tick: Callable[[], None]
) -> Callable[[StepRecord], None]:
    """Takes the snapshots of a search, and tells people a few times a second."""
    began = told = perf_counter()
    rows_of_a_step = search.settings.batch_size * search.settings.workers

    def watch(now: StepRecord) -> None:
        nonlocal told
        taken = trace.snapshot(now) if trace.due() else None
        tick()
        moment = perf_counter()
        if moment - told < TOLD_EVERY and search.progress < 1:
            return
        told = moment
        tell(
            Progress(
                "search",
                search.progress,
                taken or describe(search, now),
                epoch=search.progress * search.settings.epochs,
                rows_a_second=search.step * rows_of_a_step / (moment - began),
                note=f"skipped steps: {skipped:,}" if (skipped := search.history.skipped) else "",
            )
        )

    return watch


def telling(
    trainer: Trainer, observe: Callable[[float], None], tick: Callable[[], None]
) -> Callable[[], None]:
    """Called before every step of a training, tells of its progress a few times a second."""
    told = perf_counter()

    def watch() -> None:
        nonlocal told
        tick()
        if (moment := perf_counter()) - told >= TOLD_EVERY:
            told = moment
            observe(trainer.progress)

    return watch


def share_of(
    phase: Phase, index: int, total: int, note: str, tell: Observer
) -> Callable[[float], None]:
    return lambda done: tell(Progress(phase, (index + done) / total, note=note))
