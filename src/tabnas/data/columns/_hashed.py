"""Hashed columns: categories without a vocabulary, for very many categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data._kinds import Kind
from tabnas.data._values import check_column_type, factorize_texts, normalize_categories, to_texts
from tabnas.data.columns._column import FittedColumn
from tabnas.errors import TabNASError, check_int
from tabnas.types import Float32Array, Int32Array

BUCKETS = 1 << 16
"""The number of buckets of a column by default."""
MAX_BUCKETS = 1 << 30  # codes are 32 bits
OTHER = 0  # the code of a missing value where training had none


@dataclass(frozen=True, kw_only=True)
class HashedColumn(FittedColumn):
    """Codes: 0 for other, then a bucket by the text's hash, then missing if it occurred.

    007, 7 and 7.0 are one text. The hash is FNV-1a of 64 bits of the UTF-8, its halves folded into
    one another, as its authors advise for fewer bits. Buckets are a power of two, so that fewer of
    them are the same ones folded: codes can be limited without the texts.
    """

    kind = Kind.HASHED
    buckets: int
    has_missing: bool

    def __post_init__(self) -> None:
        check_buckets(self.buckets)

    @classmethod
    def fit(cls, name: str, column: Any, *, buckets: int = BUCKETS) -> HashedColumn:
        """Fit the column: find whether values are missing."""
        check_column_type(name, column)
        return cls(
            name=name,
            buckets=buckets,
            has_missing=to_texts(column).null_count > 0,
        )

    def with_max_categories(self, max_categories: int) -> HashedColumn:
        """Return the column with the largest power of two of buckets that is not more."""
        max_buckets = 1 << (check_int("max_categories", max_categories, minimum=1).bit_length() - 1)
        return replace(self, buckets=min(self.buckets, max_buckets))

    def recode(self, codes: Int32Array, max_categories: int) -> None:
        narrow = self.with_max_categories(max_categories)
        rows = np.nonzero(codes > narrow.buckets)[0]
        is_missing = self.has_missing & (codes[rows] == self.n_categories - 1)
        folded = 1 + (codes[rows] - 1 & narrow.buckets - 1)
        codes[rows] = np.where(is_missing, narrow.n_categories - 1, folded)

    @property
    def n_categories(self) -> int:
        return 1 + self.buckets + self.has_missing

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        check_column_type(self.name, column)
        values, rows = factorize_texts(column)
        hashes = hash_texts(normalize_categories(values))
        hashes ^= hashes >> np.uint64(32)
        value_codes = 1 + (hashes & np.uint64(self.buckets - 1)).astype(np.int32)
        missing_code = self.n_categories - 1 if self.has_missing else OTHER
        value_codes[values.is_null().to_numpy(zero_copy_only=False)] = missing_code
        codes[:] = value_codes[rows]

    def describe(self) -> str:
        text = f"{self.buckets} buckets by the hash of the text"
        return f"{text}, one for missing" if self.has_missing else text


def check_buckets(buckets: int) -> int:
    """Return the number of buckets; raise an error unless it is a power of two."""
    number = check_int("buckets", buckets, minimum=1)
    if number > MAX_BUCKETS or number.bit_count() != 1:
        near = min(MAX_BUCKETS, 1 << (number.bit_length() - 1))
        raise TabNASError(
            f"buckets must be a power of two of at most {MAX_BUCKETS:,}, got {number:,}; take "
            f"{near:,}"
        )
    return number


def hash_texts(values: pa.Array) -> NDArray[np.uint64]:
    """Return FNV-1a of each text's UTF-8; that of the empty text where one is missing.

    >>> [hex(h) for h in hash_texts(pa.array(["", "a", "foobar"]))]
    ['0xcbf29ce484222325', '0xaf63dc4c8601ec8c', '0x85944171f73967e8']
    """
    from tabnas.data.columns._kernels import fnv1a  # only hashing needs Numba

    hashes = np.empty(len(values), np.uint64)
    _, offsets, data = values.buffers()
    if len(values):
        begin = values.offset
        ends = np.frombuffer(offsets, np.int32)[begin : begin + len(values) + 1]
        empty = np.empty(0, np.uint8)
        fnv1a(ends, empty if data is None else np.frombuffer(data, np.uint8), hashes)
    return hashes
