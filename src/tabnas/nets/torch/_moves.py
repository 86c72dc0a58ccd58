"""How weights move: the optimisers' arithmetic, on the elements in use alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import SuperNetShape
from tabnas.nets.torch._blocks import Block

Corrections = tuple[Tensor, Tensor]
"""1 / (1 - beta1^n) and 1 / sqrt(1 - beta2^n), for the n steps that elements have taken."""


class Moves:
    """Moments and step counts of all weights, and the steps that they take.

    Adam counts steps: one number for each pair of edges of a dense layer, between which they cannot
    differ, and one for each row of an embedding. A step costs what it uses, however large the
    tables are: nothing as long as a table is ever made.
    """

    def __init__(
        self, shape: SuperNetShape, optimizer: Optimizer, weights: Mapping[str, Tensor]
    ) -> None:
        self._optimizer = optimizer
        self._weights = weights
        self.moments = [
            {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
            for _ in range(optimizer.moments)
        ]
        device = next(iter(weights.values())).device

        def counts(*size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.int64, device=device)

        matrices = shape.matrices
        self.steps = {m.name: counts(len(m.in_edges), len(m.out_edges)) for m in matrices}
        self.steps |= {name: counts(rows) for name, (rows, _) in shape.embeddings.items()}
        # the bin of every row and column of a layer
        self._bins = {
            m.name: [
                torch.as_tensor(
                    np.searchsorted(edges, np.arange(edges[-1]), side="right"), device=device
                )
                for edges in (m.in_edges, m.out_edges)
            ]
            for m in matrices
        }

    @torch.no_grad()
    def move_block(self, block: Block, gradient: Mapping[str, Tensor], rate: float) -> None:
        """Move what the children use of a dense layer."""
        name = block.matrix.name
        used = torch.as_tensor(block.bins, device=self.steps[name].device)
        corrections = self._corrections(self.steps[name], used)
        rows, columns = self._bins[name]
        rows, columns = rows[: block.fan_in], columns[: block.fan_out]
        # a column is used wherever its first row is
        of_vectors = _expanded(corrections, rows[:1], columns)
        of_weights = _expanded(corrections, rows, columns)
        where = None if block.full else _spread(used.float(), rows, columns)
        for array, size in block.shapes().items():
            part = tuple(slice(n) for n in size)
            w, *moments = (held[array][part] for held in (self._weights, *self.moments))
            if len(size) == 2:
                self._move(w, moments, gradient[array], of_weights, rate, where, decays=True)
            else:
                own = [moment[None] for moment in moments]
                self._move(w[None], own, gradient[array][None], of_vectors, rate)

    @torch.no_grad()
    def move_rows(self, name: str, rows: Tensor, gradient: Tensor, rate: float) -> None:
        """Move some rows of an embedding, each named once; gradient [rows, dimension]."""
        corrections = self._corrections(self.steps[name], rows)
        tensors = [self._weights[name], *(moment[name] for moment in self.moments)]
        w, *moments = taken = [tensor.index_select(0, rows) for tensor in tensors]
        self._move(w, moments, gradient, corrections, rate)
        for tensor, new in zip(tensors, taken, strict=True):
            tensor.index_copy_(0, rows, new)

    def _move(
        self,
        w: Tensor,
        moments: list[Tensor],
        g: Tensor,
        corrections: Corrections | None,
        rate: float,
        where: Tensor | None = None,
        *,
        decays: bool = False,
    ) -> None:
        """Move weights and moments in place; see `tabnas.nets._optimizers` for the formulas.

        `where` is 1 for what moves and 0 for what stays, whose gradient is 0. A moment that goes
        towards g by (1 - beta) of the way is beta times itself plus (1 - beta) times g.
        """

        def share(weight: float) -> float | Tensor:
            return weight if where is None else weight * where

        settings = self._optimizer
        if decays and settings.weight_decay:
            w.mul_(1.0 - share(rate * settings.weight_decay))
        if isinstance(settings, SGD):
            if moments:
                moments[0].mul_(1.0 - share(1.0 - settings.momentum)).add_(g)
            w.sub_(share(rate) * (moments[0] if moments else g))
            return
        assert isinstance(settings, Adam)
        assert corrections is not None
        first, second = corrections
        m, v = moments
        m.lerp_(g, share(1.0 - settings.beta1))
        v.lerp_(g * g, share(1.0 - settings.beta2))
        w.addcdiv_(share(rate) * first * m, v.sqrt().mul_(second).add_(settings.epsilon), value=-1)

    def _corrections(self, steps: Tensor, used: Tensor) -> Corrections | None:
        """Count a step of some elements, by a mask or their places, and say how to correct it."""
        settings = self._optimizer
        if not isinstance(settings, Adam):
            return None
        steps[used] += 1
        n = steps.clamp(min=1) if used.dtype == torch.bool else steps[used][:, None]
        first = 1.0 / (1.0 - settings.beta1 ** n.double())
        second = 1.0 / torch.sqrt(1.0 - settings.beta2 ** n.double())
        return first.float(), second.float()


def _expanded(corrections: Corrections | None, rows: Tensor, columns: Tensor) -> Corrections | None:
    """From bins [in_edges, out_edges] to elements [rows, columns]; one bin fits all as it is."""
    if corrections is None or corrections[0].numel() == 1:
        return corrections
    first, second = (_spread(one, rows, columns) for one in corrections)
    return first, second


def _spread(bins: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The number of its bin for every element."""
    return bins.index_select(1, columns).index_select(0, rows)
