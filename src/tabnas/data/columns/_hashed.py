"""Hashed columns: categories without a vocabulary, for those of which there is no end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data._kinds import Kind
from tabnas.data._state import Check, count, flag, require
from tabnas.data._values import coded_texts, plain_categories, refuse_unfit, texts
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array
from tabnas.errors import TabNASError, check_int

BUCKETS = 1 << 16
"""Buckets of a column, unless somebody says how many."""
MOST_BUCKETS = 1 << 30  # codes are 32 bits
OTHER = 0  # the code of a missing value where training had none


def _read_buckets(value: Any) -> int:
    number = int(count.read(value))
    require(0 < number <= MOST_BUCKETS and number.bit_count() == 1)
    return number


@dataclass(frozen=True, kw_only=True)
class HashedColumn(EncodedColumn):
    """Codes: 0 for other, then a bucket by the text's hash, then missing if it occurred.

    007, 7 and 7.0 are one text. The hash is FNV-1a of 64 bits of the UTF-8, its halves folded into
    one another, as its authors advise for fewer bits. Buckets are a power of two, so that fewer of
    them are the same ones folded: whoever has codes can limit them without the texts.
    """

    kind = Kind.HASHED
    checks = MappingProxyType(
        {
            "buckets": Check(f"a power of two of at most {MOST_BUCKETS:,}", _read_buckets),
            "has_missing": flag,
        }
    )

    buckets: int
    has_missing: bool

    @classmethod
    def fit(cls, name: str, column: Any, *, buckets: int = BUCKETS) -> HashedColumn:
        """Find whether values are missing; nothing else is to be found."""
        refuse_unfit(name, column)
        return cls(
            name=name,
            buckets=checked_buckets(buckets),
            has_missing=texts(column).null_count > 0,
        )

    def limited(self, max_categories: int) -> HashedColumn:
        """The column with the largest power of two of buckets that is not more."""
        most = 1 << (check_int("max_categories", max_categories, minimum=1).bit_length() - 1)
        return replace(self, buckets=min(self.buckets, most))

    def recode(self, codes: Int32Array, max_categories: int) -> None:
        narrow = self.limited(max_categories)
        rows = np.nonzero(codes > narrow.buckets)[0]
        gone = self.has_missing & (codes[rows] == self.categories - 1)
        folded = 1 + (codes[rows] - 1 & narrow.buckets - 1)
        codes[rows] = np.where(gone, narrow.categories - 1, folded)

    @property
    def categories(self) -> int:
        return 1 + self.buckets + self.has_missing

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        refuse_unfit(self.name, column)
        values, rows = coded_texts(column)
        hashes = hashed(plain_categories(values))
        hashes ^= hashes >> np.uint64(32)
        found = 1 + (hashes & np.uint64(self.buckets - 1)).astype(np.int32)
        gone = self.categories - 1 if self.has_missing else OTHER
        found[values.is_null().to_numpy(zero_copy_only=False)] = gone
        codes[:] = found[rows]

    def describe(self) -> str:
        said = f"{self.buckets} buckets by the hash of the text"
        return f"{said}, one for missing" if self.has_missing else said


def checked_buckets(buckets: int) -> int:
    """The number of buckets, which must be a power of two."""
    number = check_int("buckets", buckets, minimum=1)
    if number > MOST_BUCKETS or number.bit_count() != 1:
        near = min(MOST_BUCKETS, 1 << (number.bit_length() - 1))
        raise TabNASError(
            f"buckets must be a power of two of at most {MOST_BUCKETS:,}, got {number:,}; take "
            f"{near:,}"
        )
    return number


def hashed(values: pa.Array) -> NDArray[np.uint64]:
    """FNV-1a of each text's UTF-8; that of the empty text where one is missing.

    >>> [hex(h) for h in hashed(pa.array(["", "a", "foobar"]))]
    ['0xcbf29ce484222325', '0xaf63dc4c8601ec8c', '0x85944171f73967e8']
    """
    from tabnas.data.columns._kernels import fnv1a  # only those who hash wait for Numba

    hashes = np.empty(len(values), np.uint64)
    _, offsets, data = values.buffers()
    if len(values):
        begin = values.offset
        ends = np.frombuffer(offsets, np.int32)[begin : begin + len(values) + 1]
        empty = np.empty(0, np.uint8)
        fnv1a(ends, empty if data is None else np.frombuffer(data, np.uint8), hashes)
    return hashes
