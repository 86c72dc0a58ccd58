"""Sizes of a child, as kernels read them."""

from __future__ import annotations

from tabnas.nets.compiled._jit import njit_helper
from tabnas.types import IntArray


@njit_helper
def depth_of(child: IntArray) -> int:
    """Return the number of hidden layers of a child: its units after the inputs, up to a 0."""
    depth = 0
    while depth + 1 < child.size and child[depth + 1] > 0:
        depth += 1
    return depth
