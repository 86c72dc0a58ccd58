"""Categorical columns: a number for each category, one for all that is rare or unseen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._kinds import Kind
from tabnas.data._values import texts
from tabnas.data.columns._column import EncodedColumn, Float32Array, Int32Array

OTHER = 0  # the code of rare and unseen categories


@dataclass(frozen=True, kw_only=True)
class CategoricalColumn(EncodedColumn):
    """Codes: 0 for other, then the vocabulary by falling frequency, then missing if it occurred.

    A missing value where training had none is other, too.
    """

    kind = Kind.CATEGORICAL

    vocabulary: tuple[str, ...]
    has_missing: bool
    pooled: int  # categories too rare for a code of their own

    @classmethod
    def fit(
        cls, name: str, column: Any, *, min_count: int = 1, max_categories: int = 10_000
    ) -> CategoricalColumn:
        """Find the vocabulary: what occurs `min_count` times, the most frequent if too many."""
        values = texts(column)
        table = pc.value_counts(values.drop_null().combine_chunks())
        counted = sorted(
            zip(table.field("counts").to_pylist(), table.field("values").to_pylist(), strict=True),
            key=lambda pair: (-pair[0], pair[1]),
        )
        kept = [value for count, value in counted if count >= min_count][:max_categories]
        return cls(
            name=name,
            vocabulary=tuple(kept),
            has_missing=values.null_count > 0,
            pooled=len(counted) - len(kept),
        )

    @property
    def categories(self) -> int:
        return 1 + len(self.vocabulary) + self.has_missing

    @cached_property
    def _lookup(self) -> pa.Array:
        return pa.array(self.vocabulary, pa.string())

    def encode(self, column: Any, numeric: Float32Array, codes: Int32Array) -> None:
        values = texts(column)
        found = pc.index_in(values, value_set=self._lookup).fill_null(OTHER - 1).to_numpy()
        codes[:] = found + 1
        if self.has_missing:
            codes[values.is_null().to_numpy()] = self.categories - 1

    def describe(self) -> str:
        said = f"{len(self.vocabulary)} categories"
        if self.pooled:
            said += f", {self.pooled} rare ones pooled"
        if self.has_missing:
            said += ", one for missing"
        return said + "; unseen ones count as other"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"vocabulary": list(self.vocabulary)}
