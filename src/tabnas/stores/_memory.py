"""How much memory encoding may take, and who gets what of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tabnas.errors import TabNASError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LEAST = 300 * 10**6
"""The least memory, in bytes, that can be asked for: the program itself takes most of it."""
MOST_CHUNK = 1 << 25  # larger ones are no faster
MOST_SAMPLED = 1 << 18
FEWEST_SAMPLED = 1 << 12


def parse_bytes(text: str) -> int:
    """A number of bytes from a text.

    >>> parse_bytes("500MB"), parse_bytes("1.5 gb")
    (500000000, 1500000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    if found is None or len(text) > 20 or found[2].upper() not in UNITS:
        raise TabNASError(f"a size must be like 500MB or 2GB, got {text[:20]!r}")
    return int(float(found[1]) * UNITS[found[2].upper()])


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What memory allows."""

    chunk: int  # bytes of a file that are read at a time
    counts: int  # bytes of all counts of categories
    sample: int  # bytes of the rows that scales are found from

    @classmethod
    def within(cls, memory: int) -> Sizes:
        """Shares of the memory; parsing and encoding a chunk takes several times its bytes."""
        if not isinstance(memory, int) or isinstance(memory, bool) or memory < LEAST:
            raise TabNASError(
                f"memory must be at least {LEAST // 10**6} MB, of which the program itself takes "
                f"most, got {memory!r}"
            )
        chunk = min(memory // 100, MOST_CHUNK)
        return cls(chunk=chunk, counts=memory // 20, sample=memory // 32)

    def sampled_rows(self, row_bytes: float) -> int:
        """How many rows are sampled if each takes so many bytes."""
        return int(min(max(self.sample / max(row_bytes, 1.0), FEWEST_SAMPLED), MOST_SAMPLED))
