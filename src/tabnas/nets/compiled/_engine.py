"""The compiled engine: it owns the buffers and passes them to the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.nets._engine import Rows, State
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import NUMERIC_EMBEDDING, Child, SuperNetShape
from tabnas.nets.compiled._kernels import CHUNK_ROWS, KERNELS
from tabnas.nets.compiled._layout import (
    bias_corrections,
    build_layout,
    dense_views,
    embedding_views,
    optimizer_settings,
)
from tabnas.nets.compiled._strides import max_row_stride, size_of_positions
from tabnas.nets.compiled._vectors import LANES
from tabnas.nets.compiled._worker_pool import WorkerPool
from tabnas.types import IntArray

KERNEL_ERRORS = (IndexError, ValueError, ZeroDivisionError)
NO_ROWS: IntArray = np.zeros(0, np.int64)
NO_LOGITS: Float32Array = np.zeros((0, 1), np.float32)


class CompiledEngine:
    """See `tabnas.nets._engine.Engine`."""

    def __init__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        *,
        workers: int,
        device: str,
    ) -> None:
        if device != "cpu":
            raise TabNASError(f"device must be 'cpu' for the compiled engine, got {device!r}")
        self._shape = shape
        self._layout = layout = build_layout(shape)
        self._pool = WorkerPool(workers, KERNELS.count_and_poll)
        copies = 1 + optimizer.moments
        self._parameters = np.zeros((copies, layout.size), np.float32)
        self._tables = np.zeros((copies, layout.table_size), np.float32)
        self._steps = np.zeros(layout.step_counts, np.int64)
        self._row_steps = np.zeros(layout.categories, np.int64)
        self._optimizer_arrays = (
            optimizer_settings(optimizer),
            bias_corrections(optimizer),
            self._steps,
            self._row_steps,
            np.full(layout.categories, -1, np.int32),
        )
        self._workers = workers
        self._counts = np.zeros(1, np.int64)
        self._gradients = np.zeros((workers, layout.size), np.float32)
        self._capacity = 0
        self._reserve(1)
        for name, array in self.weights().items():
            array[...] = weights[name]

    # -- memory ----------------------------------------------------------------------------------

    def _reserve(self, rows: int) -> None:
        """Enlarge the workspace to a batch of that many rows, if it is smaller."""
        if rows <= self._capacity:
            return
        shape, workers, inputs = self._shape, self._workers, self._shape.task.inputs
        width = shape.space.input_width(shape.dimensions[-1])
        columns = len(inputs.embedded) if shape.knots else 0
        embedded = max_row_stride(width - inputs.numeric)
        # a narrower child may have a larger stride than the widest
        strides = [max_row_stride(layer.fan_out) for layer in shape.dense_layers]
        hidden = sum(2 * max_row_stride(layer.fan_out) + 1 for layer in shape.hidden_layers)
        ends = max_row_stride(width + LANES) + max_row_stride(shape.task.outputs)
        per_row = hidden + ends + 2 * max(*strides, embedded)
        transposed = max(
            (layer.fan_out + LANES) * max_row_stride(layer.fan_in) for layer in shape.dense_layers
        )
        size = rows * per_row + size_of_positions(columns, rows) + transposed
        self._buffer = np.zeros((workers, size), np.float32)
        self._ids = np.zeros((workers, len(inputs.embeddings), rows), np.int32)
        self._embedding_grad = np.zeros((workers, rows, embedded + LANES), np.float32)
        # built once, since a step of a small network takes only some tens of microseconds
        network = (*self._layout.spec, self._parameters, self._tables)
        workspace = (self._buffer, self._gradients, self._ids, self._embedding_grad)
        self._train_arrays = (*network, *self._optimizer_arrays, *workspace)
        self._evaluation_arrays = (*network, self._buffer, self._ids)
        self._capacity = rows  # set last: an allocation above may fail

    # -- training --------------------------------------------------------------------------------

    def train_step(
        self, child: Child, examples: Examples, rows: Rows, learning_rate: float
    ) -> float:
        """Take one step of one child and return the loss before it; see `Engine`."""
        listed, start, count = _rows(rows, examples)
        if count > self._capacity:
            self._reserve(count)
        self._counts[0] = count
        try:
            return KERNELS.train(
                *self._train_arrays, *examples.arrays, child.units[None], 0, self._counts, NO_ROWS,
                listed, start, count, learning_rate,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _translate_error(error, examples) from None

    def train_step_workers(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[Rows],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the average gradient of several children, each on its own rows."""
        batches = [_rows(batch, examples) for batch in rows]
        counts = np.array([batch[2] for batch in batches], np.int64)
        self._reserve(int(counts.max()))
        units = np.stack([child.units for child in children])
        event_counters = self._pool.event_counters

        def compute_gradient(worker: int) -> float:
            return KERNELS.train(
                *self._train_arrays, *examples.arrays, units, worker, NO_ROWS, event_counters,
                *batches[worker], learning_rate,
            )  # fmt: skip

        try:
            losses = self._pool.run(compute_gradient, len(children))
        except KERNEL_ERRORS as error:
            raise _translate_error(error, examples) from None
        if np.isfinite(losses).all():
            KERNELS.train(
                *self._train_arrays, *examples.arrays, units, -1, counts, NO_ROWS, NO_ROWS, 0, 0,
                learning_rate,
            )  # fmt: skip
        return losses

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: Child, examples: Examples, rows: Rows) -> float:
        """Return the weighted mean loss."""
        listed, start, count = _rows(rows, examples)
        self._reserve(min(count, CHUNK_ROWS))
        try:
            return KERNELS.evaluate(
                *self._evaluation_arrays, *examples.arrays, child.units, listed, start, count,
                NO_LOGITS,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _translate_error(error, examples) from None

    def losses(self, children: Sequence[Child], examples: Examples, rows: Rows) -> list[float]:
        """Return the loss of each child, all on the same rows."""
        return [self.loss(child, examples, rows) for child in children]

    def logits(self, child: Child, examples: Examples, rows: Rows) -> Float32Array:
        """Return the logits [rows, outputs]."""
        listed, start, count = _rows(rows, examples)
        self._reserve(min(count, CHUNK_ROWS))
        out = np.empty((count, self._shape.task.outputs), np.float32)
        try:
            KERNELS.evaluate(
                *self._evaluation_arrays, *examples.arrays, child.units, listed, start, count, out
            )
        except KERNEL_ERRORS as error:
            raise _translate_error(error, examples) from None
        return out

    def gradients(self, child: Child, examples: Examples, rows: Rows) -> dict[str, Float32Array]:
        """Return the gradient of every array the child uses, in the child's shapes."""
        batch = _rows(rows, examples)
        self._reserve(batch[2])
        try:
            loss = KERNELS.train(
                *self._train_arrays, *examples.arrays, child.units[None], 0, NO_ROWS, NO_ROWS,
                *batch, 0.0,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _translate_error(error, examples) from None
        if not isfinite(loss):
            raise TabNASError(f"the loss, or its gradient, is {loss}; it cannot be differentiated")
        named = dense_views(self._shape, self._layout, self._gradients[0])
        unit = 0
        for column, (name, size) in enumerate(self._shape.embeddings.items()):
            grad = self._embedding_grad[0, : batch[2], unit : unit + size[1]]
            named[name] = np.zeros(size, np.float32)
            np.add.at(named[name], self._ids[0, column, : batch[2]], grad)
            unit += size[1]
        shapes = self._shape.child_shapes(child)
        return {name: leading_block(named[name], size).copy() for name, size in shapes.items()}

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Return every array of the SuperNet, in place."""
        return self._named_arrays(0)

    def weight_buffers(self) -> list[Float32Array]:
        """Return the dense layers and the embeddings, in place."""
        return [self._parameters[0], self._tables[0]]

    def load_weight_buffers(self, buffers: Sequence[Float32Array]) -> None:
        """Replace all weights; moments and step counts do not change."""
        self._parameters[0], self._tables[0] = buffers

    def _named_arrays(self, copy: int) -> dict[str, Float32Array]:
        """Return the weights (copy 0) or one of the moments, by name."""
        tables = embedding_views(self._shape, self._layout, self._tables[copy])
        return tables | dense_views(self._shape, self._layout, self._parameters[copy])

    def _state_views(self) -> State:
        state: State = {}
        shape = self._shape
        for copy, kind in enumerate(("weight", "first_moment", "second_moment")):
            if copy < len(self._parameters):
                state |= {
                    f"{kind}/{name}": array for name, array in self._named_arrays(copy).items()
                }
        begin = 0
        for layer in self._shape.dense_layers:
            bins = len(layer.in_widths), len(layer.out_widths)
            end = begin + bins[0] * bins[1]
            state[f"steps/{layer.name}"] = self._steps[begin:end].reshape(bins)
            begin = end
        if shape.knots:
            bins = len(shape.table_dimensions), shape.knots
            state[f"steps/{NUMERIC_EMBEDDING}"] = self._steps[begin:].reshape(bins)
        begin = 0
        for name, (categories, _) in self._shape.embeddings.items():
            state[f"steps/{name}"] = self._row_steps[begin : begin + categories]
            begin += categories
        return state

    def state_dict(self) -> State:
        """Return copies of weights, moments and step counts."""
        return {name: np.array(array, order="C") for name, array in self._state_views().items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load a state that any engine has returned."""
        for name, array in self._state_views().items():
            array[...] = state[name]


def leading_block(array: Float32Array, shape: tuple[int, ...]) -> Float32Array:
    """Return the leading block of that shape."""
    return array[tuple(slice(size) for size in shape)]


def _rows(rows: Rows, examples: Examples) -> tuple[IntArray, int, int]:
    """Return rows as the kernels take them: their numbers, or none and a range."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(examples.numeric))
        return NO_ROWS, start, max(0, stop - start)
    return rows, 0, len(rows)


def _translate_error(error: Exception, examples: Examples) -> TabNASError:
    if isinstance(error, IndexError):
        return TabNASError(
            f"rows must be at least one, each from 0 to {len(examples) - 1}, got none or others"
        )
    if isinstance(error, ValueError):
        return TabNASError(
            "a category or class label is out of range: the arrays of the examples have changed "
            "since they were checked"
        )
    return TabNASError("at least one row of a batch must have a weight above 0, got none")
