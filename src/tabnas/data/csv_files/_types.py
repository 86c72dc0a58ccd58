"""Types of columns that hold for all rows.

Arrow infers the types of the columns from the first megabytes. If a later value contradicts its
column's type, the column gets the first type in Arrow's order that fits all values, and the file is
read from its start again. So the types do not depend on where blocks end: they are those that Arrow
would infer from the complete file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tabnas.data.csv_files._format import CsvFormat
from tabnas.errors import TabNASError

TYPES = (
    *(pa.null(), pa.int64(), pa.bool_(), pa.float64(), pa.date32(), pa.time32("s")),
    *(pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC")),
    pa.string(),
)
"""The types of columns, in the order in which Arrow tries them."""
RANKS = {str(kind): rank for rank, kind in enumerate(TYPES)}
CONTRADICTION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to ([^:]+): "
    r"(?:invalid value|expected (?:a|no) zone offset in) '(.*)'.*",
    re.DOTALL,
)


def read_typed(
    path: Path,
    csv_format: CsvFormat,
    read: Callable[[CsvFormat], Any],
    widen: Callable[[CsvFormat, str, str], pa.DataType] | None = None,
) -> Any:
    """Call `read` with types for the columns until every value has its column's type.

    Where a value contradicts its column's type, `widen` chooses the type to try next from the
    format, the column's type and the value.
    """
    types = dict(csv_format.types)
    while True:
        try:
            return read(replace(csv_format, types=types))
        except pa.ArrowInvalid as error:
            match = CONTRADICTION.fullmatch(str(error))
            if match is None:
                raise TabNASError(csv_format.describe_problem(path, str(error))) from None
            column, kind, value = match.groups()
            types[csv_format.header[int(column)]] = (widen or next_type)(csv_format, kind, value)


def is_contradiction(error: Exception) -> bool:
    """Return whether an error of Arrow's says that a value contradicts its column's type."""
    return CONTRADICTION.fullmatch(str(error)) is not None


def next_type(csv_format: CsvFormat, kind: str, value: str) -> pa.DataType:
    """Return the type to try next for a column of type `kind` with a value of another type.

    It is the value's own type if that comes later in Arrow's order. If not, that type was tried
    before and did not fit other values, and only text is left.
    """
    single = CsvFormat(
        separator=csv_format.separator, header=("value",), skip=0, allows_newlines=True
    )
    quoted = '"' + value.replace('"', '""') + '"\n'
    value_type = (
        csv.read_csv(pa.BufferReader(quoted.encode()), **single.options()).schema.field(0).type
    )
    later = RANKS.get(str(value_type), -1) > RANKS.get(kind, len(TYPES))
    ambiguous = csv_format.suggests_decimal_commas and pa.types.is_floating(value_type)
    return value_type if later and not ambiguous else pa.string()
