"""The base class of column encoders: fitted once, then applied to any rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self

from tabnas.data._kinds import Kind
from tabnas.data._number_text import DECIMAL_MARKS
from tabnas.decoding import DecodeWith, decode, describe_value
from tabnas.types import Float32Array, FloatArray, Int32Array


def read_text(value: Any) -> str:
    """Return a string of a file; unlike those of most files, it may hold zero bytes."""
    if not isinstance(value, str):
        raise TypeError(f"must be a string, got {describe_value(value)}")
    value.encode()  # raises an error if it holds half of a surrogate pair
    return value


def read_distinct_texts(values: Any) -> tuple[str, ...]:
    """Return a list of distinct strings of a file as a tuple."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"must be a list of distinct strings, got {describe_value(values)}")
    texts = tuple(map(read_text, values))
    if len(set(texts)) < len(texts):
        raise ValueError("must be a list of distinct strings, but one occurs twice")
    return texts


def _read_decimal_mark(value: Any) -> str:
    if not isinstance(value, str) or value not in DECIMAL_MARKS:
        raise ValueError(f"must be '.' or ',', got {describe_value(value)}")
    return value


Text = Annotated[str, DecodeWith(read_text)]
DistinctTexts = Annotated[tuple[str, ...], DecodeWith(read_distinct_texts)]
DecimalMark = Annotated[str, DecodeWith(_read_decimal_mark)]


@dataclass(frozen=True, kw_only=True)
class FittedColumn(ABC):
    """The fitted encoder of a column; `to_dict` and `from_dict` are inverses."""

    kind: ClassVar[Kind]
    name: Text

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its numeric features; empty for a categorical column."""
        return ()

    @property
    def n_categories(self) -> int:
        """The number of its categories, 0 for a numeric column."""
        return 0

    @abstractmethod
    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        """Write the column's values to `numeric`, [rows, features], or to `codes`, [rows]."""

    def invert(self, feature: int, encoded: FloatArray) -> FloatArray:
        """Return the values that a numeric feature was encoded from, in the column's own units.

        Features without units, like sines and marks of missing values, are returned as they are.
        """
        return encoded

    @abstractmethod
    def describe(self) -> str:
        """Describe what is done to the column."""

    def with_max_categories(self, max_categories: int) -> Self:
        """Return the column with at most that many categories, if it has any."""
        return self

    def recode(self, codes: Int32Array, max_categories: int) -> None:  # noqa: B027
        """Turn codes of this column into those that `with_max_categories` has, in place.

        Only codes that change are written, and 0 never does.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return the state, for JSON."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: list(v) if isinstance(v, tuple) else v for key, v in state.items()}
        return {"kind": str(self.kind)} | plain

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Return the column of a state without its kind; raise an error if it is malformed."""
        return decode(
            cls, state, source=f"the {cls.kind} column {describe_value(state.get('name'))}"
        )
