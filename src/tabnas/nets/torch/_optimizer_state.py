"""The optimizers' arithmetic, on the elements that a step uses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import NUMERIC_EMBEDDING, SuperNetShape
from tabnas.nets.torch._blocks import Block

Corrections = tuple[Tensor, Tensor]
"""1 / (1 - beta1^n) and 1 / sqrt(1 - beta2^n), where n counts the steps of an element."""


class OptimizerState:
    """Moments and step counts of all weights, and the updates by them.

    Adam counts steps: one number for each pair of candidate widths of a dense layer, between which
    all elements have taken equally many, one for each row of an embedding, and one for each knot
    and candidate dimension of numeric embeddings. The cost of a step does not depend on the number
    of categories: no temporary is as long as the table of a categorical embedding.
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

        layers = shape.dense_layers
        self.steps = {
            layer.name: counts(len(layer.in_widths), len(layer.out_widths)) for layer in layers
        }
        self.steps |= {name: counts(rows) for name, (rows, _) in shape.category_embeddings.items()}

        def bins(widths: tuple[int, ...]) -> Tensor:
            """Return the bin of every unit; bins end at the widths."""
            indices = np.searchsorted(widths, np.arange(widths[-1]), side="right")
            return torch.as_tensor(indices, device=device)

        self._bins = {
            layer.name: (bins(layer.in_widths), bins(layer.out_widths)) for layer in layers
        }
        if shape.knots:
            self.steps[NUMERIC_EMBEDDING] = counts(len(shape.table_dimensions), shape.knots)
            self._dimension_bins = bins(shape.table_dimensions)

    @torch.no_grad()
    def update_block(
        self, block: Block, gradient: Mapping[str, Tensor], learning_rate: float
    ) -> None:
        """Update what the children use of a dense layer."""
        name = block.layer.name
        used = torch.as_tensor(block.bins, device=self.steps[name].device)
        corrections = self._corrections(self.steps[name], used)
        rows, columns = self._bins[name]
        rows, columns = rows[: block.fan_in], columns[: block.fan_out]
        # a column is used wherever its first row is
        of_vectors = _expand(corrections, rows[:1], columns)
        of_weights = _expand(corrections, rows, columns)
        where = None if block.is_full else _expand_bins(used.float(), rows, columns)
        for array, size in block.shapes().items():
            part = tuple(slice(n) for n in size)
            w, *moments = (held[array][part] for held in (self._weights, *self.moments))
            if len(size) == 2:
                self._update(
                    w, moments, gradient[array], of_weights, learning_rate, where, decays=True
                )
            else:
                rows_of_one = [moment[None] for moment in moments]
                self._update(w[None], rows_of_one, gradient[array][None], of_vectors, learning_rate)

    @torch.no_grad()
    def update_rows(self, name: str, rows: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Update some distinct rows of an embedding; gradient [rows, dimension]."""
        corrections = self._corrections(self.steps[name], rows)
        tensors = [self._weights[name], *(moment[name] for moment in self.moments)]
        w, *moments = taken = [tensor.index_select(0, rows) for tensor in tensors]
        self._update(w, moments, gradient, corrections, learning_rate)
        for tensor, new in zip(tensors, taken, strict=True):
            tensor.index_copy_(0, rows, new)

    @torch.no_grad()
    def update_knots(self, used: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Update the used knots of numeric embeddings.

        used [dimensions above 0, knots] is a mask; gradient [largest dimension in use, knots].
        """
        name, dimension = NUMERIC_EMBEDDING, len(gradient)
        rows = self._dimension_bins[:dimension]
        corrections = self._corrections(self.steps[name], used)
        if corrections is not None:
            corrections = corrections[0][rows], corrections[1][rows]
        w, *moments = (held[name][:dimension] for held in (self._weights, *self.moments))
        self._update(w, moments, gradient, corrections, learning_rate, used[rows].float())

    def _update(
        self,
        w: Tensor,
        moments: list[Tensor],
        g: Tensor,
        corrections: Corrections | None,
        learning_rate: float,
        where: Tensor | None = None,
        *,
        decays: bool = False,
    ) -> None:
        """Update weights and moments in place; see `tabnas.nets._optimizers` for the formulas.

        `where` is 1 for elements that move and 0 for others, whose gradient is 0. Interpolating a
        moment towards g with weight 1 - beta gives beta * moment + (1 - beta) * g.
        """

        def masked(weight: float) -> float | Tensor:
            return weight if where is None else weight * where

        settings = self._optimizer
        if decays and settings.weight_decay:
            w.mul_(1.0 - masked(learning_rate * settings.weight_decay))
        if isinstance(settings, SGD):
            if moments:
                moments[0].mul_(1.0 - masked(1.0 - settings.momentum)).add_(g)
            w.sub_(masked(learning_rate) * (moments[0] if moments else g))
            return
        assert isinstance(settings, Adam)
        assert corrections is not None
        first, second = corrections
        m, v = moments
        m.lerp_(g, masked(1.0 - settings.beta1))
        v.lerp_(g * g, masked(1.0 - settings.beta2))
        w.addcdiv_(
            masked(learning_rate) * first * m,
            v.sqrt().mul_(second).add_(settings.epsilon),
            value=-1,
        )

    def _corrections(self, steps: Tensor, used: Tensor) -> Corrections | None:
        """Count a step of some elements, given by a mask or indices, and return its corrections."""
        settings = self._optimizer
        if not isinstance(settings, Adam):
            return None
        steps[used] += 1
        n = steps.clamp(min=1) if used.dtype == torch.bool else steps[used][:, None]
        first = 1.0 / (1.0 - settings.beta1 ** n.double())
        second = 1.0 / torch.sqrt(1.0 - settings.beta2 ** n.double())
        return first.float(), second.float()


def _expand(corrections: Corrections | None, rows: Tensor, columns: Tensor) -> Corrections | None:
    """Expand corrections from bins [in_widths, out_widths] to elements [rows, columns]."""
    if corrections is None or corrections[0].numel() == 1:  # a single bin broadcasts
        return corrections
    first, second = (_expand_bins(one, rows, columns) for one in corrections)
    return first, second


def _expand_bins(bins: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return for every element the value of its bin."""
    return bins.index_select(1, columns).index_select(0, rows)
