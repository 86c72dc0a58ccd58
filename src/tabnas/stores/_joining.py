"""Rows of several files as one table, also where each stores them in types of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tabnas.data.reading import decoded, is_moment
from tabnas.errors import TabNASError
from tabnas.stores._sources import Source


def joined(tables: Sequence[tuple[Source, pa.Table]]) -> pa.Table:
    """One table of the rows of all, which have the same columns; each comes with its file."""
    names = tables[0][1].column_names
    columns = [
        _column(name, [(source, table.column(i)) for source, table in tables])
        for i, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=names)


def _column(name: str, parts: Sequence[tuple[Source, pa.ChunkedArray]]) -> pa.ChunkedArray:
    """All values in one type; what one file takes for categories are some in all of them."""
    kinds = {column.type for _, column in parts}
    if len(kinds) == 1:
        return _together([column for _, column in parts])
    values = [decoded(column) for _, column in parts]
    common = values[0].type
    for (source, _), column in zip(parts, values, strict=True):
        common = _common_type(name, source, common, column.type)
    together = _together([column.cast(common, safe=False) for column in values])
    return together.dictionary_encode() if any(map(pa.types.is_dictionary, kinds)) else together


def _together(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[0].type)


def _common_type(name: str, source: Source, before: pa.DataType, here: pa.DataType) -> pa.DataType:
    """A type for the values of some files and of one more."""
    if before != here and is_moment(before) and is_moment(here):
        return pa.timestamp("s")  # as all moments are read, in UTC
    try:
        schemas = [pa.schema([(name, kind)]) for kind in (before, here)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise TabNASError(
            f"{source.path.name!r} must have columns of the types of the files before it, but "
            f"{name!r} is {here} there and {before} before; write all files with the same types"
        ) from None
