"""The torch engine: autograd for the gradients, slices for the updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabnas.errors import TabnasError
from tabnas.nets._engine import LARGEST_NORM, Rows, State
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import Child, SuperNetShape
from tabnas.nets._task import Loss
from tabnas.nets.torch._network import forward, mean_loss

MOMENTS = ("first_moment", "second_moment")


class TorchEngine:
    """See `tabnas.nets._engine.Engine`.

    Step counts are kept per element, [fan_in, fan_out] for a matrix; in the state they are reduced
    to one number for each pair of candidate widths, between which they cannot differ.
    """

    def __init__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        device: str,
    ) -> None:
        self._shape = shape
        self._optimizer = optimizer
        self._device = torch.device(device)
        self._weights = {
            name: torch.tensor(weights[name], device=self._device) for name in shape.shapes()
        }
        self._moments = [
            {name: torch.zeros_like(tensor) for name, tensor in self._weights.items()}
            for _ in range(optimizer.moments)
        ]
        self._steps = {
            name: torch.zeros(tensor.shape, dtype=torch.int64, device=self._device)
            for name, tensor in self._weights.items()
        }
        self._resident: tuple[Examples, dict[str, Tensor]] | None = None

    # -- training --------------------------------------------------------------------------------

    def train_step(self, child: Child, examples: Examples, rows: Rows, rate: float) -> float:
        """One step of one child; returns the loss before it. Not finite: nothing has moved."""
        return self.train_step_workers([child], examples, [rows], rate)[0]

    def train_step_workers(
        self, children: Sequence[Child], examples: Examples, rows: Sequence[Rows], rate: float
    ) -> list[float]:
        """One step by the average gradient of several children, each on its own rows."""
        outcomes = [
            self._backward(child, examples, batch)
            for child, batch in zip(children, rows, strict=True)
        ]
        losses = [loss for loss, _, _ in outcomes]
        if not all(map(isfinite, losses)):
            return losses
        for name in self._weights:
            parts = [(g[name], used[name]) for _, g, used in outcomes if name in g]
            if parts:
                self._move(name, parts, len(children), rate)
        return losses

    def _backward(
        self, child: Child, examples: Examples, rows: Rows
    ) -> tuple[float, dict[str, Tensor], dict[str, Any]]:
        """Loss, inf if its slope exploded; gradients, and the parts of the arrays they are of."""
        used: dict[str, Any] = {
            name: tuple(slice(size) for size in shape)
            for name, shape in self._shape.child_shapes(child).items()
        }
        batch = self._batch(examples, rows)
        inverses = []
        for column, name in enumerate(self._shape.embeddings):
            used[name], inverse = torch.unique(batch["categorical"][:, column], return_inverse=True)
            inverses.append(inverse)
        leaves = {
            name: self._weights[name][part].clone().requires_grad_() for name, part in used.items()
        }
        embedded = [
            leaves[name][inverse]
            for name, inverse in zip(self._shape.embeddings, inverses, strict=True)
        ]
        x = torch.cat([batch["numeric"], *embedded], dim=1)
        loss = self._loss(leaves, child, x, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
        squares = torch.stack([torch.sum(torch.square(g)) for g in gradients.values()])
        value = float(loss.detach())
        if isfinite(value) and not float(squares.sum()) < LARGEST_NORM**2:
            value = inf
        return value, gradients, used

    @torch.no_grad()
    def _move(self, name: str, parts: list[tuple[Tensor, Any]], workers: int, rate: float) -> None:
        """Average the gradients of one array and move the elements that any child used."""
        gradient = torch.zeros_like(self._weights[name])
        active = torch.zeros(gradient.shape, dtype=torch.bool, device=self._device)
        for part_gradient, part in parts:
            gradient[part] += part_gradient / workers
            active[part] = True
        w = self._weights[name]
        if self._optimizer.weight_decay and name.endswith(".weight"):
            w -= torch.where(active, rate * self._optimizer.weight_decay * w, 0.0)
        step = self._adam_step if isinstance(self._optimizer, Adam) else self._sgd_step
        w -= torch.where(active, rate * step(name, gradient, active), 0.0)

    def _sgd_step(self, name: str, g: Tensor, active: Tensor) -> Tensor:
        assert isinstance(self._optimizer, SGD)
        if not self._moments:
            return g
        m = self._moments[0][name]
        m.copy_(torch.where(active, self._optimizer.momentum * m + g, m))
        return m

    def _adam_step(self, name: str, g: Tensor, active: Tensor) -> Tensor:
        settings = self._optimizer
        assert isinstance(settings, Adam)
        steps = self._steps[name]
        steps += active
        m, v = self._moments[0][name], self._moments[1][name]
        m.copy_(torch.where(active, settings.beta1 * m + (1.0 - settings.beta1) * g, m))
        v.copy_(torch.where(active, settings.beta2 * v + (1.0 - settings.beta2) * g * g, v))
        n = steps.clamp(min=1).double()
        first = (1.0 / (1.0 - settings.beta1**n)).float()
        second = (1.0 / torch.sqrt(1.0 - settings.beta2**n)).float()
        return first * m / (second * torch.sqrt(v) + settings.epsilon)

    # -- evaluation ------------------------------------------------------------------------------

    @torch.no_grad()
    def loss(self, child: Child, examples: Examples, rows: Rows) -> float:
        """The weighted mean loss."""
        batch = self._batch(examples, rows)
        return float(self._loss(self._child(child), child, self._inputs(batch), batch))

    @torch.no_grad()
    def logits(self, child: Child, examples: Examples, rows: Rows) -> Float32Array:
        """[rows, outputs]."""
        logits = forward(self._child(child), child, self._inputs(self._batch(examples, rows)))
        return _numpy(logits)

    def gradients(self, child: Child, examples: Examples, rows: Rows) -> dict[str, Float32Array]:
        """The gradient of every array the child uses, in the child's shapes."""
        loss, gradients, used = self._backward(child, examples, rows)
        if not isfinite(loss):
            raise TabnasError(f"the loss, or its slope, is {loss}: it has no gradient")
        whole = {}
        for name, shape in self._shape.child_shapes(child).items():
            tensor = torch.zeros(shape, device=self._device)
            tensor[used[name]] = gradients[name]
            whole[name] = _numpy(tensor)
        return whole

    def _child(self, child: Child) -> dict[str, Tensor]:
        return {
            name: self._weights[name][tuple(slice(size) for size in shape)]
            for name, shape in self._shape.child_shapes(child).items()
        }

    def _inputs(self, batch: Mapping[str, Tensor]) -> Tensor:
        embedded = [
            functional.embedding(batch["categorical"][:, column], self._weights[name])
            for column, name in enumerate(self._shape.embeddings)
        ]
        return torch.cat([batch["numeric"], *embedded], dim=1)

    def _loss(
        self, weights: Mapping[str, Tensor], child: Child, x: Tensor, batch: Mapping[str, Tensor]
    ) -> Tensor:
        weight = batch.get("weight")
        if weight is not None and not float(weight.sum()) > 0.0:
            raise TabnasError(
                "at least one row of a batch must have a weight above 0, however none has"
            )
        return mean_loss(self._shape.task.loss, forward(weights, child, x), batch["target"], weight)

    # -- data ------------------------------------------------------------------------------------

    def _batch(self, examples: Examples, rows: Rows) -> dict[str, Tensor]:
        """The rows on the device; the examples used last stay there."""
        if self._resident is None or self._resident[0] is not examples:
            self._resident = (examples, self._move_to_device(examples))
        index: Any = rows
        count = len(examples)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(count)
            valid = start < stop
        else:
            valid = len(rows) > 0 and int(rows.min()) >= 0 and int(rows.max()) < count
            index = torch.as_tensor(rows, device=self._device)
        if not valid:
            raise TabnasError(
                f"rows must lie between 0 and {count - 1} and be at least one, "
                "however others or none were given"
            )
        return {name: tensor[index] for name, tensor in self._resident[1].items()}

    def _move_to_device(self, examples: Examples) -> dict[str, Tensor]:
        softmax = examples.task.loss is Loss.SOFTMAX
        arrays: dict[str, NDArray[Any]] = {
            "numeric": examples.numeric,
            "categorical": examples.categorical.astype(np.int64),
        }
        if examples.has_target:
            arrays["target"] = examples.labels.astype(np.int64) if softmax else examples.values
        if len(examples.weight):
            arrays["weight"] = examples.weight
        return {name: torch.as_tensor(array, device=self._device) for name, array in arrays.items()}

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Every array of the SuperNet."""
        return {name: _numpy(tensor) for name, tensor in self._weights.items()}

    def state(self) -> State:
        """Copies of all that shapes the future: weights, moments, step counts."""
        state: State = {f"weight/{name}": _numpy(t).copy() for name, t in self._weights.items()}
        for kind, moments in zip(MOMENTS, self._moments, strict=False):
            state |= {f"{kind}/{name}": _numpy(t).copy() for name, t in moments.items()}
        for matrix in self._shape.matrices:
            last = np.ix_(np.array(matrix.in_edges) - 1, np.array(matrix.out_edges) - 1)
            steps = _numpy(self._steps[f"{matrix.name}.weight"])[last]
            state[f"steps/{matrix.name}"] = np.ascontiguousarray(steps)
        for name in self._shape.embeddings:
            state[f"steps/{name}"] = _numpy(self._steps[name])[:, 0].copy()
        return state

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of either engine."""
        for name, tensor in self._weights.items():
            tensor.copy_(torch.as_tensor(state[f"weight/{name}"]))
            for kind, moments in zip(MOMENTS, self._moments, strict=False):
                moments[name].copy_(torch.as_tensor(state[f"{kind}/{name}"]))
        for matrix in self._shape.matrices:
            steps = np.asarray(state[f"steps/{matrix.name}"])
            rows = np.searchsorted(matrix.in_edges, np.arange(matrix.fan_in), side="right")
            columns = np.searchsorted(matrix.out_edges, np.arange(matrix.fan_out), side="right")
            self._steps[f"{matrix.name}.weight"].copy_(
                torch.as_tensor(steps[np.ix_(rows, columns)])
            )
            for vector in ("bias", "scale", "shift") if matrix.hidden else ("bias",):
                counts = torch.as_tensor(steps[0, columns])
                self._steps[f"{matrix.name}.{vector}"].copy_(counts)
        for name in self._shape.embeddings:
            self._steps[name].copy_(torch.as_tensor(state[f"steps/{name}"])[:, None])


def _numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array
