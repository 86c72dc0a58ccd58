"""What encoding a column means: fitted once, then applied to one row or millions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tabnas.data._kinds import Kind
from tabnas.data._state import Check, checked, text

Float32Array = NDArray[np.float32]
Int32Array = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class EncodedColumn(ABC):
    """A fitted column. Its state is plain data: `to_dict` and `from_dict` are inverses."""

    kind: ClassVar[Kind]
    checks: ClassVar[Mapping[str, Check]] = {}  # of the fields that a subclass adds
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

    def limited(self, max_categories: int) -> Self:
        """The column with at most so many categories of its own, if it has any."""
        return self

    def recode(self, codes: Int32Array, max_categories: int) -> None:  # noqa: B027
        """Turn codes of this column into those that `limited` has, in place.

        Only those that change are written, and 0 never does.
        """

    def to_dict(self) -> dict[str, Any]:
        """The state, fit for JSON."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: list(v) if isinstance(v, tuple) else v for key, v in state.items()}
        return {"kind": str(self.kind)} | plain

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, without the kind; what is malformed is refused."""
        return cls(**checked(f"a {cls.kind} column", state, {"name": text, **cls.checks}))
