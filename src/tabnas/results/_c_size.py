"""The memory that a model takes as C files."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.decoding import Count


@dataclass(frozen=True, kw_only=True)
class CSize:
    """The bytes of a model as C files: what they are bounded by, and what a compiler makes of them.

    The compiled sizes and the compiler are None if nothing was compiled: that needs a C compiler
    and the tool `size`.
    """

    weight_bytes: Count  # that a limit on bytes counts: with knots
    column_bytes: Count  # what the encoder knows of the columns, such as centers and scales
    max_code_bytes: Count  # code and alignment that gcc -O2 needs besides at most, on x86-64
    ram_bytes: Count  # of activations
    compiled_bytes: Count | None = None  # code and constants, without texts
    lookup_bytes: Count | None = None  # texts of categories and classes, and what searches them
    compiler: str | None = None  # the first line that it prints about itself

    def __post_init__(self) -> None:
        measured = (self.compiled_bytes, self.lookup_bytes, self.compiler)
        if any(one is None for one in measured) and measured != (None, None, None):
            raise ValueError(
                "compiled_bytes, lookup_bytes and compiler must be given together or be null"
            )

    @property
    def max_bytes(self) -> int:
        """The largest compiled size with gcc -O2 on x86-64, without texts."""
        return self.weight_bytes + self.column_bytes + self.max_code_bytes

    def __str__(self) -> str:
        """Return the compiled size, if it is known, and its bound."""
        if self.compiled_bytes is None:
            return f"at most {self.max_bytes:,} bytes"
        if self.compiled_bytes <= self.max_bytes:
            return f"{self.compiled_bytes:,} of at most {self.max_bytes:,} bytes"
        return (
            f"{self.compiled_bytes:,} bytes, more than the {self.max_bytes:,} of gcc -O2 on x86-64"
        )
