"""The encoder and the target, fitted to rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tabnas.data import NumberTarget, Split, TableEncoder, Target
from tabnas.data.lowlevel import RowError, renumber_rows
from tabnas.errors import TabNASError
from tabnas.model import make_network_spec
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.runs.prepare._encoded_rows import EncodedRows, make_encoded_rows
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS
from tabnas.runs.prepare._row_split import compute_class_weights
from tabnas.settings import RunSettings
from tabnas.space import Budget
from tabnas.types import FloatArray, IntArray

MAX_UNSCALED_VALUE = 1e15


@dataclass(frozen=True, eq=False)
class FittedEncoder:
    """The encoder and the target as fitted to some rows of a table."""

    rows: IntArray
    encoder: TableEncoder
    target: Target
    category_dimensions: tuple[int, ...]
    class_weight: FloatArray | None

    def encode(self, data: LabelledTable, rows: IntArray | None = None) -> EncodedRows:
        """Return encoded rows of a table: these, or all."""
        with suggest_categorical(), renumber_rows(data.row_numbers):
            encoded = self.encoder.encode(data.features, rows=rows)
        taken = data if rows is None else data.take(rows)
        return make_encoded_rows(
            make_network_spec(self.encoder, self.target, self.category_dimensions),
            self.target,
            encoded,
            taken.y,
            weight=taken.weight,
            class_weight=self.class_weight,
        )


def fit_encoder(data: LabelledTable, settings: RunSettings, split: Split) -> FittedEncoder:
    """Fit the encoder and the target to the training rows; to validation rows, too, if few.

    The final network of a small table is trained on all of these; a large one has enough without.
    """
    rows = np.concatenate([split.train, split.validation])
    if len(rows) > MAX_CROSS_VALIDATED_ROWS:
        rows = split.train
    with renumber_rows(data.row_numbers):
        encoder = TableEncoder.fit(
            data.features,
            kinds=settings.kinds,
            scaling=settings.scaling,
            drop=_list_dropped_columns(settings),
            rows=rows,
        )
    encoder, dimensions = fit_embeddings(encoder, Budget())
    target = data.target
    if isinstance(target, NumberTarget):
        y = pa.chunked_array([data.y[rows]])
        target = NumberTarget.fit(target.name, y, target.written)
    class_weight = compute_class_weights(data, split.train, settings)
    return FittedEncoder(rows, encoder, target, dimensions, class_weight)


def _list_dropped_columns(settings: RunSettings) -> tuple[str, ...]:
    """Return the columns that are not features: dropped ones, of the split and of the teacher."""
    others = [*filter(None, [settings.split_column]), *settings.teacher_columns]
    return tuple(dict.fromkeys([*settings.drop, *others]))


def check_unscaled_values(encoder: TableEncoder, part: EncodedRows) -> None:
    """Raise an error if products of unscaled values would leave the range of float32."""
    largest = np.abs(part.encoded.numeric).max(axis=0, initial=0.0)
    for feature, value in zip(encoder.features, largest.tolist(), strict=True):
        if value > MAX_UNSCALED_VALUE:
            raise TabNASError(
                f"the unscaled column {feature!r} must stay below {MAX_UNSCALED_VALUE:g}, but it "
                f"holds {value:g}; use the scaling robust, or give it in another unit"
            )


@contextmanager
def suggest_categorical() -> Iterator[None]:
    """Add to an error about a value that its column could be declared categorical."""
    try:
        yield
    except RowError as error:
        if "must hold" not in error.before:
            raise
        after = f"{error.after}, or declare the column categorical"
        raise RowError(error.before, error.row, after) from None
