"""Functions that return the code of a category from its text or its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabnas.data import NA_VALUES
from tabnas.data.columns import CategoricalColumn, HashedColumn
from tabnas.export._inputs import parse_integer, takes_integers
from tabnas.export._preprocessing import encode_texts, list_texts
from tabnas.export.c._constants import unsigned_type
from tabnas.export.c._names import Identifiers, to_comment, to_identifier, to_literal
from tabnas.export.c._row import Field, missing_code

FIND_TEXT_CODE = """
/* The position of a text among sorted ones, -1 if it is not there. */
static int32_t find_text(const char *text, const char *const *texts, int32_t count)
{
    int32_t first = 0, end = count;
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        const unsigned char *a = (const unsigned char *)text;
        const unsigned char *b = (const unsigned char *)texts[middle];
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return middle;
        if (*a < *b) end = middle; else first = middle + 1;
    }
    return -1;
}
"""
IS_MISSING_CODE = """
static int is_missing(const char *text)
{
    return !text || find_text(text, missing_texts, {count}) >= 0;
}
"""
HASH_CODE = """
/* FNV-1a of 64 bits, its halves folded; `buckets` is a power of two. */
static int32_t hash_text(const char *text, uint32_t buckets)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return (int32_t)(1 + (hash & (buckets - 1)));
}
"""


@dataclass(frozen=True)
class Lookup:
    """The function for one column."""

    field: Field
    name: str
    argument: str  # its type and name
    texts: dict[str, int]  # codes by text; empty if the function takes integers or hashes
    integers: dict[int, int]  # codes by integer
    description: str


def make_lookups(fields: Sequence[Field], prefix: str) -> list[Lookup]:
    """Return a function for each column of categories."""
    return [
        _make_lookup(field, field.column, f"{prefix}_code_{field.name}")
        for field in fields
        if isinstance(field.column, CategoricalColumn | HashedColumn)
    ]


def _make_lookup(field: Field, column: CategoricalColumn | HashedColumn, name: str) -> Lookup:
    if isinstance(column, HashedColumn):
        return Lookup(field, name, "const char *text", {}, {}, "any text")
    if takes_integers(column):
        integers = [number for c in column.vocabulary if (number := parse_integer(c)) is not None]
        codes = encode_texts(column, list(column.vocabulary))
        numbered = dict(sorted(zip(integers, codes, strict=True)))
        return Lookup(field, name, "int64_t number", {}, numbered, "missing: INT64_MIN")
    # a C string ends at its first zero byte, so others cannot be passed
    texts = [text for text in list_texts(column) if text not in NA_VALUES and "\0" not in text]
    codes = encode_texts(column, texts)
    known = {text: code for text, code in zip(texts, codes, strict=True) if code}
    by_bytes = dict(sorted(known.items(), key=lambda pair: pair[0].encode()))
    return Lookup(field, name, "const char *text", by_bytes, {}, "UTF-8 without spaces around it")


def declare_lookups(lookups: Sequence[Lookup]) -> str:
    """Return the declarations for the header."""
    return "".join(
        f"int32_t {lookup.name}({lookup.argument}); /* {lookup.description} */\n"
        for lookup in lookups
    )


def define_lookups(lookups: Sequence[Lookup]) -> str:
    """Return the definitions for the source file."""
    columns = [lookup.field.column for lookup in lookups]
    takes_texts = [not lookup.integers for lookup in lookups]
    parts = []
    if any(takes_texts):
        marks = sorted(NA_VALUES, key=str.encode)
        parts += [FIND_TEXT_CODE, _define_texts("missing_texts", marks)]
        parts.append(IS_MISSING_CODE.replace("{count}", str(len(marks))))
    if any(isinstance(column, HashedColumn) for column in columns):
        parts.append(HASH_CODE)
    return "".join(parts) + "".join(map(_define_lookup, lookups))


def _define_lookup(lookup: Lookup) -> str:
    column = lookup.field.column
    assert isinstance(column, CategoricalColumn | HashedColumn)
    missing = missing_code(column)
    head = f"\nint32_t {lookup.name}({lookup.argument})\n{{\n"
    if isinstance(column, HashedColumn):
        body = f"    return is_missing(text) ? {missing} : hash_text(text, {column.buckets});\n}}\n"
        return head + body
    # a column without categories has no table, since C has no empty arrays
    table = lookup.texts or lookup.integers
    if not table:
        return head + f"    return is_missing(text) ? {missing} : 0;\n}}\n"
    ctype = unsigned_type(max(table.values()))
    codes = f"    static const {ctype} codes[] = {{{', '.join(map(str, table.values()))}}};\n"
    if lookup.integers:
        numbers = ", ".join(f"INT64_C({number})" for number in lookup.integers)
        return (
            f"{head}    static const int64_t integers[] = {{{numbers}}};\n{codes}"
            f"    int32_t first = 0, end = {len(table)};\n"
            f"    if (number == INT64_MIN) return {missing};\n"
            "    while (first < end) {\n"
            "        const int32_t middle = first + (end - first) / 2;\n"
            "        if (integers[middle] == number) return (int32_t)codes[middle];\n"
            "        if (number < integers[middle]) end = middle; else first = middle + 1;\n"
            "    }\n    return 0;\n}\n"
        )
    texts = ",\n".join(f"        {to_literal(text)}" for text in lookup.texts)
    return (
        f"{head}    static const char *const texts[] = {{\n{texts}\n    }};\n{codes}"
        f"    int32_t position;\n    if (is_missing(text)) return {missing};\n"
        f"    position = find_text(text, texts, {len(table)});\n"
        "    return position < 0 ? 0 : (int32_t)codes[position];\n}\n"
    )


def _define_texts(name: str, texts: Sequence[str]) -> str:
    listed = ", ".join(map(to_literal, texts))
    return f"\nstatic const char *const {name}[{len(texts)}] = {{{listed}}};\n"


def list_category_codes(field: Field, prefix: str, names: Identifiers) -> str:
    """Return an enum with a name for the code of each category of a column."""
    column = field.column
    if not isinstance(column, CategoricalColumn):
        return ""
    stem = f"{prefix}_{field.name}".upper()
    lines = [f"    {names.add(f'{stem}_OTHER')} = 0"]
    for code, category in enumerate(column.vocabulary, start=1):
        part = to_identifier(category).upper() or str(code)
        lines.append(f"    {names.add(f'{stem}_{part}', code)} = {code}")
    lines.append(f"    {names.add(f'{stem}_MISSING')} = {missing_code(column)}")
    comments = ["any other", *map(to_comment, column.vocabulary), "missing"]
    listed = "\n".join(
        f"{line}{',' if number < len(lines) else ''} /* {comment} */"
        for number, (line, comment) in enumerate(zip(lines, comments, strict=True), start=1)
    )
    return f"enum {{ /* {to_comment(column.name)} */\n{listed}\n}};\n"
