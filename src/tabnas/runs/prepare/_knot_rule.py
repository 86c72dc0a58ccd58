"""The knots of numeric embeddings, by the target, the limit and the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, KnotTarget, Target, choose_target_knots
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.settings import RunSettings
from tabnas.space import Budget

Knots = tuple[tuple[float, ...], ...]

KNOT_COUNTS = (64, 32, 16, 8, 4)
"""The most knots of a feature: the first of these numbers that fits the limit and the rows."""
MAX_KNOT_SHARE = 0.05
"""The share of a limit on parameters that one dimension of all embeddings may take."""
MAX_BYTES_SHARE = 0.1
"""The share of a limit on bytes, which counts the knots, too."""
KNOT_BYTES = 4
MIN_ROWS_PER_KNOT = 100
"""Training rows for each knot of a feature: with few rows, embeddings fit noise."""
MAX_KNOT_ROWS = 100_000
"""Rows that knots are chosen by; of more, evenly spaced ones."""


def fit_knot_rule(rows: EncodedRows, target: Target, settings: RunSettings) -> KnotRule | None:
    """Return the rule for training rows; None if numbers are not embedded."""
    if not settings.embeds_numbers:
        return None
    classes = len(target.classes) if isinstance(target, ClassTarget) else 0
    return KnotRule.from_rows(
        rows.encoded.numeric,
        KnotTarget(rows.training_target, classes, rows.training_weight),
        settings.knots,
        is_requested=settings.numeric_dimensions is not None,
    )


@dataclass(frozen=True, eq=False)
class KnotRule:
    """Chooses the knots of every numeric feature within a limit."""

    by_count: Mapping[int, Knots]  # the knots of all features, by the most that one may have
    rows: int  # for training
    is_requested: bool = False  # whether the user has set dimensions of embeddings

    @classmethod
    def from_rows(
        cls,
        numeric: NDArray[np.float32],
        target: KnotTarget,
        max_knots: int | None = None,
        *,
        is_requested: bool = False,
    ) -> KnotRule:
        """Choose knots by encoded training rows, [rows, numeric features].

        `max_knots` is the most that a feature may have, if the user has set it.
        """
        rows = len(numeric)
        if rows > MAX_KNOT_ROWS:
            places = np.linspace(0, rows - 1, MAX_KNOT_ROWS).astype(np.int64)
            numeric, target = numeric[places], target.take(places)
        counts = KNOT_COUNTS if max_knots is None else (max_knots,)
        return cls(choose_target_knots(numeric, target, counts), rows, is_requested)

    def choose(self, budget: Budget) -> Knots:
        """Return the knots of every feature; none for a feature that is not embedded.

        A table of too few rows has none at all, unless the user has asked for embeddings.
        """
        fewest = self.by_count[min(self.by_count)]
        if len(self.by_count) == 1:
            return fewest
        allowed = _max_knots(budget)
        knots = fewest if self.is_requested else ()
        for count, chosen in self.by_count.items():
            if count * MIN_ROWS_PER_KNOT <= self.rows:
                knots = chosen
                if sum(map(len, knots)) <= allowed:
                    break
        return knots


def _max_knots(budget: Budget) -> float:
    """Return how many knots all features together may have."""
    bytes_per_knot = KNOT_BYTES + budget.precision.weight_bytes  # for one dimension
    return min(
        MAX_KNOT_SHARE * budget.get_upper("parameters"),
        MAX_BYTES_SHARE * budget.get_upper("bytes") / bytes_per_knot,
    )
