"""A trained SuperNet as the quality function of strategies, with a count of evaluations."""

from __future__ import annotations

import numpy as np

from tabnas.nets import Examples, SuperNet
from tabnas.strategies import Strategy, StuckError, optimize
from tabnas.types import FloatArray, IntArray


class OneShotQuality:
    """The quality of children, 1 - loss, on a sample of the validation rows.

    Each call samples `rows` rows and compares its children on them, as a policy step does. If
    `fixed`, all calls use the rows of the first, so that evaluating a child twice gives nothing
    new. All rows are used if there are no more than `rows`.
    """

    def __init__(
        self,
        net: SuperNet,
        validation: Examples,
        *,
        rows: int,
        rng: np.random.Generator,
        fixed: bool = False,
    ) -> None:
        self.net = net
        self.validation = validation
        self.rows = min(rows, len(validation))
        self.fixed = fixed
        self.evaluations = 0
        self._rng = rng
        self._fixed_rows: IntArray | slice | None = None

    @property
    def rows_evaluated(self) -> int:
        """The cost of the evaluations so far: rows that went through a network."""
        return self.evaluations * self.rows

    def __call__(self, choices: IntArray) -> FloatArray:
        rows = self._sample_rows()
        self.evaluations += len(choices)
        losses = np.array([self.net.loss(row, self.validation, rows) for row in choices])
        return np.where(np.isfinite(losses), 1 - losses, -np.finfo(np.float32).max)

    def _sample_rows(self) -> IntArray | slice:
        if self._fixed_rows is not None:
            return self._fixed_rows
        total = len(self.validation)
        if self.rows == total:
            rows: IntArray | slice = slice(None)
        elif self.fixed:
            rows = np.sort(self._rng.choice(total, self.rows, replace=False))
        else:
            rows = self._rng.integers(total, size=self.rows)
        if self.fixed:
            self._fixed_rows = rows
        return rows


def run_strategy(strategy: Strategy, quality: OneShotQuality, evaluations: int) -> bool:
    """Run a strategy; return whether it got stuck before it had used all evaluations."""
    try:
        optimize(strategy, quality, evaluations)
    except StuckError:
        return True
    return False
