"""The start of a file, from which the types of its columns are inferred."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tabnas.data._kinds import LEADING_ZERO
from tabnas.data.csv_files._blocks import needs_larger_block, read_with_larger_blocks
from tabnas.data.csv_files._format import CsvFormat, is_zipped, open_file
from tabnas.data.csv_files._text_check import TextCheck

# a pattern that begins with a letter is found ten times as fast as one that ends with it
LEADING_ZERO_CELL = re.compile(rb"0[0-9](?<=[,;\t|\"\r\n +-]..)")
"""Matches whatever has leading zeros, and parts of dates."""


@dataclass(frozen=True)
class FileStart:
    """The first bytes of a file, unzipped, in memory."""

    path: Path
    data: bytes
    size: int  # of the block to parse; there is one byte more of data, unless the file ends
    size_on_disk: int

    @classmethod
    def read(cls, path: Path, size: int) -> FileStart:
        """Read the first `size` bytes of text."""
        with open_file(path) as file:
            data = file.read(size + 1)  # so that Arrow leaves out a record that is cut
            on_disk = (file.fileobj if is_zipped(path) else file).tell()
        return cls(path, data, size, on_disk)

    @classmethod
    def read_records(cls, path: Path, csv_format: CsvFormat, size: int) -> FileStart | None:
        """Read the first `size` bytes, or as many as hold a record; None if there are no rows."""

        def read(block_size: int, use_threads: bool = False) -> FileStart:
            start = cls.read(path, block_size)
            first = csv_format.header[:1]
            try:
                start.parse(replace(csv_format, types={first[0]: pa.string()}), only=first)
            except pa.ArrowInvalid as error:
                if needs_larger_block(error):
                    raise
            return start

        return read_with_larger_blocks(read, size)

    def parse(self, csv_format: CsvFormat, only: Sequence[str] = ()) -> pa.Table:
        """Parse the complete records. One thread does it, so that errors name the row."""
        options = csv_format.options(only=only, block_size=self.size, use_threads=False)
        with csv.open_csv(pa.BufferReader(self.data), **options) as reader:
            check = TextCheck(self.path, reader.schema, csv_format.header[-1])
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return reader.schema.empty_table()
        check.add(batch)
        return pa.Table.from_batches([batch])

    def find_leading_zeros(
        self, csv_format: CsvFormat, types: Mapping[str, pa.DataType]
    ) -> set[str]:
        """Return the columns of integers of which some are written with leading zeros."""
        integers = [name for name, kind in types.items() if pa.types.is_integer(kind)]
        if not integers or not re.search(LEADING_ZERO_CELL, self.data):
            return set()
        as_text = replace(
            csv_format, types={**csv_format.types, **dict.fromkeys(integers, pa.string())}
        )
        rows = self.parse(as_text, only=integers)
        return {name for name in integers if _has_leading_zeros(rows.column(name))}


def _has_leading_zeros(column: Any) -> bool:
    matches = pc.match_substring_regex(pc.utf8_trim_whitespace(column), LEADING_ZERO)
    return bool(pc.any(matches).as_py())
