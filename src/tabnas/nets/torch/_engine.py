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

from tabnas.errors import TabNASError
from tabnas.nets._engine import MAX_GRADIENT_NORM, RowIndex, State
from tabnas.nets._examples import Examples
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import NUMERIC_EMBEDDING, Child, SuperNetShape
from tabnas.nets._soft_targets import TopClasses
from tabnas.nets.torch._blocks import find_used_blocks
from tabnas.nets.torch._gradient import StepGradient
from tabnas.nets.torch._group import Group
from tabnas.nets.torch._network import forward, mean_loss, row_losses
from tabnas.nets.torch._numeric_embeddings import Knots, Positions, embed, sum_by_knot
from tabnas.nets.torch._optimizer_state import OptimizerState
from tabnas.nets.torch._row_checks import check_rows, check_weight, split_batch
from tabnas.types import Float32Array

MOMENTS = ("first_moment", "second_moment")
Batch = Mapping[str, Tensor]


class TorchEngine:
    """See `tabnas.nets._engine.Engine`.

    With a group, all its processes hold the same weights and make the same calls. Each computes the
    gradients of some workers; then gradients and losses are exchanged, and every process takes the
    same step. Of several workers, process r of R has the workers r, r + R, ...; the rows of a
    single child are divided among all processes. A process computes its workers in turn.
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
        self._optimizer_state = OptimizerState(shape, optimizer, self._weights)
        self._knots = Knots(shape.spec.inputs, self._device) if shape.knots else None
        self._cached: tuple[Examples, dict[str, Tensor]] | None = None

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
            check_weight(examples, batch)
        losses: list[float] = []
        for step in zip(children, rows, learning_rates, strict=True):
            losses.append(self._train_step(examples, *step))
            if not isfinite(losses[-1]):
                break
        return losses

    def _train_step(
        self, examples: Examples, child: Child, rows: RowIndex, learning_rate: float
    ) -> float:
        """Take one step of one child and return the loss before it."""
        if self._group is None:
            return self.train_step_workers([child], examples, [rows], learning_rate)[0]
        parts, shares = split_batch(examples, rows, self._group.size)
        losses = self._step([child] * len(parts), examples, parts, shares, learning_rate)
        return sum(share * loss for share, loss in zip(shares, losses, strict=True))

    def train_step_workers(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the average gradient of several children, each on its own rows."""
        for batch in rows:  # also those of other processes, so that all raise the same error
            check_weight(examples, batch)
        shares = [1.0 / len(children)] * len(children)
        return self._step(children, examples, rows, shares, learning_rate)

    def _step(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        shares: Sequence[float],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the sum of share * gradient over the workers; return their losses."""
        counts = [check_rows(examples, batch) for batch in rows]
        local_workers, announcement = range(len(children)), None
        if self._group is not None:
            local_workers = self._group.local_indices(len(children))
            # exchanged while the gradients are computed
            announcement = self._group.announce(_describe("step", children, rows, learning_rate))
        blocks = find_used_blocks(self._shape, children)
        dimension = max(child.architecture.dimension for child in children)
        gradient = StepGradient(self._shape, blocks, counts, self._device, dimension=dimension)
        for worker in local_workers:
            child, batch = children[worker], self._batch(examples, rows[worker])
            positions = self._locate(child, batch)
            if shares[worker]:
                computed = self._backward(child, batch, positions)
                gradient.add(worker, *computed, share=shares[worker])
            else:  # rows without weight, whose categories and knots count as used all the same
                gradient.add_zero(worker, batch["categorical"])
            if self._knots is not None and positions is not None:
                read = self._knots.mark_read(positions)
                gradient.add_reads(child.architecture.dimension, read)
        if self._group is not None and announcement is not None:
            announcement.wait_all()
            gradient.exchange(self._group)
        losses = gradient.losses
        if all(map(isfinite, losses)):
            for block in blocks:
                self._optimizer_state.update_block(block, gradient.dense, learning_rate)
            for name, used, grad in gradient.embedding_gradients():
                self._optimizer_state.update_rows(name, used, grad, learning_rate)
            if gradient.reads is not None:
                self._optimizer_state.update_knots(
                    gradient.reads, gradient.dense[NUMERIC_EMBEDDING], learning_rate
                )
        return losses

    def _backward(
        self, child: Child, batch: Batch, positions: Positions | None
    ) -> tuple[float, dict[str, Tensor], Tensor, Tensor]:
        """Return loss (inf if the gradient exploded), dense gradients, categories, input gradient.

        The dense gradients include that of numeric embeddings. The input gradient is that of
        categorical embeddings, [rows, embedded units].
        """
        tables = {*self._shape.category_embeddings, NUMERIC_EMBEDDING}
        leaves = {
            name: weights.detach().requires_grad_()
            for name, weights in self._child_weights(child).items()
            if name not in tables
        }
        embedded = self._embed(child, batch, positions).requires_grad_()
        x = torch.cat([batch["numeric"], embedded], dim=1)
        loss = self._loss(leaves, child, x, batch)
        *grads, input_grad = torch.autograd.grad(loss, [*leaves.values(), embedded])
        squares = torch.stack([torch.sum(torch.square(g)) for g in (*grads, input_grad)])
        value = float(loss.detach())
        if isfinite(value) and not float(squares.sum()) < MAX_GRADIENT_NORM**2:
            value = inf
        dense = dict(zip(leaves, grads, strict=True))
        units = self._shape.space.inputs - self._shape.spec.inputs.numeric
        if positions is not None:
            dense[NUMERIC_EMBEDDING] = sum_by_knot(
                input_grad[:, units:], positions, self._shape.knots
            )
        return value, dense, batch["categorical"], input_grad[:, :units]

    # -- evaluation ------------------------------------------------------------------------------

    @torch.no_grad()
    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        """Return the weighted mean loss."""
        check_weight(examples, rows)
        batch = self._batch(examples, rows)
        x = self._inputs(child, batch)
        return float(self._loss(self._child_weights(child), child, x, batch))

    def losses(self, children: Sequence[Child], examples: Examples, rows: RowIndex) -> list[float]:
        """Return the loss of each child on the same rows; a group divides the children."""
        if self._group is None:
            return [self.loss(child, examples, rows) for child in children]
        check_weight(examples, rows)
        announcement = self._group.announce(_describe("losses", children, [rows]))
        losses = torch.zeros(len(children), dtype=torch.float64)
        for index in self._group.local_indices(len(children)):
            losses[index] = self.loss(children[index], examples, rows)
        announcement.wait_all()
        losses = losses.to(self._device)
        self._group.all_reduce_sum(losses)
        return [float(loss) for loss in losses.tolist()]

    @torch.no_grad()
    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Float32Array:
        """Return the logits [rows, outputs]."""
        check_rows(examples, rows)
        x = self._inputs(child, self._batch(examples, rows))
        return _to_numpy(forward(self._child_weights(child), child, x))

    def gradients(
        self, child: Child, examples: Examples, rows: RowIndex
    ) -> dict[str, Float32Array]:
        """Return the gradient of every array the child uses, in the child's shapes."""
        blocks = find_used_blocks(self._shape, [child])
        gradient = StepGradient(
            self._shape, blocks, [check_weight(examples, rows)], self._device,
            dimension=child.architecture.dimension,
        )  # fmt: skip
        batch = self._batch(examples, rows)
        computed = self._backward(child, batch, self._locate(child, batch))
        if not isfinite(computed[0]):
            raise TabNASError(
                f"the loss, or its gradient, is {computed[0]}; it cannot be differentiated"
            )
        gradient.add(0, *computed, share=1.0)
        tables = {
            name: torch.zeros(size, device=self._device)
            for name, size in self._shape.category_embeddings.items()
        }
        for name, used, grad in gradient.embedding_gradients():
            tables[name][used] = grad
        return {name: _to_numpy(tensor) for name, tensor in (tables | gradient.dense).items()}

    def _child_weights(self, child: Child) -> dict[str, Tensor]:
        return {
            name: self._weights[name][tuple(slice(size) for size in shape)]
            for name, shape in self._shape.child_shapes(child).items()
        }

    def _locate(self, child: Child, batch: Batch) -> Positions | None:
        """Return where the numbers of a batch lie between knots; None without embeddings."""
        if self._knots is None or not child.architecture.dimension:
            return None
        return self._knots.locate(batch["numeric"])

    def _embed(self, child: Child, batch: Batch, positions: Positions | None) -> Tensor:
        """Return the embeddings of a batch's categories and numbers, [rows, embedded units]."""
        parts = [
            functional.embedding(batch["categorical"][:, column], self._weights[name])
            for column, name in enumerate(self._shape.category_embeddings)
        ]
        if positions is not None:
            table = self._weights[NUMERIC_EMBEDDING][: child.architecture.dimension]
            parts.append(embed(table, positions))
        return torch.cat(parts, dim=1) if parts else batch["numeric"][:, :0]

    def _inputs(self, child: Child, batch: Batch) -> Tensor:
        embedded = self._embed(child, batch, self._locate(child, batch))
        return torch.cat([batch["numeric"], embedded], dim=1)

    def _loss(self, weights: Mapping[str, Tensor], child: Child, x: Tensor, batch: Batch) -> Tensor:
        losses = row_losses(
            self._shape.spec.loss,
            forward(weights, child, x),
            batch["target"],
            batch.get("probabilities"),
        )
        return mean_loss(losses, batch.get("weight"))

    # -- data ------------------------------------------------------------------------------------

    def _batch(self, examples: Examples, rows: RowIndex) -> dict[str, Tensor]:
        """Return the rows on the device; the examples that were used last stay there."""
        if self._cached is None or self._cached[0] is not examples:
            self._cached = (examples, self._to_device(examples))
        index: Any = rows if isinstance(rows, slice) else torch.as_tensor(rows, device=self._device)
        batch = {name: tensor[index] for name, tensor in self._cached[1].items()}
        # categories and labels are stored as int32; only those of a batch become int64
        return {name: t.long() if t.dtype == torch.int32 else t for name, t in batch.items()}

    def _to_device(self, examples: Examples) -> dict[str, Tensor]:
        arrays: dict[str, NDArray[Any]] = {
            "numeric": examples.numeric,
            "categorical": examples.categorical,
        }
        target = examples.target
        if isinstance(target, TopClasses):
            arrays |= {"target": target.classes, "probabilities": target.probabilities}
        elif target is not None:
            arrays["target"] = target
        if len(examples.weight):
            arrays["weight"] = examples.weight
        return {name: torch.as_tensor(array, device=self._device) for name, array in arrays.items()}

    # -- state -----------------------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Return every array of the SuperNet."""
        return {name: _to_numpy(tensor) for name, tensor in self._weights.items()}

    def weight_buffers(self) -> list[Float32Array]:
        """Return every array of the SuperNet; those of a CPU are in place."""
        return list(self.weights().values())

    def load_weight_buffers(self, buffers: Sequence[Float32Array]) -> None:
        """Replace all weights; moments and step counts do not change."""
        for tensor, buffer in zip(self._weights.values(), buffers, strict=True):
            tensor.copy_(torch.as_tensor(buffer))

    def state_dict(self) -> State:
        """Return copies of weights, moments and step counts."""
        return {name: _to_numpy(tensor).copy() for name, tensor in self._state_tensors().items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load a state that any engine has returned."""
        for name, tensor in self._state_tensors().items():
            tensor.copy_(torch.as_tensor(np.asarray(state[name])))

    def _state_tensors(self) -> dict[str, Tensor]:
        tensors = {f"weight/{name}": tensor for name, tensor in self._weights.items()}
        for kind, moments in zip(MOMENTS, self._optimizer_state.moments, strict=False):
            tensors |= {f"{kind}/{name}": tensor for name, tensor in moments.items()}
        return tensors | {
            f"steps/{name}": tensor for name, tensor in self._optimizer_state.steps.items()
        }


class DistributedTorchEngine(TorchEngine):
    """The torch engine in the group that `torch.distributed` was initialised with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, group=Group())


def _to_numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _describe(
    what: str, children: Sequence[Child], rows: Sequence[RowIndex], learning_rate: float = 0.0
) -> bytes:
    """Describe a call, for all processes of a group to compare."""
    numbers = [repr(r).encode() if isinstance(r, slice) else r.tobytes() for r in rows]
    widths = [str(child.architecture).encode() for child in children]
    return b" ".join([what.encode(), repr(learning_rate).encode(), *widths, *numbers])
