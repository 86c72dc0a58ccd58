"""Check what Arrow accepts without an error: zero bytes, and a quote that is never closed."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._values import RowError
from tabnas.data.csv_files._format import describe_encoding_error, open_file
from tabnas.errors import TabNASError


class TextCheck:
    """Checks that the rows of a file are text in UTF-8 and that every quote is closed."""

    def __init__(self, path: Path, schema: pa.Schema, last_column: str) -> None:
        for column in schema:
            if pa.types.is_binary(column.type):  # Arrow's type of a column that is not UTF-8
                raise TabNASError(describe_encoding_error(path, f"the column {column.name!r}"))
        self._path = path
        self._text_columns = [column.name for column in schema if column.type == pa.string()]
        self._last_column = last_column if last_column in schema.names else None
        self._last_value: Any = None
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Check the next rows."""
        for name in self._text_columns:
            if _holds_zero_byte(batch.column(name)):
                row = pc.index(pc.match_substring(batch.column(name), "\0"), True).as_py()
                raise RowError(
                    f"{self._path.name!r} must be text, but the column {name!r} in",
                    self._rows + row,
                    "holds a zero byte; save the file as UTF-8",
                )
        self._rows += batch.num_rows
        if batch.num_rows and self._last_column is not None:
            self._last_value = batch.column(self._last_column)[-1].as_py()

    def check_last_quote(self) -> None:
        """Refuse a last value that swallowed the rest of the file, which Arrow accepts."""
        if not isinstance(self._last_value, str) or "\n" not in self._last_value:
            return
        with open_file(self._path) as file:
            (line,) = deque((line for line in file if line.strip()), maxlen=1)
        if not line.rstrip().endswith(b'"'):
            raise TabNASError(
                f"{self._path.name!r} must close every quote, but its row {self._rows} runs to "
                "the end of the file; double a quote that is meant as such, and quote its value"
            )


def _holds_zero_byte(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    return data is not None and not np.frombuffer(data, np.uint8).all()
