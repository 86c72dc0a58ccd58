"""Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
Column = tuple[str, str | Callable[[Any], object]]
"""A heading, and a format string over a record's values or a function of the record."""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose first column is aligned left, and the others right.

    >>> print(markdown_table(["reward", "success"], [["abs", "12 %"]]))
    | reward | success |
    |:--|--:|
    | abs | 12 % |
    """
    lines = [_line(head), "|:--|" + "--:|" * (len(head) - 1)]
    lines += [_line(row) for row in rows]
    return "\n".join(lines)


def records_table(records: Iterable[Record], *columns: Column) -> str:
    """Return a table with a row for each record.

    >>> print(records_table([{"name": "abs", "p": {"mean": 0.5}}], ("reward", "{name}"),
    ...     ("P", "{p[mean]:.2f}"), ("letters", lambda record: len(record["name"]))))
    | reward | P | letters |
    |:--|--:|--:|
    | abs | 0.50 | 3 |
    """
    return markdown_table(
        [heading for heading, _ in columns],
        [
            [
                cell.format_map(record) if isinstance(cell, str) else cell(record)
                for _, cell in columns
            ]
            for record in records
        ],
    )


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
