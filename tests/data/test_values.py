"""Values of columns, in types of every width."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import Table, TableEncoder
from tabnas.data._values import coded_texts


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.int64()])
def test_dictionaries_that_fill_their_indices(index: pa.DataType) -> None:
    words = [f"w{i:03d}" for i in range(128)]
    rows = pa.array([*range(128), None], pa.int32()).cast(index)
    chunks = [
        pa.DictionaryArray.from_arrays(rows, pa.array(words)),
        pa.DictionaryArray.from_arrays(rows, pa.array([word.upper() for word in words])),
    ]
    column = pa.chunked_array(chunks)
    values, codes = coded_texts(column)
    assert codes.dtype == np.int32
    assert values.take(pa.array(codes)).to_pylist() == column.to_pylist()
    table = Table(pa.table({"word": pa.chunked_array(chunks * 2)}))
    codes = TableEncoder.fit(table).encode(table).categorical[:, 0]
    assert len(set(codes.tolist())) == 257
