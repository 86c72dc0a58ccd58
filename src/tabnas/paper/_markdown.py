"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: the first column to the left, the others to the right.

    >>> print(markdown_table(["reward", "success"], [["abs", "12 %"]]))
    | reward | success |
    |:--|--:|
    | abs | 12 % |
    """
    lines = [_line(head), "|:--|" + "--:|" * (len(head) - 1)]
    lines += [_line(row) for row in rows]
    return "\n".join(lines)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
