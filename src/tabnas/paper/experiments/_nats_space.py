"""The size space of NATS-Bench: 32,768 convolutional networks whose accuracies are known."""

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
    """A file of the space, Parquet or CSV: a row for each network, c0 to c4 its five widths.

    The names of the other columns are told here: MFLOPs, and accuracies in per cent, one to search
    by and one to judge by.
    """

    name: str
    file: str
    mflops: str
    searched: str
    judged: str

    def read(self, folder: Path | None, limit: float) -> NatsSpace:
        """Read the space from the file in this folder, or from the one that comes with tabnas."""
        table = read_table(locate_file(self.file, folder))
        widths = np.stack([table.column(name).to_numpy() for name in COLUMNS], axis=1)
        places = np.searchsorted(WIDTHS, widths)
        shape = (len(WIDTHS),) * LAYERS
        known = np.full((3, *shape), np.nan)
        for kind, name in enumerate((self.mflops, self.searched, self.judged)):
            known[(kind, *places.T)] = table.column(name).to_numpy()
        if np.isnan(known).any():
            raise TabNASError(
                f"{self.file} must tell of all {len(WIDTHS) ** LAYERS:,} networks, but it does "
                f"not of {int(np.isnan(known).any(axis=0).sum()):,}"
            )
        return NatsSpace(*known, limit=limit)


class NatsSpace:
    """The networks within a limit on MFLOPs, and what each is worth."""

    def __init__(
        self, mflops: FloatArray, searched: FloatArray, judged: FloatArray, *, limit: float
    ) -> None:
        self.limit = limit
        self._mflops, self._searched, self._judged = mflops, searched, judged
        self.space = SearchSpace([WIDTHS] * LAYERS, inputs=3, outputs=10)
        cost = CallableCost(self._cost, name="mflops")
        self.feasible = FeasibleSet(self.space, Budget(Limit(cost, limit)))

    def _cost(self, architecture: Architecture) -> float:
        return float(self._mflops[self.space.choices(architecture)])

    def mflops(self, choices: IntArray) -> FloatArray:
        """Of choices, [..., layers]: [...]."""
        return np.asarray(self._mflops[tuple(np.moveaxis(choices, -1, 0))])

    def quality(self, choices: IntArray) -> FloatArray:
        """What a search sees, in [0, 1], as the paper has it: [...]."""
        return np.asarray(self._searched[tuple(np.moveaxis(choices, -1, 0))]) / 100

    def accuracy(self, choices: IntArray) -> FloatArray:
        """What is judged by, in per cent: [...]."""
        return np.asarray(self._judged[tuple(np.moveaxis(choices, -1, 0))])

    @cached_property
    def best(self) -> Architecture:
        """The most accurate network within the limit."""
        members = self.feasible.members
        return self.space.architecture(members[int(self.accuracy(members).argmax())])

    def gap(self, choices: IntArray) -> FloatArray:
        """How many points less accurate than the best within the limit, [...]."""
        best = np.array(self.space.choices(self.best))
        return np.asarray(self.accuracy(best) - self.accuracy(choices))
