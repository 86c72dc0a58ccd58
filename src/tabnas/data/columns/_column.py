"""What encoding a column means: fitted once, then applied to one row or millions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabnas.data._kinds import Kind

Float32Array = NDArray[np.float32]
Int32Array = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class EncodedColumn(ABC):
    """A fitted column. Its state is plain data: `to_dict` and `from_dict` are inverses."""

    kind: ClassVar[Kind]
    name: str

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numbers it becomes; none for a column that becomes categories."""
        return ()

    @property
    def categories(self) -> int:
        """How many categories it becomes, 0 for a column that becomes numbers."""
        return 0

    @abstractmethod
    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        """Write the column's values to `numeric`, [rows, features], or to `codes`, [rows]."""

    @abstractmethod
    def describe(self) -> str:
        """What is done to the column, for people."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The state, fit for JSON."""
