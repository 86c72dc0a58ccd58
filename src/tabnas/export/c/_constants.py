"""Constants of C: arrays and tables in read-only memory, with their size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = {
    "double": np.float64,
    "float": np.float32,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
    "uint16_t": np.uint16,
    "int32_t": np.int32,
    "uint32_t": np.uint32,
    "int64_t": np.int64,
}
"""NumPy's type of each type of C."""
VALUES_PER_LINE = 8


@dataclass(frozen=True)
class ConstantArray:
    """A `static const` array."""

    name: str
    ctype: str
    values: Sequence[str]  # as they are written in C

    @property
    def bytes(self) -> int:
        """The size of the array."""
        return len(self.values) * np.dtype(DTYPES[self.ctype]).itemsize

    def render(self) -> str:
        """Return the definition."""
        lines = [
            "    " + ", ".join(self.values[start : start + VALUES_PER_LINE])
            for start in range(0, len(self.values), VALUES_PER_LINE)
        ]
        body = ",\n".join(lines)
        return f"static const {self.ctype} {self.name}[{len(self.values)}] = {{\n{body}\n}};\n"


@dataclass(frozen=True)
class ConstantTable:
    """A `static const` array of structs, one for each column of a kind."""

    name: str
    members: dict[str, str]  # types by name
    rows: Sequence[Sequence[str]]

    @property
    def bytes(self) -> int:
        """The size of the array, as compilers align structs."""
        dtype = np.dtype(
            [(name, DTYPES[ctype]) for name, ctype in self.members.items()], align=True
        )
        return len(self.rows) * dtype.itemsize

    def render(self) -> str:
        """Return the definition."""
        members = " ".join(f"{ctype} {name};" for name, ctype in self.members.items())
        rows = ",\n".join(f"    {{{', '.join(row)}}}" for row in self.rows)
        return (
            f"static const struct {{ {members} }} {self.name}[{len(self.rows)}] = {{\n{rows}\n}};\n"
        )


Constant = ConstantArray | ConstantTable


def to_constant(name: str, array: NDArray[Any]) -> ConstantArray:
    """Return an array of float32 or int8 as a constant that compilers read as the same bits."""
    values = array.ravel().tolist()
    if array.dtype == np.int8:
        return ConstantArray(name, "int8_t", [str(value) for value in values])
    return ConstantArray(name, "float", [format_float(value) for value in values])


def format_float(value: float) -> str:
    """Return a float32 as C writes it.

    >>> format_float(1.0), format_float(float(np.float32(0.1))), format_float(-1e-45)
    ('1.0f', '0.100000001f', '-1e-45f')
    """
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def format_double(value: float) -> str:
    """Return a float64 as C writes it."""
    return repr(float(value))


def unsigned_type(maximum: int) -> str:
    """Return the smallest type of at least 16 bits for numbers from 0 to a maximum."""
    return "uint16_t" if maximum < 1 << 16 else "uint32_t"


def count_bytes(constants: Iterable[Constant]) -> int:
    """Return the size of all constants."""
    return sum(constant.bytes for constant in constants)
