"""Notes about columns of which nearly all categories are unknown: they may be spelled otherwise."""

from __future__ import annotations

from threading import Lock

import numpy as np

from tabnas.data._encoder import EncodedTable, TableEncoder
from tabnas.data.columns import CategoricalColumn

UNSEEN_SHARE = 0.9
MIN_ROWS = 10  # of which a share means something


class UnseenCategories:
    """Counts, batch by batch, the values that are not among a column's categories.

    >>> from tabnas.data import Table
    >>> encoder = TableEncoder.fit(Table.from_data({"size": ["S", "M"] * 9}))
    >>> unseen = UnseenCategories(encoder)
    >>> unseen.add(encoder.encode(Table.from_data({"size": ["small", "medium"] * 9})))
    >>> unseen.notes()
    ("all 18 values of the column 'size' are missing or unknown to training, and count as other",)
    """

    def __init__(self, encoder: TableEncoder) -> None:
        coded = [column for column in encoder.columns if column.n_categories]
        # where training itself had more rare categories than others, such values are usual
        self._columns = {
            place: column.name
            for place, column in enumerate(coded)
            if isinstance(column, CategoricalColumn) and column.pooled <= len(column.vocabulary)
        }
        self._counts = np.zeros(len(coded), np.int64)
        self._rows = 0
        self._lock = Lock()  # several threads may encode

    def add(self, encoded: EncodedTable) -> None:
        """Add encoded rows."""
        counts = (encoded.categorical == 0).sum(axis=0)
        with self._lock:
            self._counts += counts
            self._rows += len(encoded)

    def notes(self) -> tuple[str, ...]:
        """Return notes about the columns of which nearly all values are unseen."""
        if self._rows < MIN_ROWS:
            return ()
        return tuple(
            f"{self._share(int(self._counts[place]))} values of the column {name!r} are missing or "
            "unknown to training, and count as other"
            for place, name in self._columns.items()
            if self._counts[place] >= UNSEEN_SHARE * self._rows
        )

    def _share(self, count: int) -> str:
        return f"all {count:,}" if count == self._rows else f"{count:,} of {self._rows:,}"
