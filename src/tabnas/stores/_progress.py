"""The progress of an encoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

Phase = Literal["reading", "fitting", "encoding"]
"""Text files are copied to Arrow's format, the encoder is fitted, every row is encoded."""


@dataclass(frozen=True, kw_only=True)
class EncodingProgress:
    """A phase of an encoding, and how far it is."""

    phase: Phase
    fraction: float  # of the bytes of all files
    rows: int  # of this phase, so far
    rows_per_second: float


ProgressCallback = Callable[[EncodingProgress], None]
"""Called after every chunk of rows."""


class Meter:
    """Counts the rows and bytes of a phase and reports them to a callback."""

    def __init__(self, phase: Phase, total_bytes: int, callback: ProgressCallback) -> None:
        self._phase: Phase = phase
        self._total_bytes = total_bytes
        self._callback = callback
        self._start = monotonic()
        self._rows = self._bytes = self._skipped_rows = 0

    def skip(self, rows: int, size: int) -> None:
        """Count what an earlier process did; it does not count towards the speed."""
        self._skipped_rows += rows
        self._bytes += size
        self._report()

    def add(self, rows: int, size: int) -> None:
        """Count what this process did."""
        self._rows += rows
        self._bytes += size
        self._report()

    @property
    def position(self) -> tuple[int, int]:
        """The rows and bytes counted so far, for `rewind`."""
        return self._rows, self._bytes

    def rewind(self, position: tuple[int, int]) -> None:
        """Go back to a position, since a file is read from its start again."""
        self._rows, self._bytes = position

    @property
    def seconds(self) -> float:
        """The time since the phase began in this process."""
        return monotonic() - self._start

    def _report(self) -> None:
        self._callback(
            EncodingProgress(
                phase=self._phase,
                fraction=min(self._bytes / max(self._total_bytes, 1), 1.0),
                rows=self._skipped_rows + self._rows,
                rows_per_second=self._rows / max(self.seconds, 1e-9),
            )
        )
