"""An architecture: one width per hidden layer, written `32-144-24`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from tabnas.errors import TabNASError

LINEAR = "linear"  # how the network without hidden layers is written
MAX_DEPTH, MAX_WIDTH = 1_000, 10**7  # of an architecture in a file


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
        # int() would also accept "1_6", "+16" and digits of other scripts
        parts = text.split("-")
        if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
            raise TabNASError(
                "an architecture must be written as positive widths joined by hyphens, like "
                f"32-144-24, got {text!r}"
            )
        return cls(tuple(int(part) for part in parts))

    @classmethod
    def from_json(cls, value: object) -> Architecture:
        """Parse the hyphenated form, as files have it; refuse absurdly large networks."""
        if not isinstance(value, str) or len(value) > 10 * MAX_DEPTH:
            raise TabNASError("an architecture must be widths joined by hyphens, like 32-144-24")
        architecture = cls.parse(value)
        if architecture.depth > MAX_DEPTH or max(architecture, default=0) > MAX_WIDTH:
            raise TabNASError(
                f"an architecture must have at most {MAX_DEPTH:,} layers of at most {MAX_WIDTH:,} "
                "units"
            )
        return architecture

    def to_json(self) -> str:
        """Return the hyphenated form."""
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
