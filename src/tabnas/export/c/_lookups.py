"""Functions that return the code of a category from its text or its number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tabnas.data import NA_VALUES
from tabnas.data.columns import CategoricalColumn, HashedColumn
from tabnas.export._inputs import parse_integer, takes_integers
from tabnas.export._preprocessing import encode_texts
from tabnas.export.c._constants import unsigned_type
from tabnas.export.c._names import to_comment
from tabnas.export.c._row import Field, missing_code
from tabnas.export.c._texts import HASH_TEXT_CODE, define_reader, define_texts

TRUTHS = ("true", "false", "1", "0")
"""Spellings of true and false, which a column that has some of them reads as the same."""
NUMBER = r"-?\d+(\.\d+)?"


@dataclass(frozen=True)
class Lookup:
    """The function for one column."""

    field: Field
    name: str
    argument: str  # its type and name
    texts: dict[str, int]  # codes by text; empty if the function takes integers or hashes
    integers: dict[int, int]  # codes by integer
    normalizes: bool  # whether a number or a boolean may be written in several ways
    description: str

    @property
    def is_hashed(self) -> bool:
        """Whether the code is a hash of the text."""
        return isinstance(self.field.column, HashedColumn)


def make_lookups(fields: Sequence[Field], prefix: str) -> list[Lookup]:
    """Return a function for each column of categories."""
    return [
        _make_lookup(field, field.column, f"{prefix}_code_{field.name}")
        for field in fields
        if isinstance(field.column, CategoricalColumn | HashedColumn)
    ]


def _make_lookup(field: Field, column: CategoricalColumn | HashedColumn, name: str) -> Lookup:
    if isinstance(column, HashedColumn):
        description = "a hash: texts share codes, and each has one; 7, 07 and 7.0 are the same text"
        return Lookup(field, name, "const char *text", {}, {}, True, description)
    is_exact = column.spelling == "exact"
    if takes_integers(column) and not is_exact:
        integers = [number for c in column.vocabulary if (number := parse_integer(c)) is not None]
        codes = encode_texts(column, list(column.vocabulary))
        numbered = dict(sorted(zip(integers, codes, strict=True)))
        return Lookup(field, name, "int64_t number", {}, numbered, False, "missing: INT64_MIN")
    # a C string ends at its first zero byte, so others cannot be passed
    possible = [c for c in dict.fromkeys((*column.vocabulary, *TRUTHS)) if "\0" not in c]
    texts = [text for text in possible if text not in NA_VALUES]
    codes = encode_texts(column, texts)
    known = {text: code for text, code in zip(texts, codes, strict=True) if code}
    by_bytes = dict(sorted(known.items(), key=lambda pair: pair[0].encode()))
    numbers = [c for c in column.vocabulary if re.fullmatch(NUMBER, c, re.A)]
    normalizes = not is_exact and (bool(numbers) or not known.keys().isdisjoint(TRUTHS))
    if is_exact:
        description = "UTF-8 as in the table: 7, 07 and 7.0 differ"
    elif numbers:
        description = f"UTF-8; a number in any form: {_describe_number_forms(min(numbers))}"
    else:
        description = "UTF-8 in upper and lower case as in the table"
    if any("\0" in category for category in column.vocabulary):
        description += "; for categories with a zero byte, use enumerators"
    return Lookup(field, name, "const char *text", by_bytes, {}, normalizes, description)


def _describe_number_forms(number: str) -> str:
    """Return a text with several forms of a number.

    >>> _describe_number_forms("-7"), _describe_number_forms("1.5")
    ('"-7", "-07", "-7.0"', '"1.5", "01.5", "1.50"')
    """
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    longer = f"{number}0" if "." in number else f"{number}.0"
    return ", ".join(map(to_comment, (number, f"{sign}0{digits}", longer)))


def declare_lookups(lookups: Sequence[Lookup]) -> str:
    """Return the declarations for the header."""
    return "".join(
        f"int32_t {lookup.name}({lookup.argument}); /* {lookup.description} */\n"
        for lookup in lookups
    )


def define_hashes(lookups: Sequence[Lookup]) -> str:
    """Return the functions of hashed columns, which need no texts of categories."""
    hashed = [lookup for lookup in lookups if lookup.is_hashed]
    if not hashed:
        return ""
    parts = [define_reader(normalizes=True), HASH_TEXT_CODE, *map(_define_hash, hashed)]
    return "".join(parts).lstrip("\n")


def define_searches(lookups: Sequence[Lookup]) -> str:
    """Return the functions of all other columns, and the texts that they search."""
    searches = [lookup for lookup in lookups if not lookup.is_hashed]
    read = [lookup for lookup in searches if not lookup.integers]
    has_reader = len(searches) < len(lookups)  # hashed columns have it
    parts = []
    if read and not has_reader:
        parts.append(define_reader(normalizes=any(lookup.normalizes for lookup in read)))
    return "".join((*parts, *map(_define_search, searches)))


def _define_hash(lookup: Lookup) -> str:
    column = lookup.field.column
    assert isinstance(column, HashedColumn)
    return (
        f"{_open(lookup)}    category_text category;\n"
        f"    if (!read_text(text, &category)) return {missing_code(column)};\n"
        f"    normalize_text(&category);\n    return hash_text(&category, {column.buckets});\n}}\n"
    )


def _define_search(lookup: Lookup) -> str:
    column = lookup.field.column
    assert isinstance(column, CategoricalColumn)
    missing = missing_code(column)
    # a column without categories has no table, since C has no empty arrays
    table = lookup.texts or lookup.integers
    if not table:
        return (
            f"{_open(lookup)}    category_text category;\n"
            f"    return read_text(text, &category) ? 0 : {missing};\n}}\n"
        )
    ctype = unsigned_type(max(table.values()))
    codes = f"    static const {ctype} codes[] = {{{', '.join(map(str, table.values()))}}};\n"
    if lookup.integers:
        numbers = ", ".join(f"INT64_C({number})" for number in lookup.integers)
        return (
            f"{_open(lookup)}    static const int64_t integers[] = {{{numbers}}};\n{codes}"
            f"    int32_t first = 0, end = {len(table)};\n"
            f"    if (number == INT64_MIN) return {missing};\n"
            "    while (first < end) {\n"
            "        const int32_t middle = first + (end - first) / 2;\n"
            "        if (integers[middle] == number) return (int32_t)codes[middle];\n"
            "        if (number < integers[middle]) end = middle; else first = middle + 1;\n"
            "    }\n    return 0;\n}\n"
        )
    texts = f"categories_of_{lookup.field.name}"  # no function has a name that begins like this
    normalize = "    normalize_text(&category);\n" if lookup.normalizes else ""
    return (
        f"\n{define_texts(texts, list(lookup.texts), storage='static ')}{_open(lookup)}{codes}"
        "    category_text category;\n    int32_t position;\n"
        f"    if (!read_text(text, &category)) return {missing};\n{normalize}"
        f"    position = find_text(&category, {texts}, {len(table)});\n"
        "    return position < 0 ? 0 : (int32_t)codes[position];\n}\n"
    )


def _open(lookup: Lookup) -> str:
    """Return the head of the function."""
    return f"\nint32_t {lookup.name}({lookup.argument})\n{{\n"
