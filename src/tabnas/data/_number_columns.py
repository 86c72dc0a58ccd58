"""Find how the numbers of a text column are written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._number_text import (
    DEFAULT_NUMBER_FORMAT,
    PLAIN,
    DecimalContext,
    NumberFormat,
    find_possible_marks,
    find_units,
)
from tabnas.data._values import RowError
from tabnas.errors import TabNASError


def find_number_format(
    name: str, texts: Any, decimals: DecimalContext, *, rows: Any
) -> tuple[NumberFormat, tuple[str, ...]]:
    """Return how number-like texts are written, and notes about it.

    Texts with two readings are read by the table's decimal mark; without one, they are an error.
    """
    unit = _find_unit(name, find_units(texts))
    marks = find_possible_marks(texts)
    if not marks:
        raise RowError(
            f"the column {name!r} must be written with one decimal mark, but",
            *_odd_row(texts, rows),
        )
    marked = bool(pc.any(pc.match_substring_regex(texts, "[.,]")).as_py())
    mark = marks[0] if len(marks) == 1 else decimals.mark or decimals.default
    if mark is None and marked:
        text = texts.filter(pc.match_substring_regex(texts, "[.,]"))[0]
        readings = sorted(_read(text, NumberFormat(mark, unit)) for mark in marks)
        raise RowError(
            f"the numbers of the column {name!r} must have one reading, but",
            pc.index(rows, text).as_py(),
            f"is {text.as_py()!r}, which is {readings[0]} or {readings[1]}; set the decimal mark "
            "with --decimal , or --decimal . (in Python: decimal)",
        )
    number_format = NumberFormat(mark or DEFAULT_NUMBER_FORMAT.decimal, unit)
    disguised = texts.filter(
        pc.invert(pc.match_substring_regex(texts, PLAIN[number_format.decimal]))
    )
    if not len(disguised):
        return number_format, ()
    shown = disguised[0]
    hint = ""
    if len(marks) > 1 and marked:
        hint = (
            f" with the decimal mark {number_format.decimal!r}; give another with --decimal (in "
            "Python: decimal)"
        )
    note = (
        f"texts of the column {name!r} are read as numbers, "
        f"{shown.as_py()!r} as {_read(shown, number_format)}{hint}"
    )
    return number_format, (note,)


def _read(text: Any, number_format: NumberFormat) -> str:
    written, _ = number_format.normalize(pa.array([text.as_py()]))
    return str(written[0].as_py())


def _find_unit(name: str, units: list[str]) -> str:
    """Return the unit of all numbers; currencies may be left out, per cent signs may not."""
    named = [unit for unit in units if unit]
    if len(named) > 1 or units == ["", "%"]:
        shown = ", ".join(repr(unit) if unit else "none" for unit in units)
        raise TabNASError(
            f"the numbers of the column {name!r} must have one unit, but they have several: "
            f"{shown}; convert them, or declare the column categorical"
        )
    return named[0] if named else ""


def _odd_row(texts: Any, rows: Any) -> tuple[int, str]:
    """Return the first text that cannot be read by the mark of most texts, and what to do."""
    by_mark = {mark: NumberFormat(mark).normalize(texts)[1] for mark in PLAIN}
    wrong = min(by_mark.values(), key=lambda bad: int(bad.sum()))
    text = texts[int(wrong.argmax())]
    what = (
        f"is {text.as_py()!r}, unlike others; write all of them alike, or declare the "
        "column categorical"
    )
    return pc.index(rows, text).as_py(), what
