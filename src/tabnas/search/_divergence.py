"""When a search has diverged: steps that cannot be taken are left out, but not for ever."""

from __future__ import annotations

from tabnas.errors import TabnasError
from tabnas.search._history import History

MOST_IN_A_ROW = 20
"""So many bad batches do not come by chance: the weights, or the table, are beyond help."""
MOST_SHARE = 0.25
"""Of all weight steps. A SuperNet that misses more has not seen the table it is judged by."""


class SearchDivergedError(TabnasError):
    """Too many weight steps of a search had a loss or gradient that float32 cannot hold."""

    def __init__(self, skipped: str, rate: float) -> None:
        super().__init__(
            f"the search has diverged: {skipped} had a loss or gradient that float32 cannot hold, "
            "and were not taken; scale the columns, look for extreme values among inputs, targets "
            f"and row weights, or take a learning rate well below {rate:g}"
        )


def refuse_divergence(history: History, steps: int, rate: float) -> None:
    """End a search of that many steps if too many of them were skipped."""
    if history.skipped_in_a_row >= MOST_IN_A_ROW:
        raise SearchDivergedError(f"{history.skipped_in_a_row} weight steps in a row", rate)
    if history.skipped > MOST_SHARE * steps:
        raise SearchDivergedError(f"{history.skipped} of {steps} weight steps", rate)
