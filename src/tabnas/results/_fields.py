"""Types of fields that several results share, and the check of a file's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from tabnas.decoding import Bounds, DecodeError, MaxLength

MAX_NUMBER = 1e300
"""Larger numbers cannot be drawn to a scale."""
MAX_WIDTH = 10**7
MAX_LAYERS = 1_000

Task = Literal["binary", "multiclass", "regression"]
Label = bool | int | float | str
"""A class, as the table has it."""
Name = Annotated[str, MaxLength(80)]
"""The key of a metric or a cost."""
Real = Annotated[float, Bounds(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Amount = Annotated[int | float, Bounds(ge=-MAX_NUMBER, le=MAX_NUMBER)]
"""A cost: an integer if it is counted, a float if it is measured."""
LargeCount = Annotated[int, Bounds(ge=0, le=MAX_NUMBER)]
"""A count that may exceed 64 bits, like the size of a search space."""
Width = Annotated[int, Bounds(ge=0, le=MAX_WIDTH)]


def check_format(value: Any, newest: int, *, source: str, contents: str) -> None:
    """Raise an error unless a file has the format that this version writes."""
    version = value.get("format") if isinstance(value, Mapping) else None
    if type(version) is not int:
        raise DecodeError(f"{source} must hold {contents}, but it names no format")
    if version > newest:
        raise DecodeError(
            f"{source} must have format {newest}, got {version}: it was written by a newer tabnas; "
            "update this one"
        )
    if version < newest:
        raise DecodeError(
            f"{source} must have format {newest}, got {version}: it was written by an older "
            "tabnas; use that version, or run the search again"
        )
