"""An architecture: one width per hidden layer, written `32-144-24`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tabnas.decoding import describe_value
from tabnas.errors import TabNASError

LINEAR = "linear"  # how the network without hidden layers is written


@dataclass(frozen=True, order=True)
class Architecture:
    """The widths of a network's hidden layers, first to last.

    >>> Architecture((32, 144, 24))
    Architecture('32-144-24')
    >>> Architecture.parse("32-144-24").widths
    (32, 144, 24)
    >>> str(Architecture(()))
    'linear'
    """

    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        try:
            widths = tuple(operator.index(width) for width in self.widths)
        except TypeError:
            widths = (0,)
        if not all(width > 0 for width in widths):
            raise TabNASError(
                f"the widths of an architecture must be positive integers, got {self.widths}"
            )
        object.__setattr__(self, "widths", widths)

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Parse the hyphenated form; `linear` is the network without hidden layers."""
        text = text.strip()
        if text == LINEAR:
            return cls(())
        # int() alone would also accept "1_6", "+16" and digits of other scripts
        parts = text.split("-")
        if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
            raise TabNASError(
                "an architecture must be written as positive widths joined by hyphens, like "
                f"32-144-24, got {text!r}"
            )
        return cls(tuple(int(part) for part in parts))

    @classmethod
    def from_json(cls, value: Any) -> Architecture:
        """Decode an architecture of a file (`tabnas.decoding`)."""
        if not isinstance(value, str):
            raise TabNASError(f"an architecture must be a text, got {describe_value(value)}")
        return cls.parse(value)

    def to_json(self) -> str:
        """Return the hyphenated form, for files."""
        return str(self)

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        return len(self.widths)

    def __iter__(self) -> Iterator[int]:
        return iter(self.widths)

    def __str__(self) -> str:
        return "-".join(map(str, self.widths)) or LINEAR

    def __repr__(self) -> str:
        return f"Architecture({str(self)!r})"
