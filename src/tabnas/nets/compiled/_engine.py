"""The compiled engine: owns the buffers, hands them to the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.nets._engine import Rows, State
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import Child, SuperNetShape
from tabnas.nets.compiled._kernels import KERNELS, PIECE
from tabnas.nets.compiled._layout import (
    bias_corrections,
    lay_out,
    optimizer_settings,
    table_views,
    views,
)
from tabnas.nets.compiled._strides import room
from tabnas.nets.compiled._vectors import LANES
from tabnas.nets.compiled._workers import Crew
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
            raise TabnasError(f"the compiled engine runs on the cpu, however {device!r} was given")
        self._shape = shape
        self._layout = layout = lay_out(shape)
        self._crew = Crew(workers, KERNELS.signal_and_watch)
        copies = 1 + optimizer.moments
        self._parameters = np.zeros((copies, layout.size), np.float32)
        self._tables = np.zeros((copies, layout.table_size), np.float32)
        self._steps = np.zeros(layout.step_counts, np.int64)
        self._row_steps = np.zeros(layout.categories, np.int64)
        self._update_arrays = (
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
        """Make room for a batch of that many rows, if there is not."""
        if rows <= self._capacity:
            return
        workers, inputs = self._workers, self._shape.task.inputs
        embedded = room(inputs.width - inputs.numeric)
        # children use other widths than the widest, with strides of their own
        strides = [room(matrix.fan_out) for matrix in self._shape.matrices]
        hidden = sum(2 * room(matrix.fan_out) + 1 for matrix in self._shape.hidden)
        outputs = room(self._shape.task.outputs)
        per_row = hidden + room(inputs.width + LANES) + outputs + 2 * max(*strides, embedded)
        across = max(
            (matrix.fan_out + LANES) * room(matrix.fan_in) for matrix in self._shape.matrices
        )
        self._space = np.zeros((workers, rows * per_row + across), np.float32)
        self._ids = np.zeros((workers, len(inputs.embeddings), rows), np.int32)
        self._embedding_slopes = np.zeros((workers, rows, embedded + LANES), np.float32)
        # put together once, since a step of a small network takes but some tens of microseconds
        network = (*self._layout.plan, self._parameters, self._tables)
        batch = (self._space, self._gradients, self._ids, self._embedding_slopes)
        self._train_arrays = (*network, *self._update_arrays, *batch)
        self._evaluation_arrays = (*network, self._space, self._ids)
        self._capacity = rows  # only now: what fails above must not leave a promise behind

    # -- training --------------------------------------------------------------------------------

    def train_step(self, child: Child, examples: Examples, rows: Rows, rate: float) -> float:
        """One step of one child; returns the loss before it. Not finite: nothing has moved."""
        listed, start, count = _rows(rows, examples)
        if count > self._capacity:
            self._reserve(count)
        self._counts[0] = count
        try:
            return KERNELS.train(
                *self._train_arrays, *examples.arrays, child.widths[None], 0, self._counts, NO_ROWS,
                listed, start, count, rate,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _explained(error, examples) from None

    def train_step_workers(
        self, children: Sequence[Child], examples: Examples, rows: Sequence[Rows], rate: float
    ) -> list[float]:
        """One step by the average gradient of several children, each on its own rows."""
        batches = [_rows(batch, examples) for batch in rows]
        counts = np.array([batch[2] for batch in batches], np.int64)
        self._reserve(int(counts.max()))
        widths = np.stack([child.widths for child in children])

        board = self._crew.board

        def gradient(worker: int) -> float:
            return KERNELS.train(
                *self._train_arrays, *examples.arrays, widths, worker, NO_ROWS, board,
                *batches[worker], rate,
            )  # fmt: skip

        try:
            losses = self._crew.run(gradient, len(children))
        except KERNEL_ERRORS as error:
            raise _explained(error, examples) from None
        if np.isfinite(losses).all():
            KERNELS.train(
                *self._train_arrays,
                *examples.arrays,
                widths,
                -1,
                counts,
                NO_ROWS,
                NO_ROWS,
                0,
                0,
                rate,
            )
        return losses

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: Child, examples: Examples, rows: Rows) -> float:
        """The weighted mean loss."""
        listed, start, count = _rows(rows, examples)
        self._reserve(min(count, PIECE))
        try:
            return KERNELS.evaluate(
                *self._evaluation_arrays, *examples.arrays, child.widths, listed, start, count,
                NO_LOGITS,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _explained(error, examples) from None

    def losses(self, children: Sequence[Child], examples: Examples, rows: Rows) -> list[float]:
        """The loss of each child, all on the same rows."""
        return [self.loss(child, examples, rows) for child in children]

    def logits(self, child: Child, examples: Examples, rows: Rows) -> Float32Array:
        """[rows, outputs]."""
        listed, start, count = _rows(rows, examples)
        self._reserve(min(count, PIECE))
        out = np.empty((count, self._shape.task.outputs), np.float32)
        try:
            KERNELS.evaluate(
                *self._evaluation_arrays, *examples.arrays, child.widths, listed, start, count, out
            )
        except KERNEL_ERRORS as error:
            raise _explained(error, examples) from None
        return out

    def gradients(self, child: Child, examples: Examples, rows: Rows) -> dict[str, Float32Array]:
        """The gradient of every array the child uses, in the child's shapes."""
        batch = _rows(rows, examples)
        self._reserve(batch[2])
        try:
            loss = KERNELS.train(
                *self._train_arrays, *examples.arrays, child.widths[None], 0, NO_ROWS, NO_ROWS,
                *batch, 0.0,
            )  # fmt: skip
        except KERNEL_ERRORS as error:
            raise _explained(error, examples) from None
        if not isfinite(loss):
            raise TabnasError(f"the loss, or its slope, is {loss}: it has no gradient")
        named = views(self._shape, self._layout, self._gradients[0])
        unit = 0
        for column, (name, size) in enumerate(self._shape.embeddings.items()):
            slopes = self._embedding_slopes[0, : batch[2], unit : unit + size[1]]
            named[name] = np.zeros(size, np.float32)
            np.add.at(named[name], self._ids[0, column, : batch[2]], slopes)
            unit += size[1]
        shapes = self._shape.child_shapes(child)
        return {name: leading(named[name], size).copy() for name, size in shapes.items()}

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Every array of the SuperNet, in place."""
        return self._named(0)

    def _named(self, copy: int) -> dict[str, Float32Array]:
        tables = table_views(self._shape, self._layout, self._tables[copy])
        return tables | views(self._shape, self._layout, self._parameters[copy])

    def _state_views(self) -> State:
        state: State = {}
        for copy, kind in enumerate(("weight", "first_moment", "second_moment")):
            if copy < len(self._parameters):
                state |= {f"{kind}/{name}": array for name, array in self._named(copy).items()}
        begin = 0
        for matrix in self._shape.matrices:
            bins = len(matrix.in_edges), len(matrix.out_edges)
            end = begin + bins[0] * bins[1]
            state[f"steps/{matrix.name}"] = self._steps[begin:end].reshape(bins)
            begin = end
        begin = 0
        for name, (categories, _) in self._shape.embeddings.items():
            state[f"steps/{name}"] = self._row_steps[begin : begin + categories]
            begin += categories
        return state

    def state(self) -> State:
        """Copies of all that shapes the future: weights, moments, step counts."""
        return {name: np.array(array, order="C") for name, array in self._state_views().items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of any engine."""
        for name, array in self._state_views().items():
            array[...] = state[name]


def leading(array: Float32Array, shape: tuple[int, ...]) -> Float32Array:
    """The leading block of that shape."""
    return array[tuple(slice(size) for size in shape)]


def _rows(rows: Rows, examples: Examples) -> tuple[IntArray, int, int]:
    """Rows as the kernels take them: a list of numbers, or none and a range."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(examples.numeric))
        return NO_ROWS, start, max(0, stop - start)
    return rows, 0, len(rows)


def _explained(error: Exception, examples: Examples) -> TabnasError:
    if isinstance(error, IndexError):
        return TabnasError(
            f"rows must lie between 0 and {len(examples) - 1} and be at least one, "
            "however others or none were given"
        )
    if isinstance(error, ValueError):
        return TabnasError(
            "a category or class label is out of range: the arrays of the examples have changed "
            "since they were checked"
        )
    return TabnasError("at least one row of a batch must have a weight above 0, however none has")
