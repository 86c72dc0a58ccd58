"""Categorical columns: a code for each category, one for all that are rare or unseen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._kinds import Kind
from tabnas.data._values import check_column_type, factorize_texts, to_texts
from tabnas.data.columns._column import (
    DistinctTexts,
    FittedColumn,
)
from tabnas.data.columns._spelling import Spelling, infer_spelling, spell
from tabnas.decoding import Count
from tabnas.errors import check_int
from tabnas.types import Float32Array, Int32Array

OTHER = 0  # the code of rare and unseen categories


@dataclass(frozen=True, kw_only=True)
class CategoricalColumn(FittedColumn):
    """Codes: 0 for other, then the vocabulary by falling frequency, then missing if it occurred.

    A missing value is also other if training had none. A category is the same in every file,
    whatever type it is read as: see `Spelling`.
    """

    kind = Kind.CATEGORICAL
    vocabulary: DistinctTexts
    has_missing: bool
    pooled: Count  # categories too rare for their own code
    spelling: Spelling = "plain"

    @classmethod
    def fit(
        cls, name: str, column: Any, *, min_count: int = 1, max_categories: int = 10_000
    ) -> CategoricalColumn:
        """Fit the vocabulary: what occurs `min_count` times, the most frequent if too many."""
        check_column_type(name, column)
        values = to_texts(column)
        table = pc.value_counts(values.drop_null())
        return cls.from_counts(
            name,
            table.field("values"),
            table.field("counts"),
            has_missing=values.null_count > 0,
            min_count=min_count,
            max_categories=max_categories,
        )

    @classmethod
    def from_counts(
        cls,
        name: str,
        values: Any,
        counts: Any,
        *,
        has_missing: bool,
        min_count: int = 1,
        max_categories: int = 10_000,
    ) -> CategoricalColumn:
        """Fit the vocabulary from different texts and how often each occurs."""
        check_int("min_count", min_count, minimum=1)
        spelling = infer_spelling(values)
        counted = pa.table({"value": spell(values, spelling), "count": counts})
        counted = counted.group_by("value").aggregate([("count", "sum")])
        values, counts = counted.column("value"), counted.column("count_sum")
        often = pc.greater_equal(counts, min_count)
        ordered = sorted(
            zip(counts.filter(often).to_pylist(), values.filter(often).to_pylist(), strict=True),
            key=lambda pair: (-pair[0], pair[1]),
        )
        return cls(
            name=name,
            vocabulary=tuple(value for _, value in ordered),
            has_missing=has_missing,
            pooled=len(values) - len(ordered),
            spelling=spelling,
        ).with_max_categories(max_categories)

    def with_max_categories(self, max_categories: int) -> CategoricalColumn:
        """Return the column with the most frequent categories only; the others are pooled."""
        vocabulary = self.vocabulary[: check_int("max_categories", max_categories, minimum=1)]
        return replace(
            self, vocabulary=vocabulary, pooled=self.pooled + len(self.vocabulary) - len(vocabulary)
        )

    def recode(self, codes: Int32Array, max_categories: int) -> None:
        narrow = self.with_max_categories(max_categories)
        rows = np.nonzero(codes > len(narrow.vocabulary))[0]
        is_missing = self.has_missing & (codes[rows] == self.n_categories - 1)
        codes[rows] = np.where(is_missing, narrow.n_categories - 1, OTHER)

    @property
    def n_categories(self) -> int:
        return 1 + len(self.vocabulary) + self.has_missing

    @cached_property
    def _lookup(self) -> pa.Array:
        return pa.array(self.vocabulary, pa.string())

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        check_column_type(self.name, column)
        values, rows = factorize_texts(column)
        values = spell(values, self.spelling)
        value_codes = (
            pc.index_in(values, value_set=self._lookup).fill_null(OTHER - 1).to_numpy() + 1
        )
        if self.has_missing:
            value_codes[values.is_null().to_numpy(zero_copy_only=False)] = self.n_categories - 1
        codes[:] = value_codes[rows]

    def normalize(self, column: Any) -> Any:
        """Return values as the vocabulary has them, null where missing."""
        check_column_type(self.name, column)
        return spell(to_texts(column), self.spelling)

    def describe(self) -> str:
        text = f"{len(self.vocabulary)} categories"
        if self.pooled:
            text += f", {self.pooled} rare {'one' if self.pooled == 1 else 'ones'} pooled"
        if self.has_missing:
            text += ", one for missing"
        if self.spelling == "exact":
            text += ", leading zeros distinguished"
        return text + "; unseen ones count as other"
