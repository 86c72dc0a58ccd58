"""Where records of separated text end, compiled: a newline inside quotes is no end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabnas.compiling import cached_njit

QUOTE, NEWLINE, RETURN = 34, 10, 13


@cached_njit
def scan_records(data: NDArray[np.uint8], separator: int) -> tuple[int, bool]:
    """Just behind the last record that ends in `data`, 0 if none does, and whether a quote is open.

    As Arrow reads them: a quote begins a quoted value only where a value begins, and a doubled one
    inside is meant as such.
    """
    end, quoted, begins = 0, False, True
    i = 0
    while i < len(data):
        c = data[i]
        if quoted:
            if c == QUOTE:
                if i + 1 < len(data) and data[i + 1] == QUOTE:
                    i += 1
                else:
                    quoted = False
        elif c in (NEWLINE, RETURN):
            end, begins = i + 1, True
        elif c == QUOTE and begins:
            quoted, begins = True, False
        else:
            begins = c == separator
        i += 1
    return end, quoted
