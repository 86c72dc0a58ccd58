"""Progress of a run: what callbacks receive, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from tabnas.feasible import FeasibleSet
from tabnas.nets import Trainer
from tabnas.results import Snapshot

Phase = Literal[
    "measuring", "search", "teacher", "candidates", "final training", "comparison", "refit"
]
UPDATE_SECONDS = 0.1
"""The time between two updates of a phase."""


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment."""

    phase: Phase
    done: float  # of the phase, from 0 to 1
    snapshot: Snapshot | None = None  # of the search
    epoch: float | None = None
    rows_per_second: float | None = None
    note: str = ""
    feasible: FeasibleSet | None = None  # that is searched; limits of a trade-off may have several


ProgressCallback = Callable[[Progress], None]
"""A function that is called with the progress of a run."""


def make_training_callback(
    trainer: Trainer, on_fraction: Callable[[float], None], on_step: Callable[[], None]
) -> Callable[[], None]:
    """Return a callback for every step of a training.

    It calls `on_step` each time, and `on_fraction` with the progress every `UPDATE_SECONDS`.
    """
    last = perf_counter()

    def callback() -> None:
        nonlocal last
        on_step()
        if (now := perf_counter()) - last >= UPDATE_SECONDS:
            last = now
            on_fraction(trainer.progress)

    return callback


def make_fraction_callback(
    phase: Phase, index: int, total: int, note: str, on_progress: ProgressCallback
) -> Callable[[float], None]:
    """Return a callback that reports the fraction of task `index` as progress of the phase."""
    return lambda done: on_progress(Progress(phase, (index + done) / total, note=note))


@contextmanager
def measure_seconds(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Add the time of the block to `seconds[phase]`."""
    start = perf_counter()
    yield
    seconds[phase] = seconds.get(phase, 0.0) + perf_counter() - start
