"""How far an encoding is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

Phase = Literal["learning", "encoding"]


@dataclass(frozen=True, kw_only=True)
class EncodingProgress:
    """One of two passes, and where it is."""

    phase: Phase
    done: float  # a share of the bytes of all files
    rows: int  # of this pass, so far
    rows_a_second: float


ProgressObserver = Callable[[EncodingProgress], None]
"""Told of every step on the way."""


class Meter:
    """Counts the rows and bytes of a pass, and tells."""

    def __init__(self, phase: Phase, whole: int, observe: ProgressObserver) -> None:
        self._phase: Phase = phase
        self._whole = whole
        self._observe = observe
        self._began = monotonic()
        self._rows = self._bytes = self._before = 0

    def skip(self, rows: int, size: int) -> None:
        """What was done before this process began, and counts for no speed."""
        self._before += rows
        self._bytes += size
        self._tell()

    def add(self, rows: int, size: int) -> None:
        """What is done now."""
        self._rows += rows
        self._bytes += size
        self._tell()

    @property
    def seconds(self) -> float:
        """Since the pass began in this process."""
        return monotonic() - self._began

    def _tell(self) -> None:
        self._observe(
            EncodingProgress(
                phase=self._phase,
                done=min(self._bytes / max(self._whole, 1), 1.0),
                rows=self._before + self._rows,
                rows_a_second=self._rows / max(self.seconds, 1e-9),
            )
        )
