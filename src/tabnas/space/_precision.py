"""The precision in which the weights of a network are stored."""

from __future__ import annotations

from enum import StrEnum


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
