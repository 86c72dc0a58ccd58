"""Numeric embeddings: values read between knots, and the gradients of the knots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tabnas.nets._network_spec import Inputs


@dataclass(frozen=True, eq=False)
class Positions:
    """Where the values of a batch lie between the knots: [embedded columns, rows] each."""

    knot: Tensor  # the knot before the value, counted over the knots of all columns
    fraction: Tensor  # of the way from it to the next knot, from 0 to 1


class Knots:
    """The knots of all embedded numeric columns, in a table with a row for each column."""

    def __init__(self, inputs: Inputs, device: torch.device) -> None:
        columns = [np.array(inputs.knots[column], np.float32) for column in inputs.embedded_numeric]
        numbers = np.array([len(knots) for knots in columns])
        values = np.full((len(columns), numbers.max()), np.inf, np.float32)
        gaps = np.ones_like(values)
        for row, knots in enumerate(columns):
            values[row, : len(knots)] = knots
            gaps[row, : len(knots) - 1] = inputs.gaps[row]
        self.number = int(numbers.sum())
        self._columns = torch.tensor(inputs.embedded_numeric, device=device)
        self._values = torch.as_tensor(values, device=device)
        self._gaps = torch.as_tensor(gaps, device=device)
        self._first = torch.as_tensor(np.cumsum(numbers) - numbers, device=device)[:, None]
        self._last = torch.as_tensor(numbers - 2, device=device)[:, None]  # that has a gap after it

    def locate(self, numeric: Tensor) -> Positions:
        """Find the knots around the values of a batch [rows, numeric columns]."""
        values = numeric[:, self._columns].T.contiguous()
        index = torch.searchsorted(self._values, values, right=True) - 1
        index = torch.minimum(index.clamp(min=0), self._last)
        fraction = (values - self._values.gather(1, index)) / self._gaps.gather(1, index)
        return Positions(self._first + index, fraction.clamp(0.0, 1.0))

    def mark_read(self, positions: Positions) -> Tensor:
        """Return 1 for each knot that a value has read, and 0 for the others."""
        read = torch.zeros(self.number, device=positions.knot.device)
        read[positions.knot[positions.fraction < 1.0]] = 1.0
        read[positions.knot[positions.fraction > 0.0] + 1] = 1.0
        return read


def embed(table: Tensor, positions: Positions) -> Tensor:
    """Return [rows, dimensions * columns], dimension 1 of all columns first.

    The table is [dimensions, knots].
    """
    left, right = table[:, positions.knot], table[:, positions.knot + 1]
    return torch.lerp(left, right, positions.fraction).permute(2, 0, 1).flatten(1)


def sum_by_knot(grad: Tensor, positions: Positions, knots: int) -> Tensor:
    """Return the gradient of the table [dimensions, knots] from that of what `embed` returned."""
    columns = len(positions.knot)
    by_dimension = grad.reshape(len(grad), -1, columns).permute(1, 2, 0)
    right = by_dimension * positions.fraction
    left = by_dimension - right
    index = positions.knot.flatten().expand(len(by_dimension), -1)
    table = torch.zeros((len(by_dimension), knots), device=grad.device)
    table.scatter_add_(1, index, left.flatten(1))
    return table.scatter_add_(1, index + 1, right.flatten(1))
