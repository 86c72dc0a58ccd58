"""Numbers as people write them: with thousands, decimal commas, currencies, per cent signs.

A text is read with a decimal mark, `.` or `,`. The other mark, spaces and apostrophes may then
group digits by threes. Many texts can be read with one of the marks only, `1.234,56` or `0,5`; some
with both, `1.234`, and then other columns of the table, or the user, must decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabnas.errors import TabNASError
from tabnas.types import BoolArray

NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan(\(\w*\))?)$"
"""The texts that Arrow reads as numbers."""
PLAIN = {".": NUMBER, ",": r"(?i)^[+-]?(\d+,?\d*|,\d+)(e[+-]?\d+)?$"}
"""Numbers without units and groups, by their decimal mark."""
DECIMAL_MARKS = tuple(PLAIN)
CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR"
UNIT = rf"(?P<unit>%|\p{{Sc}}|{CURRENCIES})"
UNIT_BEFORE = rf"^(\(?[+-]?) ?{UNIT.replace('?P<unit>', '?:')} ?"
UNIT_BEHIND = rf" ?{UNIT.replace('?P<unit>', '?:')}(\)?)$"
SPACES = "[\u00a0\u2009\u202f]"  # that do not break a line


def _grammar(decimal: str, group: str) -> str:
    groups = "|".join(rf"(?:{mark}\d{{3}})+" for mark in (group, " ", "'"))
    integer = rf"(?:\d+|[1-9]\d{{0,2}}(?:{groups}))"
    return rf"(?i)^[+-]?(?:{integer}(?:{decimal}\d*)?|{decimal}\d+)(?:e[+-]?\d+)?$"


GRAMMARS = {".": rf"{_grammar('[.]', ',')}|{NUMBER}", ",": _grammar(",", "[.]")}


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a text column are written."""

    decimal: str = "."
    unit: str = ""  # that may stand before or behind them

    def normalize(self, values: Any) -> tuple[Any, BoolArray]:
        """Return the texts as Arrow reads numbers, and which are not numbers."""
        bare, units = _strip_units(values)
        fits = pc.and_(
            pc.match_substring_regex(bare, GRAMMARS[self.decimal]),
            pc.is_in(units.fill_null(self.unit), value_set=pa.array([self.unit])),
        )
        wrong = ~np.array(fits.fill_null(True).to_numpy(zero_copy_only=False), np.bool_)
        if self.decimal == ",":
            joined = pc.replace_substring_regex(bare, "[. ']", "")
            return pc.replace_substring(joined, ",", "."), wrong
        return pc.replace_substring_regex(bare, "[, ']", ""), wrong


DEFAULT_NUMBER_FORMAT = NumberFormat()


@dataclass(frozen=True)
class DecimalContext:
    """The decimal mark of a table, for columns that do not show it themselves."""

    mark: str | None = None  # given by the user, or shown by other columns
    default: str | None = "."  # where there is none; None: ambiguous columns are refused
    by_column: Mapping[str, str] = field(
        default_factory=dict
    )  # of columns that show it for certain
    shown: Mapping[str, str | None] = field(default_factory=dict)
    """What each column of texts shows for certain; empty if the user has given the mark."""
    _common: dict[tuple[str, ...], str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def mark_for(self, name: str, numbers: tuple[str, ...]) -> str | None:
        """Return the mark that columns of numbers show; others, such as codes, do not count."""
        if name not in self.shown:
            return self.mark
        if numbers not in self._common:  # once for thousands of columns
            marks = {self.shown[other] for other in numbers if self.shown.get(other)}
            self._common[numbers] = marks.pop() if len(marks) == 1 else None
        return self._common[numbers]

    def number_format(self, name: str) -> NumberFormat:
        """Return how a column of numbers is written in other files like this one."""
        return NumberFormat(self.by_column.get(name) or self.mark or DEFAULT_NUMBER_FORMAT.decimal)


DEFAULT_DECIMALS = DecimalContext()


def check_decimal_mark(decimal: Any) -> None:
    """Raise an error unless `decimal` is a decimal mark or None."""
    if decimal is not None and decimal not in DECIMAL_MARKS:
        raise TabNASError(f"decimal must be '.' or ',', got {decimal!r}")


def are_number_like(values: Any) -> BoolArray:
    """Return which texts can be read as numbers by one of the marks, or are missing."""
    bare, _ = _strip_units(values)
    fits = [
        pc.match_substring_regex(bare, grammar).fill_null(True) for grammar in GRAMMARS.values()
    ]
    return np.array(pc.or_(*fits).to_numpy(zero_copy_only=False), np.bool_)


def find_units(values: Any) -> list[str]:
    """Return the different units of some numbers; the empty one for those without."""
    _, units = _strip_units(values)
    return sorted(units.filter(values.is_valid()).fill_null("").unique().to_pylist())


def find_possible_marks(values: Any) -> tuple[str, ...]:
    """Return the decimal marks by which every one of some texts is a number."""
    bare, _ = _strip_units(values)
    return tuple(mark for mark, grammar in GRAMMARS.items() if _all(bare, grammar))


def _strip_units(values: Any) -> tuple[Any, Any]:
    """Return texts without units and brackets, which mean a minus, and the unit of each."""
    values = pc.replace_substring_regex(values, SPACES, " ")
    values = pc.replace_substring(pc.replace_substring(values, "\u2212", "-"), "\u2019", "'")
    units = pc.struct_field(pc.extract_regex(values, UNIT), "unit")
    bare = pc.replace_substring_regex(values, UNIT_BEFORE, r"\1", max_replacements=1)
    bare = pc.replace_substring_regex(bare, UNIT_BEHIND, r"\1", max_replacements=1)
    return pc.replace_substring_regex(bare, r"^\((\d.*)\)$", r"-\1"), units


def _all(values: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


@dataclass
class _Column:
    """What the numbers of a column have shown so far."""

    marks: tuple[str, ...] = DECIMAL_MARKS  # by which all can be read
    marked: bool = False  # whether a mark was among them
    plain: tuple[str, ...] = DECIMAL_MARKS  # by which all are without units and groups


@dataclass
class DecimalMarkDetector:
    """Finds the decimal mark of a table in its texts, batch by batch."""

    columns: dict[str, _Column] = field(default_factory=dict)

    def may_be_numeric(self, name: str) -> bool:
        """Return whether the column may still be one of numbers."""
        return name not in self.columns or bool(self.columns[name].marks)

    def add(self, name: str, values: Any) -> None:
        """Add rows of a column: trimmed texts, null where missing."""
        seen = self.columns.setdefault(name, _Column())
        distinct = values.unique().drop_null()
        marks = find_possible_marks(distinct)
        seen.marks = tuple(mark for mark in seen.marks if mark in marks)
        seen.marked |= bool(pc.any(pc.match_substring_regex(distinct, "[.,]")).as_py())
        seen.plain = tuple(mark for mark in seen.plain if _all(distinct, PLAIN[mark]))

    @property
    def mark(self) -> str | None:
        """The mark that some columns show for certain, and no column the other."""
        certain = set(filter(None, self.shown.values()))
        return certain.pop() if len(certain) == 1 else None

    @property
    def shown(self) -> dict[str, str | None]:
        """The mark that each column shows for certain, if any."""
        return {
            name: c.marks[0] if c.marked and len(c.marks) == 1 else None
            for name, c in self.columns.items()
        }

    def plain_columns(self, mark: str | None) -> Iterator[tuple[str, str]]:
        """Yield the columns of numbers without units and groups, and the mark of each.

        Those that could be read by both marks are by `mark`; without one, they are left out.
        """
        for name, seen in self.columns.items():
            column_mark = (
                mark if seen.marked and len(seen.marks) > 1 else next(iter(seen.marks), None)
            )
            if column_mark is not None and column_mark in seen.plain:
                yield name, column_mark
