"""Weights in 8 bits, and what that does to the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Encoded, Table, rows_with_target
from tabnas.errors import TabNASError
from tabnas.export._build import Built
from tabnas.export._engine import Engine
from tabnas.export._network import Float32Array, Int8, Weight
from tabnas.export._parity import file_inputs, prediction
from tabnas.model import Metric, Model, primary_loss

LARGEST = 127


@dataclass(frozen=True, kw_only=True)
class Quantised:
    """A score before and after, on the same rows."""

    metric: str
    rows: int
    float32_score: float
    int8_score: float
    float32_bytes: int
    margin: float  # that was allowed, of the score


def quantise(weights: Mapping[str, Float32Array]) -> dict[str, Weight]:
    """Matrices with a scale for each output unit, embeddings with one; vectors stay float32."""
    return {
        name: _rounded(array, None if name.startswith("embedding.") else 0)
        if array.ndim == 2
        else array
        for name, array in weights.items()
    }


def refuse_larger(exact: Built, rounded: Built) -> None:
    """In a small network, scales and their nodes take more than the integers save."""
    before, after = len(exact.data), len(rounded.data)
    if after >= before:
        raise TabNASError(
            f"a file of int8 weights must be smaller than one of float32, but it would have "
            f"{after:,} bytes and float32 has {before:,}; nothing was written. Export float32"
        )


def meant(model: Model, weights: Mapping[str, Weight]) -> Model:
    """The model whose weights are what the rounded ones stand for."""
    floats = {name: w.floats if isinstance(w, Int8) else w for name, w in weights.items()}
    return replace(model, weights=floats)


def _rounded(array: Float32Array, axis: int | None) -> Int8:
    largest = np.abs(array).max(axis=axis)
    scale = np.asarray(np.where(largest > 0, largest / LARGEST, 1), np.float32)
    scale = np.maximum(scale, np.finfo(np.float32).tiny)
    values = np.clip(np.rint(array / scale), -LARGEST, LARGEST).astype(np.int8)
    return Int8(values=values, scale=np.asarray(scale, np.float32))


def rows_with_truth(model: Model, rows: Table | None, answers: Any) -> tuple[Table, NDArray[Any]]:
    """Return the rows of a table whose target is known, and their truth; refuse to have none."""
    present = np.empty(0, np.int64) if answers is None else rows_with_target(answers, model.target)
    if rows is None or not len(present):
        raise TabNASError(
            f"int8 weights must be measured on rows with the target {model.target.name!r}, got "
            "none; give a table that has it to be checked on"
        )
    return rows.take(present), model.target.truth(answers.take(present))


def measured(
    model: Model,
    metric: Metric,
    rows: Table | Encoded,
    truth: NDArray[Any],
    exact: tuple[Built, Engine],
    rounded: tuple[Built, Engine],
    margin: float,
    float32_bytes: int,
) -> Quantised:
    """Score both files on rows and their truth; a loss of more than the margin is refused."""
    losses = []
    for built, engine in (exact, rounded):
        said = prediction(model, built, engine.run(file_inputs(model, built, rows)))
        losses.append(primary_loss(metric, model.target, truth, said))
    # the loss of a metric that is better when greater is its negative, and the other way round
    before, after = (metric.loss(loss) for loss in losses)
    if losses[1] - losses[0] > margin * abs(losses[0]):
        raise TabNASError(
            f"int8 weights must keep {metric.name} within {margin:.2%} of {before:.5g}, but "
            f"it is {after:.5g} on {len(rows):,} rows; nothing was written. Allow a larger "
            "margin, or export float32"
        )
    return Quantised(
        metric=metric.name,
        rows=len(rows),
        float32_score=before,
        int8_score=after,
        float32_bytes=float32_bytes,
        margin=margin,
    )
