"""Boolean columns: -1 and 1, and 0 where missing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabnas.data._kinds import Kind
from tabnas.data._values import is_text, texts
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array
from tabnas.errors import TabnasError


@dataclass(frozen=True, kw_only=True)
class BooleanColumn(EncodedColumn):
    """False is -1, true 1, missing 0: three levels need no indicator."""

    kind = Kind.BOOLEAN

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        if is_text(column):
            column = texts(column)
        try:
            values = column.cast(pa.bool_()).cast(pa.float64()).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise TabnasError(
                f"the column {self.name!r} must hold true and false, however it holds {column.type}"
            ) from None
        numeric[:, 0] = np.where(np.isnan(values), 0.0, 2 * np.nan_to_num(values) - 1)

    def describe(self) -> str:
        return "-1 for false, 1 for true, 0 where missing"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
