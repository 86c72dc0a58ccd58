"""The knots of numeric embeddings, by the limit and the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.data import choose_knots, summarize_values
from tabnas.runs.prepare._embedding_rule import get_precision, get_upper
from tabnas.settings import RunSettings
from tabnas.space import Budget

Knots = tuple[tuple[float, ...], ...]

KNOT_COUNTS = (32, 16, 8, 4)
"""The most knots of a feature: the first of these numbers that fits the limit and the rows."""
MAX_KNOT_SHARE = 0.05
"""The share of a limit on parameters that one dimension of all embeddings may take."""
MAX_BYTES_SHARE = 0.1
"""The share of a limit on bytes, which counts the knots, too."""
KNOT_BYTES = 4
MIN_ROWS_PER_KNOT = 100
"""Training rows for each knot of a feature: with few rows, embeddings fit noise."""
MAX_SUMMARY_ROWS = 250_000
"""Rows that quantiles are taken of; more would change them by less than a thousandth."""


def fit_knot_rule(numeric: NDArray[np.float32], settings: RunSettings) -> KnotRule | None:
    """Return the rule for encoded training rows; None if numbers are not embedded."""
    if not settings.embeds_numbers:
        return None
    is_requested = settings.numeric_dimensions is not None
    return KnotRule.from_rows(numeric, settings.knots, is_requested=is_requested)


@dataclass(frozen=True, eq=False)
class KnotRule:
    """Chooses the knots of every numeric feature, from a summary of its training values."""

    summaries: tuple[NDArray[np.float32], ...]
    rows: int  # for training
    max_knots: int | None  # of a feature, if the user has set it
    is_requested: bool = False  # whether the user has set dimensions of embeddings

    @classmethod
    def from_rows(
        cls,
        numeric: NDArray[np.float32],
        max_knots: int | None = None,
        *,
        is_requested: bool = False,
    ) -> KnotRule:
        """Summarize encoded training rows, [rows, numeric features]: all, or evenly spaced ones."""
        places = np.linspace(0, len(numeric) - 1, min(len(numeric), MAX_SUMMARY_ROWS))
        summaries = summarize_values(numeric[places.astype(np.int64)])
        return cls(tuple(summaries), len(numeric), max_knots, is_requested)

    def choose(self, budget: Budget) -> Knots:
        """Return the knots of every feature; none for a feature that is not embedded.

        A table of too few rows has none at all, unless the user has asked for embeddings.
        """
        if self.max_knots is not None:
            return self._knots(self.max_knots)
        allowed = _max_knots(budget)
        knots = self._knots(KNOT_COUNTS[-1]) if self.is_requested else ()
        for count in KNOT_COUNTS:
            if count * MIN_ROWS_PER_KNOT <= self.rows:
                knots = self._knots(count)
                if sum(map(len, knots)) <= allowed:
                    break
        return knots

    def _knots(self, max_knots: int) -> Knots:
        return tuple(choose_knots(summary, max_knots) for summary in self.summaries)


def _max_knots(budget: Budget) -> float:
    """Return how many knots all features together may have."""
    bytes_per_knot = KNOT_BYTES + get_precision(budget).weight_bytes  # for one dimension
    return min(
        MAX_KNOT_SHARE * get_upper(budget, "parameters"),
        MAX_BYTES_SHARE * get_upper(budget, "bytes") / bytes_per_knot,
    )
