"""The gradient of one step, summed over several children and processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod

import torch
from torch import Tensor

from tabnas.nets._shape import NUMERIC_EMBEDDING, SuperNetShape
from tabnas.nets.torch._blocks import Block
from tabnas.nets.torch._group import Group

READS, LOSSES = "reads", "losses"  # what else the array of dense gradients holds


class StepGradient:
    """The sum of the workers' gradients, and the loss of each worker.

    Dense gradients and losses lie in one array. So does the gradient of numeric embeddings, beside
    the number of workers that have read each knot. Gradients of categorical embeddings are stored
    per row of the batch, [rows, embedded units], with the categories of these rows: a batch uses
    few rows of a large table.
    """

    def __init__(
        self,
        shape: SuperNetShape,
        blocks: Sequence[Block],
        rows: Sequence[int],
        device: torch.device,
        *,
        dimension: int,
    ) -> None:
        """`dimension` is the largest of the children's numeric embeddings."""
        self._dimensions = {
            name: dimension for name, (_, dimension) in shape.category_embeddings.items()
        }
        self._rows = rows
        sizes = {name: size for block in blocks for name, size in block.shapes().items()}
        self._table_dimensions = shape.table_dimensions
        if dimension:
            sizes[NUMERIC_EMBEDDING] = dimension, shape.knots
            sizes[READS] = len(self._table_dimensions), shape.knots
        sizes[LOSSES] = (len(rows),)
        self._flat = torch.zeros(sum(map(prod, sizes.values())), device=device)
        ends = pairwise(accumulate(map(prod, sizes.values()), initial=0))
        self.dense = {
            name: self._flat[begin:end].view(size)
            for (name, size), (begin, end) in zip(sizes.items(), ends, strict=True)
        }
        self._losses = self.dense.pop(LOSSES)
        self._reads = self.dense.pop(READS, None)
        self._input_grads: list[tuple[Tensor, Tensor] | None] = [None] * len(rows)

    @property
    def losses(self) -> list[float]:
        """The losses of the workers, in their order."""
        return [float(loss) for loss in self._losses.tolist()]

    def add(
        self,
        worker: int,
        loss: float,
        dense: Mapping[str, Tensor],
        categories: Tensor,
        input_grad: Tensor,
        share: float,
    ) -> None:
        """Add a worker's loss and gradients, multiplied by `share`.

        `dense` holds the gradients of its child's blocks, that of numeric embeddings included;
        input_grad [rows, embedded units] is that of categorical embeddings.
        """
        self._losses[worker] = loss
        for name, gradient in dense.items():
            part = tuple(slice(n) for n in gradient.shape)
            self.dense[name][part].add_(gradient, alpha=share)
        self._input_grads[worker] = categories, input_grad * share

    def add_zero(self, worker: int, categories: Tensor) -> None:
        """Add rows without weight: their categories count as used, with a gradient of 0."""
        units = sum(self._dimensions.values())
        input_grad = torch.zeros((len(categories), units), device=categories.device)
        self._input_grads[worker] = categories, input_grad

    def add_reads(self, dimension: int, read: Tensor) -> None:
        """Mark knots that a child with that dimension has read: 1 in read [knots]."""
        assert self._reads is not None
        self._reads[: sum(each <= dimension for each in self._table_dimensions)] += read

    @property
    def reads(self) -> Tensor | None:
        """Which knots are used, [dimensions above 0, knots]; None without numeric embeddings."""
        return None if self._reads is None else self._reads > 0

    def exchange(self, group: Group) -> None:
        """Add the gradients of the other processes; dense layers and losses in one all-reduce."""
        group.all_reduce_sum(self._flat)
        if not self._dimensions:
            return
        columns, units = len(self._dimensions), sum(self._dimensions.values())
        max_workers = -(-len(self._rows) // group.size)
        # one message for categories and gradients (as bits), of the same length on every process
        message = torch.zeros((max_workers, max(self._rows), columns + units), dtype=torch.int32)
        message = message.to(self._flat.device)
        for place, worker in enumerate(group.local_indices(len(self._rows))):
            added = self._input_grads[worker]
            assert added is not None
            categories, input_grad = added
            message[place, : len(input_grad), :columns] = categories
            message[place, : len(input_grad), columns:] = input_grad.view(torch.int32)
        messages = group.all_gather(message)
        for worker, rows in enumerate(self._rows):
            place, rank = divmod(worker, group.size)
            received = messages[rank][place, :rows]
            input_grad = received[:, columns:].contiguous().view(torch.float32)
            self._input_grads[worker] = received[:, :columns].long(), input_grad

    def embedding_gradients(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Yield for every embedding its name, the distinct rows in use, and their gradients."""
        if not self._dimensions:
            return
        added = [one for one in self._input_grads if one is not None]
        categories = torch.cat([ids for ids, _ in added])
        grads = torch.split(
            torch.cat([grad for _, grad in added]), list(self._dimensions.values()), dim=1
        )
        for column, (name, grad) in enumerate(zip(self._dimensions, grads, strict=True)):
            rows, inverse = torch.unique(categories[:, column], return_inverse=True)
            gradient = torch.zeros((len(rows), grad.shape[1]), device=grad.device)
            yield name, rows, gradient.index_add_(0, inverse, grad)
