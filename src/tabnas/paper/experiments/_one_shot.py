"""A trained SuperNet as a source of qualities for strategies, with every look counted."""

from __future__ import annotations

import numpy as np

from tabnas.nets import Examples, SuperNet
from tabnas.types import FloatArray, IntArray


class OneShot:
    """The quality of children, 1 - loss, on some validation rows.

    Each call draws `rows` rows anew and compares its children on them, as a policy step does. If it
    is `steady`, all calls share the rows of the first, so that a second look at a child says
    nothing new. With no more rows than are asked for, all of them are taken.
    """

    def __init__(
        self,
        net: SuperNet,
        validation: Examples,
        *,
        rows: int,
        rng: np.random.Generator,
        steady: bool = False,
    ) -> None:
        self.net = net
        self.validation = validation
        self.rows = min(rows, len(validation))
        self.steady = steady
        self.looks = 0
        self._rng = rng
        self._kept: IntArray | slice | None = None

    @property
    def passes(self) -> int:
        """Rows that went through a network: what the looks so far have cost."""
        return self.looks * self.rows

    def __call__(self, choices: IntArray) -> FloatArray:
        rows = self._drawn()
        self.looks += len(choices)
        losses = np.array([self.net.loss(row, self.validation, rows) for row in choices])
        return np.where(np.isfinite(losses), 1 - losses, -np.finfo(np.float32).max)

    def _drawn(self) -> IntArray | slice:
        if self._kept is not None:
            return self._kept
        total = len(self.validation)
        if self.rows == total:
            rows: IntArray | slice = slice(None)
        elif self.steady:
            rows = np.sort(self._rng.choice(total, self.rows, replace=False))
        else:
            rows = self._rng.integers(total, size=self.rows)
        if self.steady:
            self._kept = rows
        return rows
