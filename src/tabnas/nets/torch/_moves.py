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
        of_weights = _expanded(corrections, rows, columns)
        # a column is used wherever its first row is
        of_vectors = _expanded(corrections, rows[:1], columns)
        where = None if block.full else used[rows][:, columns]
        for array, size in block.shapes().items():
            part = tuple(slice(n) for n in size)
            tensors = [self._weights[array][part], *(held[array][part] for held in self.moments)]
            w, *moments = tensors
            if len(size) == 2:
                moved = self._moved(w, moments, gradient[array], of_weights, rate, decays=True)
                if where is not None:
                    pairs = zip(moved, tensors, strict=True)
                    moved = [torch.where(where, new, old) for new, old in pairs]
            else:
                g, own = gradient[array][None], [moment[None] for moment in moments]
                moved = [new[0] for new in self._moved(w[None], own, g, of_vectors, rate)]
            for tensor, new in zip(tensors, moved, strict=True):
                tensor.copy_(new)

    @torch.no_grad()
    def move_rows(self, name: str, rows: Tensor, gradient: Tensor, rate: float) -> None:
        """Move some rows of an embedding, each named once; gradient [rows, dimension]."""
        corrections = self._corrections(self.steps[name], rows)
        tensors = [self._weights[name], *(moment[name] for moment in self.moments)]
        w, *moments = (tensor[rows] for tensor in tensors)
        moved = self._moved(w, moments, gradient, corrections, rate)
        for tensor, new in zip(tensors, moved, strict=True):
            tensor[rows] = new

    def _moved(
        self,
        w: Tensor,
        moments: list[Tensor],
        g: Tensor,
        corrections: Corrections | None,
        rate: float,
        *,
        decays: bool = False,
    ) -> list[Tensor]:
        """New weights and moments from the old; see `tabnas.nets._optimizers` for the formulas."""
        settings = self._optimizer
        kept = w * (1.0 - rate * settings.weight_decay) if decays and settings.weight_decay else w
        if isinstance(settings, SGD):
            velocities = [settings.momentum * m + g for m in moments]
            return [kept - rate * (velocities[0] if velocities else g), *velocities]
        assert isinstance(settings, Adam)
        assert corrections is not None
        first, second = corrections
        m = settings.beta1 * moments[0] + (1.0 - settings.beta1) * g
        v = settings.beta2 * moments[1] + (1.0 - settings.beta2) * g * g
        return [kept - rate * (first * m / (second * torch.sqrt(v) + settings.epsilon)), m, v]

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
    first, second = (one[rows][:, columns] for one in corrections)
    return first, second
