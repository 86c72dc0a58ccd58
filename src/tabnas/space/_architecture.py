"""An architecture: one width per hidden layer, written `32-144-24`, or `d2-32-144-24`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from tabnas.errors import TabNASError, check_int
from tabnas.space._numeric_embeddings import MAX_DIMENSION

LINEAR = "linear"  # how the network without hidden layers is written
DIMENSION = "d"  # what stands before the dimension of numeric embeddings
MAX_DEPTH, MAX_WIDTH = 1_000, 10**7  # of an architecture in a file
MAX_DIGITS = 18  # of a number; int() raises another error beyond some thousands
MAX_SHOWN = 100  # characters of a text that is no architecture, in the error


@dataclass(frozen=True, order=True)
class Architecture:
    """The widths of a network's hidden layers, first to last, and how it reads numeric columns.

    `dimension` is that of the numeric embeddings (see `NumericEmbeddings`); with 0, the default,
    the network reads the values as they are.

    >>> Architecture((32, 144, 24))
    Architecture('32-144-24')
    >>> Architecture.parse("32-144-24").widths
    (32, 144, 24)
    >>> str(Architecture(()))
    'linear'
    >>> str(Architecture((64, 16), dimension=2))
    'd2-64-16'
    """

    widths: tuple[int, ...]
    dimension: int = 0

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
        dimension = check_int("the dimension of numeric embeddings", self.dimension, minimum=0)
        object.__setattr__(self, "dimension", dimension)

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Parse the hyphenated form; `linear` is the network without hidden layers."""
        parts = text.strip().split("-")
        numbers = []
        if len(parts) > 1 and parts[0].startswith(DIMENSION):
            numbers.append(parts.pop(0).removeprefix(DIMENSION))
        has_dimension = bool(numbers)
        if parts != [LINEAR]:
            numbers += parts
        if not all(map(_is_positive_number, numbers)):
            raise TabNASError(
                "an architecture must be written as positive widths joined by hyphens, like "
                "32-144-24, after the dimension of numeric embeddings if there are any, like "
                f"d2-32-144-24, got {text[:MAX_SHOWN]!r}"
            )
        values = [*map(int, numbers)]
        dimension = values.pop(0) if has_dimension else 0
        return cls(tuple(values), dimension)

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
        if architecture.dimension > MAX_DIMENSION:
            raise TabNASError(
                f"numeric embeddings must have a dimension of at most {MAX_DIMENSION:,}"
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
        hidden = "-".join(map(str, self.widths)) or LINEAR
        return f"{DIMENSION}{self.dimension}-{hidden}" if self.dimension else hidden

    def __repr__(self) -> str:
        return f"Architecture({str(self)!r})"


def _is_positive_number(text: str) -> bool:
    # int() would also accept "1_6", "+16" and digits of other scripts
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and int(text) > 0
