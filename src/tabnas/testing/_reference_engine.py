"""The engine that others are compared with, in plain NumPy and without optimizations.

It is also the shortest engine, a starting point for writing another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.nets import (
    MAX_GRADIENT_NORM,
    NUMERIC_EMBEDDING,
    SGD,
    Adam,
    Child,
    DenseLayer,
    Examples,
    Optimizer,
    RowIndex,
    State,
    SuperNetShape,
    read_between_knots,
)
from tabnas.testing._plain_network import Arrays, compute_loss_and_gradients, forward, mean_loss
from tabnas.types import BoolArray, Float32Array, FloatArray, IntArray

KINDS = ("weight", "first_moment", "second_moment")


class ReferenceEngine:
    """Implements `tabnas.nets.Engine`, with float32 weights and moments and float64 arithmetic."""

    def __init__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        *,
        workers: int,
        device: str,
    ) -> None:
        self._shape = shape
        self._optimizer = optimizer
        kinds = KINDS[: 1 + optimizer.moments]
        self._state: State = {
            f"{kind}/{name}": np.zeros(size, np.float32)
            for kind in kinds
            for name, size in shape.shapes().items()
        }
        for layer in shape.dense_layers:
            bins = len(layer.in_widths), len(layer.out_widths)
            self._state[f"steps/{layer.name}"] = np.zeros(bins, np.int64)
        for name, (categories, _) in shape.category_embeddings.items():
            self._state[f"steps/{name}"] = np.zeros(categories, np.int64)
        if shape.knots:
            bins = len(shape.table_dimensions), shape.knots
            self._state[f"steps/{NUMERIC_EMBEDDING}"] = np.zeros(bins, np.int64)
        for name in shape.shapes():
            self._state[f"weight/{name}"][...] = weights[name]

    # -- training --------------------------------------------------------------------------------

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rates: Sequence[float],
    ) -> list[float]:
        """Take one step after another; return their losses, up to the first that is not finite."""
        for batch in rows:  # all before the first step, so that an error changes nothing
            _row_numbers(examples, batch, weighted=True)
        losses: list[float] = []
        for child, batch, learning_rate in zip(children, rows, learning_rates, strict=True):
            losses += self.train_step_workers([child], examples, [batch], learning_rate)
            if not isfinite(losses[-1]):
                break
        return losses

    def train_step_workers(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rate: float,
    ) -> list[float]:
        """Make one step with the average gradient of several children, each on its own rows."""
        batches = [_row_numbers(examples, batch, weighted=True) for batch in rows]
        found = [
            self._compute_gradients(child, examples, batch)
            for child, batch in zip(children, batches, strict=True)
        ]
        losses = [loss for loss, _ in found]
        if not all(map(isfinite, losses)):
            return losses
        average: Arrays = {name: np.zeros(size) for name, size in self._shape.shapes().items()}
        for _, gradients in found:
            for name, gradient in gradients.items():
                average[name][_leading(gradient.shape)] += gradient / len(children)
        parts = [self._shape.child_shapes(child) for child in children]
        for layer in self._shape.dense_layers:
            self._update_layer(
                layer, [p for p in parts if f"{layer.name}.weight" in p], average, learning_rate
            )
        for column, name in enumerate(self._shape.category_embeddings):
            used = np.zeros(len(average[name]), np.bool_)
            for batch in batches:
                used[examples.categorical[batch, column]] = True
            steps = self._count_steps(name, used)
            self._update(name, average[name], used[:, None], steps[:, None], learning_rate)
        if self._shape.knots:
            self._update_numeric(children, examples, batches, average, learning_rate)
        return losses

    def _update_numeric(
        self,
        children: Sequence[Child],
        examples: Examples,
        batches: Sequence[IntArray],
        average: Arrays,
        learning_rate: float,
    ) -> None:
        """Update the knots of numeric embeddings next to a value, in the dimensions in use."""
        dimensions = np.array(self._shape.table_dimensions)
        bins = np.zeros((len(dimensions), self._shape.knots), np.bool_)
        for child, batch in zip(children, batches, strict=True):
            shares = read_between_knots(examples.spec.inputs, examples.numeric[batch])
            bins[dimensions <= child.architecture.dimension] |= shares.any(axis=(0, 1))
        steps = self._count_steps(NUMERIC_EMBEDDING, bins)
        row = np.searchsorted(dimensions, np.arange(dimensions[-1]), side="right")
        self._update(
            NUMERIC_EMBEDDING, average[NUMERIC_EMBEDDING], bins[row], steps[row], learning_rate
        )

    def _update_layer(
        self,
        layer: DenseLayer,
        parts: Sequence[Mapping[str, Any]],
        average: Arrays,
        learning_rate: float,
    ) -> None:
        """Update the blocks of a dense layer that some children use."""
        rows, columns = np.array(layer.in_widths), np.array(layer.out_widths)
        bins = np.zeros((len(rows), len(columns)), np.bool_)
        for part in parts:
            fan_in, fan_out = part[f"{layer.name}.weight"]
            bins |= np.logical_and.outer(rows <= fan_in, columns <= fan_out)
        steps = self._count_steps(layer.name, bins)
        # from one value per bin to one per element
        row = np.searchsorted(rows, np.arange(layer.fan_in), side="right")
        column = np.searchsorted(columns, np.arange(layer.fan_out), side="right")
        used, steps = bins[row][:, column], steps[row][:, column]
        weight, *vectors = (n for n in average if n.startswith(f"{layer.name}."))
        self._update(
            weight, average[weight], used, steps, learning_rate, self._optimizer.weight_decay
        )
        for name in vectors:  # a column is used wherever its first row is
            self._update(name, average[name], used[0], steps[0], learning_rate)

    def _count_steps(self, name: str, used: BoolArray) -> IntArray:
        steps = self._state[f"steps/{name}"]
        if isinstance(self._optimizer, Adam):
            steps[used] += 1
        return np.maximum(1, steps)

    def _update(
        self,
        name: str,
        g: FloatArray,
        used: BoolArray,
        n: IntArray,
        learning_rate: float,
        decay: float = 0,
    ) -> None:
        """Apply the formulas of `tabnas.nets._optimizers` to the used elements; n: their steps."""
        held = [self._state[f"{kind}/{name}"] for kind in KINDS[: 1 + self._optimizer.moments]]
        w, *moments = (array.astype(np.float64) for array in held)
        settings = self._optimizer
        step = g
        if isinstance(settings, SGD):
            if moments:
                moments = [settings.momentum * moments[0] + g]
                step = moments[0]
        elif isinstance(settings, Adam):
            m = settings.beta1 * moments[0] + (1 - settings.beta1) * g
            v = settings.beta2 * moments[1] + (1 - settings.beta2) * g**2
            moments = [m, v]
            root = np.sqrt(v / (1 - settings.beta2**n))
            step = m / (1 - settings.beta1**n) / (root + settings.epsilon)
        new = [w - learning_rate * decay * w - learning_rate * step, *moments]
        for array, values in zip(held, new, strict=True):
            array[...] = np.where(used, values, array)

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        """Return the weighted mean loss."""
        numbers = _row_numbers(examples, rows, weighted=True)
        logits, *_ = forward(self._child(child), child, examples, numbers)
        return _float32(mean_loss(logits, examples, numbers)[0])

    def losses(self, children: Sequence[Child], examples: Examples, rows: RowIndex) -> list[float]:
        """Return the loss of each child, all on the same rows."""
        return [self.loss(child, examples, rows) for child in children]

    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Float32Array:
        """Return the logits, [rows, outputs]."""
        numbers = _row_numbers(examples, rows, weighted=False)
        return forward(self._child(child), child, examples, numbers)[0].astype(np.float32)

    def gradients(
        self, child: Child, examples: Examples, rows: RowIndex
    ) -> dict[str, Float32Array]:
        """Return the gradient of every array the child uses, in the child's shapes."""
        loss, found = self._compute_gradients(
            child, examples, _row_numbers(examples, rows, weighted=True)
        )
        if not isfinite(loss):
            raise TabNASError(f"the loss or its gradient must be finite, got {loss}")
        return {name: gradient.astype(np.float32) for name, gradient in found.items()}

    def _child(self, child: Child) -> Arrays:
        shapes = self._shape.child_shapes(child)
        weights = self.weights()
        return {n: weights[n][_leading(size)].astype(np.float64) for n, size in shapes.items()}

    def _compute_gradients(
        self, child: Child, examples: Examples, rows: IntArray
    ) -> tuple[float, Arrays]:
        """Return the loss, infinite if it or its gradient overflows, and the gradients."""
        loss, found, input_gradient = compute_loss_and_gradients(
            self._child(child), child, examples, rows
        )
        squares = sum(float(np.square(g).sum()) for g in (*found.values(), input_gradient))
        unit = 0
        for column, (name, size) in enumerate(self._shape.category_embeddings.items()):
            found[name] = np.zeros(size)
            ids = examples.categorical[rows, column]
            np.add.at(found[name], ids, input_gradient[:, unit : unit + size[1]])
            unit += size[1]
        if dimension := child.architecture.dimension:
            grad = input_gradient[:, unit:].reshape(len(rows), dimension, -1)
            shares = read_between_knots(examples.spec.inputs, examples.numeric[rows])
            found[NUMERIC_EMBEDDING] = np.einsum("rdc,rck->dk", grad, shares)
        return (_float32(loss) if squares < MAX_GRADIENT_NORM**2 else inf), found

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Return every array of the SuperNet, without copying."""
        return {name: self._state[f"weight/{name}"] for name in self._shape.shapes()}

    def weight_buffers(self) -> list[Float32Array]:
        """Return every array of the SuperNet, without copying."""
        return list(self.weights().values())

    def load_weight_buffers(self, buffers: Sequence[Float32Array]) -> None:
        """Replace all weights; moments and step counts do not change."""
        for array, buffer in zip(self.weights().values(), buffers, strict=True):
            array[...] = buffer

    def state_dict(self) -> State:
        """Return copies of weights, moments and step counts."""
        return {name: array.copy() for name, array in self._state.items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of any engine."""
        for name, array in self._state.items():
            array[...] = state[name]


def _float32(number: float) -> float:
    """Round to float32; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _row_numbers(examples: Examples, rows: RowIndex, *, weighted: bool) -> IntArray:
    """Return the row numbers, after checking their range and, if `weighted`, their weights."""
    total = len(examples)
    numbers = np.arange(total)[rows] if isinstance(rows, slice) else rows
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= total:
        raise TabNASError(
            f"there must be at least one row, and rows must be between 0 and {total - 1}"
        )
    if weighted and len(examples.weight) and not examples.weight[numbers].any():
        raise TabNASError("at least one row of a batch must have a weight above 0, got none")
    return numbers


def _leading(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(size) for size in shape)
