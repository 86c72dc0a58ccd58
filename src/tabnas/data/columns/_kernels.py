"""Compiled hashes of texts, computed on Arrow's offsets and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.kernel_cache import cached_njit

BASIS = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)


@cached_njit
def fnv1a(offsets: NDArray[Any], data: NDArray[np.uint8], hashes: NDArray[np.uint64]) -> None:
    """FNV-1a, 64 bits, of the bytes between each offset and the next, to `hashes`."""
    for i in range(len(hashes)):
        h = BASIS
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[j])) * PRIME
        hashes[i] = h
