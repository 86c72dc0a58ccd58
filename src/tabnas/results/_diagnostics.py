"""Diagnostics of a model on rows it was not trained on: errors, calibration, importance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from tabnas.decoding import Count, MaxLength
from tabnas.results._fields import Label, Real

MAX_CLASSES = 100
MAX_BINS = 200
MAX_PAIRS = 2_000


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix: rows are true classes, columns predicted classes.

    The rarest of many classes share the last row and column.
    """

    classes: tuple[Label, ...]  # without those that are pooled
    pooled_classes: Count
    correct: Count  # also of pooled classes
    counts: tuple[tuple[Count, ...], ...]

    def __post_init__(self) -> None:
        size = len(self.classes) + bool(self.pooled_classes)
        if not 0 < size <= MAX_CLASSES or [len(row) for row in self.counts] != [size] * size:
            raise ValueError(
                f"counts must be a square matrix of its {size} classes, at most {MAX_CLASSES}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rows and columns."""
        names = tuple(map(str, self.classes))
        return (*names, f"{self.pooled_classes:,} others") if self.pooled_classes else names


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows with about the same predicted probability, and how often the class occurred."""

    low: Real
    high: Real
    rows: Count
    predicted: Real  # the mean probability
    observed: Real  # the share of rows of the class, with its 95 % interval
    observed_low: Real
    observed_high: Real


@dataclass(frozen=True)
class Reliability:
    """The calibration of predicted probabilities, as a reliability diagram shows it."""

    probability_of: Literal["second class", "most likely class"]
    calibration_error: Real  # expected calibration error: mean |predicted - observed| over rows
    bins: Annotated[tuple[ReliabilityBin, ...], MaxLength(MAX_BINS)]


@dataclass(frozen=True)
class Histogram:
    """Counts between neighbouring edges."""

    edges: tuple[Real, ...]
    counts: Annotated[tuple[Count, ...], MaxLength(MAX_BINS)]

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError(
                f"there must be one edge more than counts, got {len(self.edges)} edges and "
                f"{len(self.counts)} counts"
            )


@dataclass(frozen=True)
class Residuals:
    """The errors of a regression, y_true - y_pred, and a sample of both."""

    quantiles: Mapping[str, Real]  # by their level, like "0.5"
    histogram: Histogram
    y_true: Annotated[tuple[Real, ...], MaxLength(MAX_PAIRS)]
    y_pred: tuple[Real, ...]

    def __post_init__(self) -> None:
        if len(self.y_true) != len(self.y_pred):
            raise ValueError(
                f"y_true and y_pred must have the same length, got {len(self.y_true)} and "
                f"{len(self.y_pred)}"
            )
        for level in self.quantiles:
            if not re.fullmatch(r"[01](\.[0-9]{1,9})?", level, re.ASCII):
                raise ValueError(f"quantiles must be named by levels like 0.5, got {level!r}")

    @property
    def quantiles_by_level(self) -> dict[float, float]:
        """The quantiles by their level as a number."""
        return {float(level): value for level, value in self.quantiles.items()}


@dataclass(frozen=True)
class ColumnImportance:
    """The increase of the loss when one column is shuffled, over several repeats."""

    increase: Real  # mean
    std: Real


@dataclass(frozen=True)
class Importance:
    """The permutation importance of every column, by the metric of the run."""

    rows: Count
    repeats: Count
    columns: Mapping[str, ColumnImportance]

    @property
    def sorted_columns(self) -> list[tuple[str, ColumnImportance]]:
        """The columns, the most important first."""
        return sorted(self.columns.items(), key=lambda item: -item[1].increase)


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """What was found on rows that the network was not trained on."""

    split: Literal["test", "validation"]
    rows: Count
    confusion: Confusion | None = None
    reliability: Reliability | None = None
    residuals: Residuals | None = None
    importance: Importance | None = None
