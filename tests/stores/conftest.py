from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, find_labelled_rows
from tabnas.stores import Store, _first_pass, _readers, _settings
from tabnas.stores._split import PARTS, TRAIN, draw_parts

Columns = Mapping[str, Sequence[object]]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Return a function that sets the bytes of a chunk and of a piece."""

    def set_sizes(chunk: int, piece: int) -> None:
        monkeypatch.setattr(_settings, "MAX_CHUNK_BYTES", chunk)
        monkeypatch.setattr(_readers, "MIN_ROWS", 1)
        monkeypatch.setattr(_first_pass, "PIECE_BYTES", piece)

    return set_sizes


def write_csv(path: Path, columns: Columns, separator: str = ",") -> Path:
    """Write columns to a text file; None is an empty cell."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def make_mixed_columns(rows: int, seed: int = 0) -> dict[str, list[object]]:
    """Return columns of every kind, with gaps, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rows)
    words = np.array(["red", "blue", 'a "green" one', "two\nlines", "with, comma", "rare"])
    colour = words[rng.choice(6, rows, p=[0.3, 0.3, 0.2, 0.1, 0.08, 0.02])]

    def with_gaps(values: Sequence[object]) -> list[object]:
        return [
            None if is_missing else v
            for v, is_missing in zip(values, rng.random(rows) < 0.1, strict=True)
        ]

    return {
        "size": with_gaps([f"{value:.4f}" for value in size]),
        "whole": [str(value) for value in rng.integers(0, 9, rows)],
        "colour": with_gaps(colour.tolist()),
        "user": [f"u{value:03d}" for value in rng.integers(0, 40, rows)],
        "paid": with_gaps(["true" if value else "false" for value in rng.random(rows) < 0.5]),
        "day": with_gaps([f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(rows)]),
        "same": ["x"] * rows,
        "kind": with_gaps(["high" if value > 0.2 else "low" for value in size]),
        "value": [f"{3 * value + 1:.4f}" for value in size],
    }


def encode_in_memory(
    table: Table, target: str, *, shares: tuple[float, float] = (0.2, 0.2), **options: object
) -> tuple[TableEncoder, dict[str, tuple[np.ndarray, ...]]]:
    """Return the encoder and the arrays of each part, encoded as a table in memory."""
    column = table.column(target)
    present = find_labelled_rows(column)
    parts = draw_parts(0, 0, len(table), shares)[present]
    features = table.drop([target])
    encoder = TableEncoder.fit(features, rows=present[parts == TRAIN], **options)
    number = target == "value"
    fitted = (NumberTarget if number else ClassTarget).fit(target, column.take(present))
    y = fitted.encode(column.take(present))
    arrays = {}
    for i, part in enumerate(PARTS):
        encoded = encoder.encode(features, rows=present[parts == i])
        arrays[part] = (encoded.numeric, encoded.categorical, y[parts == i])
    return encoder, arrays


def assert_holds(store: Store, arrays: Mapping[str, tuple[np.ndarray, ...]]) -> None:
    """Assert that the store has these rows, to the bit."""
    for part, (numeric, categorical, y) in arrays.items():
        rows = store.read(part, 0, store.rows[part])
        assert rows.encoded.numeric.tobytes() == numeric.tobytes()
        assert rows.encoded.categorical.tobytes() == categorical.tobytes()
        assert rows.y.tobytes() == y.tobytes()
