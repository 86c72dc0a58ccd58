"""The gradient of one step, by several children, perhaps in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod

import torch
from torch import Tensor

from tabnas.nets._shape import SuperNetShape
from tabnas.nets.torch._blocks import Block
from tabnas.nets.torch._group import Group


class StepGradient:
    """The sum of the workers' gradients, and the loss of each worker.

    Dense gradients and losses lie in one array. Those of embeddings stay what they are, a slope for
    each row of a batch and unit of its inputs, with the categories that it belongs to: of a large
    table, a batch has few rows.
    """

    def __init__(
        self,
        shape: SuperNetShape,
        blocks: Sequence[Block],
        rows: Sequence[int],
        device: torch.device,
    ) -> None:
        self._dimensions = {name: dimension for name, (_, dimension) in shape.embeddings.items()}
        self._rows = rows
        sizes = {name: size for block in blocks for name, size in block.shapes().items()}
        self._flat = torch.zeros(sum(map(prod, sizes.values())) + len(rows), device=device)
        self._losses = self._flat[len(self._flat) - len(rows) :]
        ends = pairwise(accumulate(map(prod, sizes.values()), initial=0))
        self.dense = {
            name: self._flat[begin:end].view(size)
            for (name, size), (begin, end) in zip(sizes.items(), ends, strict=True)
        }
        self._slopes: list[tuple[Tensor, Tensor] | None] = [None] * len(rows)

    @property
    def losses(self) -> list[float]:
        """Of the workers, in their order."""
        return [float(loss) for loss in self._losses.tolist()]

    def enter(
        self,
        worker: int,
        loss: float,
        dense: Mapping[str, Tensor],
        categories: Tensor,
        slopes: Tensor,
        share: float,
    ) -> None:
        """Add a worker's: gradients of its child's blocks, slopes [rows, embedded units]."""
        self._losses[worker] = loss
        for name, gradient in dense.items():
            part = tuple(slice(n) for n in gradient.shape)
            self.dense[name][part].add_(gradient, alpha=share)
        self._slopes[worker] = categories, slopes * share

    def enter_nothing(self, worker: int, categories: Tensor) -> None:
        """Enter rows that teach nothing: their categories count as in use, with slopes of 0."""
        units = sum(self._dimensions.values())
        slopes = torch.zeros((len(categories), units), device=categories.device)
        self._slopes[worker] = categories, slopes

    def exchange(self, group: Group) -> None:
        """Add what the other processes have entered: numbers of dense layers as one sum."""
        group.add(self._flat)
        if not self._dimensions:
            return
        columns, units = len(self._dimensions), sum(self._dimensions.values())
        most = -(-len(self._rows) // group.size)
        # categories beside slopes, as bits: one message for both, as long on every process
        own = torch.zeros((most, max(self._rows), columns + units), dtype=torch.int32)
        own = own.to(self._flat.device)
        for place, worker in enumerate(group.share(len(self._rows))):
            entered = self._slopes[worker]
            assert entered is not None
            categories, slopes = entered
            own[place, : len(slopes), :columns] = categories
            own[place, : len(slopes), columns:] = slopes.view(torch.int32)
        everyones = group.collect(own)
        for worker, rows in enumerate(self._rows):
            place, rank = divmod(worker, group.size)
            entered_there = everyones[rank][place, :rows]
            slopes = entered_there[:, columns:].contiguous().view(torch.float32)
            self._slopes[worker] = entered_there[:, :columns].long(), slopes

    def embeddings(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Every table with the rows that are in use, each once, and their gradients."""
        if not self._dimensions:
            return
        entered = [one for one in self._slopes if one is not None]
        categories = torch.cat([own for own, _ in entered])
        slopes = torch.split(
            torch.cat([own for _, own in entered]), list(self._dimensions.values()), dim=1
        )
        for column, (name, slope) in enumerate(zip(self._dimensions, slopes, strict=True)):
            rows, places = torch.unique(categories[:, column], return_inverse=True)
            gradient = torch.zeros((len(rows), slope.shape[1]), device=slope.device)
            yield name, rows, gradient.index_add_(0, places, slope)
