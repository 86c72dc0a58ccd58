"""Progress of a run: what callbacks receive, and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Literal

from tabnas.feasible import FeasibleSet
from tabnas.nets import Trainer
from tabnas.results import Snapshot

Phase = Literal[
    "preparation",
    "measuring",
    "search",
    "teacher",
    "candidates",
    "final training",
    "refit",
    "comparison",
    "diagnosis",
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


class PhaseProgress:
    """The progress of a phase whose jobs work side by side.

    >>> phase = PhaseProgress("teacher", lambda progress: print(progress.done), total=4.0)
    >>> first, second = phase.add_job("first", 3.0), phase.add_job("second")
    >>> first(0.5), second(1.0)
    0.375
    0.625
    (None, None)
    """

    def __init__(self, phase: Phase, on_progress: ProgressCallback, *, total: float) -> None:
        self._phase = phase
        self._on_progress = on_progress
        self._total = total  # of the sizes of all jobs that are expected
        self._done: list[float] = []
        self._lock = Lock()

    def add_job(self, note: str, size: float = 1.0) -> Callable[[float], None]:
        """Return a callback for the progress of a job, from 0 to 1."""
        number = len(self._done)
        self._done.append(0.0)

        def on_fraction(done: float) -> None:
            with self._lock:
                self._done[number] = size * done
                fraction = min(1.0, sum(self._done) / self._total)
            self._on_progress(Progress(self._phase, fraction, note=note))

        return on_fraction

    def finish(self) -> None:
        """Report that the phase is done."""
        self._on_progress(Progress(self._phase, 1.0))
