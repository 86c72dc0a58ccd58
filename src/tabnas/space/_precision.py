"""The precision in which the weights of a network are stored."""

from __future__ import annotations

from enum import StrEnum

from tabnas.errors import TabNASError, did_you_mean


class Precision(StrEnum):
    """How weights are stored; networks always compute with 32 bits."""

    FLOAT32 = "float32"
    """Every number takes 4 bytes."""
    FLOAT16 = "float16"
    """Every number takes 2 bytes."""
    INT8 = "int8"
    """A weight takes 1 byte, and the weights of a unit share a scale of 4 bytes.

    Embedding tables of categories share one scale, those of numbers have one for each dimension.
    Biases and LayerNorm's scales and shifts take 4 bytes.
    """

    @property
    def weight_bytes(self) -> int:
        """The bytes that one weight takes, without scales."""
        return _WEIGHT_BYTES[self]


_WEIGHT_BYTES = {Precision.FLOAT32: 4, Precision.FLOAT16: 2, Precision.INT8: 1}


def check_precision(precision: str) -> Precision:
    """Return a precision by its name; raise an error if there is none."""
    try:
        return Precision(precision)
    except ValueError:
        hint = did_you_mean(str(precision), [str(known) for known in Precision])
        raise TabNASError(f"there is no precision {precision!r}; {hint}") from None
