"""Boolean columns: -1 and 1, and 0 where missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tabnas.data._kinds import Kind
from tabnas.data._values import to_booleans
from tabnas.data.columns._column import FittedColumn
from tabnas.types import Float32Array, Int32Array


@dataclass(frozen=True, kw_only=True)
class BooleanColumn(FittedColumn):
    """False is -1, true 1, missing 0: three levels need no indicator."""

    kind = Kind.BOOLEAN

    @classmethod
    def fit(cls, name: str, column: Any) -> BooleanColumn:
        """Check that all values are true or false."""
        to_booleans(name, column)
        return cls(name=name)

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        numeric[:, 0] = np.nan_to_num(2 * to_booleans(self.name, column) - 1, nan=0.0)

    def describe(self) -> str:
        return "-1 for false, 1 for true, 0 where missing"
