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
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import Child, SuperNetShape
from tabnas.nets._task import Loss
from tabnas.nets.torch._blocks import used_blocks
from tabnas.nets.torch._gradient import StepGradient
from tabnas.nets.torch._group import Group
from tabnas.nets.torch._moves import Moves
from tabnas.nets.torch._network import forward, mean_loss

MOMENTS = ("first_moment", "second_moment")
Batch = Mapping[str, Tensor]


class TorchEngine:
    """See `tabnas.nets._engine.Engine`.

    With a group, its processes all hold the same weights and are asked for the same at the same
    time. Each computes the gradients of some workers; what travels is gradients and losses, and
    then every process takes the same step. Of several workers, process r of R has the workers r,
    r + R, ...; a single child's rows are divided among all. The workers of a process take turns,
    however many there are.
    """

    def __init__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        *,
        workers: int,
        device: str,
        group: Group | None = None,
    ) -> None:
        self._shape = shape
        self._device = torch.device(device)
        self._group = group
        self._weights = {
            name: torch.tensor(weights[name], device=self._device) for name in shape.shapes()
        }
        self._moves = Moves(shape, optimizer, self._weights)
        self._resident: tuple[Examples, dict[str, Tensor]] | None = None

    # -- training --------------------------------------------------------------------------------

    def train_step(self, child: Child, examples: Examples, rows: Rows, rate: float) -> float:
        """One step of one child; returns the loss before it. Not finite: nothing has moved."""
        if self._group is None:
            return self.train_step_workers([child], examples, [rows], rate)[0]
        parts, shares = _divided(examples, rows, self._group.size)
        losses = self._step([child] * len(parts), examples, parts, shares, rate)
        return sum(share * loss for share, loss in zip(shares, losses, strict=True))

    def train_step_workers(
        self, children: Sequence[Child], examples: Examples, rows: Sequence[Rows], rate: float
    ) -> list[float]:
        """One step by the average gradient of several children, each on its own rows."""
        for batch in rows:  # also those of other processes, so that all refuse alike
            _weighed(examples, batch)
        shares = [1.0 / len(children)] * len(children)
        return self._step(children, examples, rows, shares, rate)

    def _step(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[Rows],
        shares: Sequence[float],
        rate: float,
    ) -> list[float]:
        """One step by the workers' gradients, each counted by its share; the loss of each."""
        counts = [_count(examples, batch) for batch in rows]
        own, meeting = range(len(children)), None
        if self._group is not None:
            own = self._group.share(len(children))
            # to be heard while the gradients are computed
            meeting = self._group.meet(_asked("step", children, rows, rate))
        blocks = used_blocks(self._shape, children)
        gradient = StepGradient(self._shape, blocks, counts, self._device)
        for worker in own:
            batch = self._batch(examples, rows[worker])
            if shares[worker]:
                found = self._backward(children[worker], batch)
                gradient.enter(worker, *found, share=shares[worker])
            else:  # rows that weigh nothing, whose categories are in use all the same
                gradient.enter_nothing(worker, batch["categorical"])
        if self._group is not None and meeting is not None:
            meeting.agreed()
            gradient.exchange(self._group)
        losses = gradient.losses
        if all(map(isfinite, losses)):
            for block in blocks:
                self._moves.move_block(block, gradient.dense, rate)
            for name, used, slopes in gradient.embeddings():
                self._moves.move_rows(name, used, slopes, rate)
        return losses

    def _backward(
        self, child: Child, batch: Batch
    ) -> tuple[float, dict[str, Tensor], Tensor, Tensor]:
        """Loss, inf if its slope exploded; gradients of the dense arrays; categories and slopes.

        The slopes are those of the inputs that come from embeddings, [rows, embedded units].
        """
        leaves = {
            name: weights.detach().requires_grad_()
            for name, weights in self._child(child).items()
            if name not in self._shape.embeddings
        }
        embedded = self._embedded(batch).requires_grad_()
        x = torch.cat([batch["numeric"], embedded], dim=1)
        loss = self._loss(leaves, child, x, batch)
        *found, slopes = torch.autograd.grad(loss, [*leaves.values(), embedded])
        squares = torch.stack([torch.sum(torch.square(g)) for g in (*found, slopes)])
        value = float(loss.detach())
        if isfinite(value) and not float(squares.sum()) < LARGEST_NORM**2:
            value = inf
        return value, dict(zip(leaves, found, strict=True)), batch["categorical"], slopes

    # -- evaluation ------------------------------------------------------------------------------

    @torch.no_grad()
    def loss(self, child: Child, examples: Examples, rows: Rows) -> float:
        """The weighted mean loss."""
        _weighed(examples, rows)
        batch = self._batch(examples, rows)
        return float(self._loss(self._child(child), child, self._inputs(batch), batch))

    def losses(self, children: Sequence[Child], examples: Examples, rows: Rows) -> list[float]:
        """The loss of each child on the same rows; processes of a group have some each."""
        if self._group is None:
            return [self.loss(child, examples, rows) for child in children]
        _weighed(examples, rows)
        meeting = self._group.meet(_asked("losses", children, [rows]))
        found = torch.zeros(len(children), dtype=torch.float64)
        for place in self._group.share(len(children)):
            found[place] = self.loss(children[place], examples, rows)
        meeting.agreed()
        found = found.to(self._device)
        self._group.add(found)
        return [float(loss) for loss in found.tolist()]

    @torch.no_grad()
    def logits(self, child: Child, examples: Examples, rows: Rows) -> Float32Array:
        """[rows, outputs]."""
        _count(examples, rows)
        logits = forward(self._child(child), child, self._inputs(self._batch(examples, rows)))
        return _numpy(logits)

    def gradients(self, child: Child, examples: Examples, rows: Rows) -> dict[str, Float32Array]:
        """The gradient of every array the child uses, in the child's shapes."""
        blocks = used_blocks(self._shape, [child])
        gradient = StepGradient(self._shape, blocks, [_weighed(examples, rows)], self._device)
        found = self._backward(child, self._batch(examples, rows))
        if not isfinite(found[0]):
            raise TabnasError(f"the loss, or its slope, is {found[0]}: it has no gradient")
        gradient.enter(0, *found, share=1.0)
        whole = {
            name: torch.zeros(size, device=self._device)
            for name, size in self._shape.embeddings.items()
        }
        for name, used, slopes in gradient.embeddings():
            whole[name][used] = slopes
        return {name: _numpy(tensor) for name, tensor in (whole | gradient.dense).items()}

    def _child(self, child: Child) -> dict[str, Tensor]:
        return {
            name: self._weights[name][tuple(slice(size) for size in shape)]
            for name, shape in self._shape.child_shapes(child).items()
        }

    def _embedded(self, batch: Batch) -> Tensor:
        """What stands for the categories of a batch, [rows, embedded units]."""
        rows = [
            functional.embedding(batch["categorical"][:, column], self._weights[name])
            for column, name in enumerate(self._shape.embeddings)
        ]
        return torch.cat(rows, dim=1) if rows else batch["numeric"][:, :0]

    def _inputs(self, batch: Batch) -> Tensor:
        return torch.cat([batch["numeric"], self._embedded(batch)], dim=1)

    def _loss(self, weights: Mapping[str, Tensor], child: Child, x: Tensor, batch: Batch) -> Tensor:
        weight = batch.get("weight")
        return mean_loss(self._shape.task.loss, forward(weights, child, x), batch["target"], weight)

    # -- data ------------------------------------------------------------------------------------

    def _batch(self, examples: Examples, rows: Rows) -> dict[str, Tensor]:
        """The rows on the device; the examples used last stay there."""
        if self._resident is None or self._resident[0] is not examples:
            self._resident = (examples, self._on_device(examples))
        index: Any = rows if isinstance(rows, slice) else torch.as_tensor(rows, device=self._device)
        batch = {name: tensor[index] for name, tensor in self._resident[1].items()}
        # categories and labels stay as small as they were, all but those of a batch
        return {name: t.long() if t.dtype == torch.int32 else t for name, t in batch.items()}

    def _on_device(self, examples: Examples) -> dict[str, Tensor]:
        arrays: dict[str, NDArray[Any]] = {
            "numeric": examples.numeric,
            "categorical": examples.categorical,
        }
        if examples.has_target:
            softmax = examples.task.loss is Loss.SOFTMAX
            arrays["target"] = examples.labels if softmax else examples.values
        if len(examples.weight):
            arrays["weight"] = examples.weight
        return {name: torch.as_tensor(array, device=self._device) for name, array in arrays.items()}

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Every array of the SuperNet."""
        return {name: _numpy(tensor) for name, tensor in self._weights.items()}

    def state(self) -> State:
        """Copies of all that shapes the future: weights, moments, step counts."""
        return {name: _numpy(tensor).copy() for name, tensor in self._state_tensors().items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of any engine."""
        for name, tensor in self._state_tensors().items():
            tensor.copy_(torch.as_tensor(np.asarray(state[name])))

    def _state_tensors(self) -> dict[str, Tensor]:
        tensors = {f"weight/{name}": tensor for name, tensor in self._weights.items()}
        for kind, moments in zip(MOMENTS, self._moves.moments, strict=False):
            tensors |= {f"{kind}/{name}": tensor for name, tensor in moments.items()}
        return tensors | {f"steps/{name}": tensor for name, tensor in self._moves.steps.items()}


class DistributedTorchEngine(TorchEngine):
    """The torch engine in the group that `torch.distributed` was initialised with."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings, group=Group())


def _numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _count(examples: Examples, rows: Rows) -> int:
    """How many rows these are; at least one, all of the examples, else an error."""
    total = len(examples)
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(total)
        count = stop - start
        valid = count > 0
    else:
        count = len(rows)
        valid = count > 0 and int(rows.min()) >= 0 and int(rows.max()) < total
    if not valid:
        raise TabnasError(
            f"rows must lie between 0 and {total - 1} and be at least one, "
            "however others or none were given"
        )
    return count


def _weighed(examples: Examples, rows: Rows) -> int:
    """The same for rows that weigh something together."""
    count = _count(examples, rows)
    if len(examples.weight) and not examples.weight[rows].any():
        raise TabnasError(
            "at least one row of a batch must have a weight above 0, however none has"
        )
    return count


def _divided(examples: Examples, rows: Rows, parts: int) -> tuple[list[Rows], list[float]]:
    """A batch in some parts, and the share of its weight that each has.

    A mean over all rows is the sum of the parts' means, each times its share of the weight.
    """
    _weighed(examples, rows)
    numbers = np.arange(len(examples))[rows] if isinstance(rows, slice) else rows
    pieces = [piece for piece in np.array_split(numbers, parts) if len(piece)]
    weights = [float(len(piece)) for piece in pieces]
    if len(examples.weight):
        weights = [float(examples.weight[piece].sum(dtype=np.float64)) for piece in pieces]
    return [*pieces], [weight / sum(weights) for weight in weights]


def _asked(what: str, children: Sequence[Child], rows: Sequence[Rows], rate: float = 0.0) -> bytes:
    """What the processes of a group must be asked alike."""
    numbers = [repr(r).encode() if isinstance(r, slice) else r.tobytes() for r in rows]
    widths = [str(child.architecture).encode() for child in children]
    return b" ".join([what.encode(), repr(rate).encode(), *widths, *numbers])
