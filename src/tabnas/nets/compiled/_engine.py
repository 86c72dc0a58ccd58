"""The compiled engine: it owns the buffers and passes them to the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.nets._engine import RowIndex, State
from tabnas.nets._examples import Examples
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import NUMERIC_EMBEDDING, Child, SuperNetShape
from tabnas.nets.compiled._gradients import BAD_CLASS, BAD_ROWS, NO_WEIGHT
from tabnas.nets.compiled._helper_threads import CALLS, run_with_helpers
from tabnas.nets.compiled._kernels import CHUNK_ROWS, KERNELS
from tabnas.nets.compiled._layout import (
    bias_corrections,
    buffer_size,
    build_layout,
    dense_views,
    embedding_views,
    optimizer_settings,
)
from tabnas.nets.compiled._strides import max_row_stride
from tabnas.nets.compiled._vectors import LANES
from tabnas.types import Float32Array, FloatArray, Int32Array, IntArray

NO_ROWS: IntArray = np.zeros(0, np.int64)
NO_CELLS: IntArray = np.zeros(0, np.int64)
NO_LOGITS: Float32Array = np.zeros((0, 1), np.float32)

WORK_PER_THREAD = 4_000_000
"""Multiply-adds, for the outputs of a step or an evaluation, that are worth a thread."""
WORK_PER_POLL = 400
"""How long the calling thread waits for helpers: at most some percent of the time of a step."""


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
        self._network = (*layout.spec, self._parameters, self._tables)
        self._workers = workers
        self._helper_spaces: dict[int, tuple[Float32Array, Int32Array]] = {}
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
        shape, workers, inputs = self._shape, self._workers, self._shape.spec.inputs
        embedded = max_row_stride(shape.space.input_width(shape.dimensions[-1]) - inputs.numeric)
        self._buffer = np.zeros((workers, buffer_size(shape, rows)), np.float32)
        self._ids = np.zeros((workers, len(inputs.category_embeddings), rows), np.int32)
        self._embedding_grad = np.zeros((workers, rows, embedded + LANES), np.float32)
        # built once, since a step of a small network takes only some tens of microseconds
        workspace = (self._buffer, self._gradients, self._ids, self._embedding_grad)
        self._train_arrays = (*self._network, *self._optimizer_arrays, *workspace)
        self._capacity = rows  # set last: an allocation above may fail

    def _helper_space(self, helper: int) -> tuple[Float32Array, Int32Array]:
        """Return the memory in which a helper evaluates a chunk: a buffer and ids."""
        if helper not in self._helper_spaces:
            embeddings = len(self._shape.spec.inputs.category_embeddings)
            buffer = np.zeros(buffer_size(self._shape, CHUNK_ROWS), np.float32)
            ids = np.zeros((embeddings, CHUNK_ROWS), np.int32)
            self._helper_spaces[helper] = buffer, ids
        return self._helper_spaces[helper]

    # -- training --------------------------------------------------------------------------------

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rates: Sequence[float],
    ) -> list[float]:
        """Take one step after another, each of one child, in one call; see `Engine`."""
        units = children[0].units
        if len(children) > 1:
            units = np.concatenate([child.units for child in children])
        losses = np.empty((len(children), 1))
        batches, work = self._prepare_rows(children, examples, rows)
        units, work = units.reshape(len(children), 1, -1), work // len(children)
        count = self._train(examples, units, batches, np.array(learning_rates), losses, work)
        taken: list[float] = losses[:count, 0].tolist()
        return taken

    def train_step_workers(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the average gradient of several children, each on its own rows."""
        units = np.concatenate([child.units for child in children]).reshape(1, len(children), -1)
        losses = np.empty((1, len(children)))
        batches, work = self._prepare_rows(children, examples, rows, workers=len(children))
        self._train(examples, units, batches, np.array([learning_rate]), losses, work)
        return [float(loss) for loss in losses[0]]

    def _prepare_rows(
        self,
        children: Sequence[Child],
        examples: Examples,
        batches: Sequence[RowIndex],
        workers: int = 1,
    ) -> tuple[tuple[IntArray, IntArray], int]:
        """Return [steps, workers] batches as `train` takes them, and the multiply-adds of all.

        These are those for the outputs. Memory for the batches is reserved.
        """
        if len(batches) == 1:  # at once: small networks take little longer than this
            rows, start, count = _rows(batches[0], examples)
            self._reserve(count)
            spans = np.array([start, count]).reshape(2, 1, 1)
            return (rows, spans), children[0].multiply_adds * count
        parts = [_rows(batch, examples) for batch in batches]
        starts, counts = [part[1] for part in parts], [part[2] for part in parts]
        self._reserve(max(counts))
        work = sum(
            child.multiply_adds * count for child, count in zip(children, counts, strict=True)
        )
        rows = NO_ROWS
        if any(len(listed) for listed, _, _ in parts):
            rows = np.concatenate(
                [
                    listed if len(listed) else np.arange(start, start + count)
                    for listed, start, count in parts
                ]
            )
            starts = list(accumulate(counts[:-1], initial=0))
        return (rows, np.array((starts, counts)).reshape(2, -1, workers)), work

    def _train(
        self,
        examples: Examples,
        units: IntArray,
        batches: tuple[IntArray, IntArray],
        learning_rates: FloatArray,
        losses: FloatArray,
        work: int,
        updates: int = 1,
    ) -> int:
        """Call the kernel `train`, with helpers if a step has much work; return its outcome."""
        arguments = (
            *self._train_arrays, *examples.arrays, units, *batches, learning_rates, losses, updates,
            CALLS,
        )  # fmt: skip

        def train(helper: int, cells: IntArray) -> int:
            return KERNELS.train(*arguments, cells, helper)

        outcome, threads = None, work // WORK_PER_THREAD
        if threads > 1:
            workers = units.shape[1]
            most = workers if workers > 1 else int(batches[1][1].max()) // LANES
            outcome = run_with_helpers(train, min(threads, most) - 1, work // WORK_PER_POLL)
        return _check(train(0, NO_CELLS) if outcome is None else outcome, examples)

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        """Return the weighted mean loss."""
        total = 0.0
        for loss in self._evaluate(child, examples, rows, NO_LOGITS).tolist():
            total += loss
        return total

    def losses(self, children: Sequence[Child], examples: Examples, rows: RowIndex) -> list[float]:
        """Return the loss of each child, all on the same rows."""
        return [self.loss(child, examples, rows) for child in children]

    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Float32Array:
        """Return the logits [rows, outputs]."""
        out = np.empty((_rows(rows, examples)[2], self._shape.spec.outputs), np.float32)
        self._evaluate(child, examples, rows, out)
        return out

    def _evaluate(
        self, child: Child, examples: Examples, rows: RowIndex, out: Float32Array
    ) -> FloatArray:
        """Call the kernel `evaluate`; return the parts of the loss."""
        listed, start, count = _rows(rows, examples)
        self._reserve(min(count, CHUNK_ROWS))
        losses = np.zeros(-(-count // CHUNK_ROWS))
        arguments = (*examples.arrays, child.units, listed, start, count, out, losses, CALLS)

        def evaluate(helper: int, cells: IntArray) -> int:
            space = self._helper_space(helper) if helper else (self._buffer[0], self._ids[0])
            return KERNELS.evaluate(*self._network, *space, *arguments, cells, helper)

        outcome, threads = None, child.multiply_adds * count // WORK_PER_THREAD
        if len(losses) > 1 and threads > 1:
            outcome = run_with_helpers(evaluate, min(threads, len(losses)) - 1, patience=0)
        _check(evaluate(0, NO_CELLS) if outcome is None else outcome, examples)
        return losses

    def gradients(
        self, child: Child, examples: Examples, rows: RowIndex
    ) -> dict[str, Float32Array]:
        """Return the gradient of every array the child uses, in the child's shapes."""
        (batches, _), losses = self._prepare_rows([child], examples, [rows]), np.empty((1, 1))
        units, count = child.units.reshape(1, 1, -1), int(batches[1][1, 0, 0])
        self._train(examples, units, batches, np.zeros(1), losses, work=0, updates=0)
        if not isfinite(loss := float(losses[0, 0])):
            raise TabNASError(f"the loss, or its gradient, is {loss}; it cannot be differentiated")
        named = dense_views(self._shape, self._layout, self._gradients[0])
        unit = 0
        for column, (name, size) in enumerate(self._shape.category_embeddings.items()):
            grad = self._embedding_grad[0, :count, unit : unit + size[1]]
            named[name] = np.zeros(size, np.float32)
            np.add.at(named[name], self._ids[0, column, :count], grad)
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
        for name, (categories, _) in self._shape.category_embeddings.items():
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


def _rows(rows: RowIndex, examples: Examples) -> tuple[IntArray, int, int]:
    """Return rows as the kernels take them: their numbers, or none and a range."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(examples.numeric))
        return NO_ROWS, start, max(0, stop - start)
    return rows, 0, len(rows)


def _check(outcome: int, examples: Examples) -> int:
    """Return the outcome of a kernel; raise an error if it is a problem."""
    if outcome == BAD_ROWS:
        raise TabNASError(
            f"rows must be at least one, each from 0 to {len(examples) - 1}, got none or others"
        )
    if outcome == BAD_CLASS:
        raise TabNASError(
            "a category or class label is out of range: the arrays of the examples have changed "
            "since they were checked"
        )
    if outcome == NO_WEIGHT:
        raise TabNASError("at least one row of a batch must have a weight above 0, got none")
    return outcome
