"""How long the phases of a run take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Add the time of the block to that of the phase."""
    began = perf_counter()
    yield
    seconds[phase] = seconds.get(phase, 0.0) + perf_counter() - began
