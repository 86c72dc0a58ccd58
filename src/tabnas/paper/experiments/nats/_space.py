"""The size space of NATS-Bench: 32,768 convolutional networks with known accuracies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tabnas.data import read_table
from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.paper._table_files import locate_file
from tabnas.space import Architecture, Budget, CallableCost, Limit, SearchSpace
from tabnas.types import FloatArray, IntArray

WIDTHS = (8, 16, 24, 32, 40, 48, 56, 64)
LAYERS = 5
COLUMNS = [f"c{layer}" for layer in range(LAYERS)]


@dataclass(frozen=True, kw_only=True)
class NatsFile:
    """A Parquet or CSV file of the space: a row for each network, c0 to c4 are its five widths.

    The other fields name columns: MFLOPs, and the accuracies in per cent that searches see and
    that they are evaluated by.
    """

    name: str
    file: str
    mflops: str
    search_accuracy: str
    test_accuracy: str

    def read(self, folder: Path | None, limit: float) -> NatsSpace:
        """Read the space from the file in this folder, or from the bundled one."""
        table = read_table(locate_file(self.file, folder))
        widths = np.stack([table.column(name).to_numpy() for name in COLUMNS], axis=1)
        choices = np.searchsorted(WIDTHS, widths)
        values = np.full((3, *(len(WIDTHS),) * LAYERS), np.nan)
        for k, name in enumerate((self.mflops, self.search_accuracy, self.test_accuracy)):
            values[(k, *choices.T)] = table.column(name).to_numpy()
        if np.isnan(values).any():
            raise TabNASError(
                f"{self.file} must hold all {len(WIDTHS) ** LAYERS:,} networks, but "
                f"{int(np.isnan(values).any(axis=0).sum()):,} are missing"
            )
        return NatsSpace(*values, limit=limit)


class NatsSpace:
    """The networks within a limit on MFLOPs, and their accuracies."""

    def __init__(
        self,
        mflops: FloatArray,
        search_accuracy: FloatArray,
        test_accuracy: FloatArray,
        *,
        limit: float,
    ) -> None:
        self.limit = limit
        self._mflops = mflops
        self._search_accuracy, self._test_accuracy = search_accuracy, test_accuracy
        self.space = SearchSpace([WIDTHS] * LAYERS, inputs=3, outputs=10)
        cost = CallableCost(self._cost, name="mflops")
        self.feasible = FeasibleSet(self.space, Budget(Limit(cost, limit)))

    def _cost(self, architecture: Architecture) -> float:
        return float(self._mflops[self.space.choices(architecture)])

    def mflops(self, choices: IntArray) -> FloatArray:
        """Return the MFLOPs of choices, [..., layers]: [...]."""
        return np.asarray(self._mflops[tuple(np.moveaxis(choices, -1, 0))])

    def quality(self, choices: IntArray) -> FloatArray:
        """Return the quality that a search sees, in [0, 1] as in the paper: [...]."""
        return np.asarray(self._search_accuracy[tuple(np.moveaxis(choices, -1, 0))]) / 100

    def accuracy(self, choices: IntArray) -> FloatArray:
        """Return the accuracy that searches are evaluated by, in per cent: [...]."""
        return np.asarray(self._test_accuracy[tuple(np.moveaxis(choices, -1, 0))])

    @cached_property
    def best(self) -> Architecture:
        """The most accurate network within the limit."""
        members = self.feasible.members
        return self.space.architecture(members[int(self.accuracy(members).argmax())])

    def gap(self, choices: IntArray) -> FloatArray:
        """Return how many points less accurate than the best within the limit, [...]."""
        best = np.array(self.space.choices(self.best))
        return np.asarray(self.accuracy(best) - self.accuracy(choices))
