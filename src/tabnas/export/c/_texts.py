"""Texts in C: how functions read, compare and hash them, and tables of texts.

A text means the same as in a table: spaces around it do not count, some texts mean a missing value,
and a number or a boolean is the same category however it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.data import NA_VALUES
from tabnas.export.c._names import to_literal

MAX_LITERAL = 4_095
"""Bytes of a string that every C99 compiler accepts; longer ones are arrays of numbers."""
NUMBERS_PER_LINE = 24
READ_TEXT_CODE = """
/* A text without the spaces around it; the sign is apart, as zeros may follow it. */
typedef struct {
    const unsigned char *start;
    size_t length;
    int is_negative;
} category_text;

static unsigned char byte_at(const category_text *text, size_t i)
{
    if (text->is_negative && i == 0) return '-';
    if (text->is_negative) i--;
    return (unsigned char)(i < text->length ? text->start[i] : 0);
}

/* The position of a text among sorted ones, -1 if it is not there. */
static int32_t find_text(const category_text *text, const char *const *texts, int32_t count)
{
    int32_t first = 0, end = count;
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        const unsigned char *other = (const unsigned char *)texts[middle];
        size_t i = 0;
        while (other[i] && byte_at(text, i) == other[i]) i++;
        if (byte_at(text, i) == other[i]) return middle;
        if (byte_at(text, i) < other[i]) end = middle; else first = middle + 1;
    }
    return -1;
}

/* The bytes of the space at this place, 0 if there is none: all spaces of Unicode. */
static size_t space_length(const unsigned char *p)
{
    if (*p == 0x20 || (*p >= 0x09 && *p <= 0x0d) || (*p >= 0x1c && *p <= 0x1f)) return 1;
    if (*p == 0xc2) return p[1] == 0x85 || p[1] == 0xa0 ? 2 : 0;
    if (*p == 0xe1) return p[1] == 0x9a && p[2] == 0x80 ? 3 : 0;
    if (*p == 0xe3) return p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
    if (*p != 0xe2) return 0;
    if (p[1] == 0x81) return p[2] == 0x9f ? 3 : 0;
    return p[1] == 0x80 && ((p[2] >= 0x80 && p[2] <= 0x8a) || p[2] == 0xa8 || p[2] == 0xa9
                            || p[2] == 0xaf) ? 3 : 0;
}

/* Whether there is a text, and which; some mean a missing value. */
static int read_text(const char *text, category_text *read)
{
    const unsigned char *p = (const unsigned char *)text;
    if (!p) return 0;
    while (space_length(p)) p += space_length(p);
    read->start = p;
    read->length = 0;
    read->is_negative = 0;
    while (*p) {
        const size_t space = space_length(p);
        p += space ? space : 1;
        if (!space) read->length = (size_t)(p - read->start);
    }
    return find_text(read, missing_texts, sizeof missing_texts / sizeof missing_texts[0]) < 0;
}
"""
NORMALIZE_TEXT_CODE = """
/* Numbers without redundant signs and zeros, booleans in lower case; other texts as they are. */
static void normalize_text(category_text *text)
{
    static const char *const truths[2] = {"false", "true"};
    const unsigned char *digits = text->start, *p, *point, *last;
    int i;
    if (*digits == '-' || *digits == '+') digits++;
    p = digits;
    while (*p >= '0' && *p <= '9') p++;
    point = last = p; /* behind the last digit that counts */
    if (*p == '.') p++;
    for (; p > point && *p >= '0' && *p <= '9'; p++) if (*p != '0') last = p + 1;
    if (point > digits && p == text->start + text->length) {
        while (*digits == '0' && digits + 1 < point) digits++;
        text->is_negative = *text->start == '-' && !(*digits == '0' && last == digits + 1);
        text->start = digits;
        text->length = (size_t)(last - digits);
    }
    for (i = 0; i < 2; i++) {
        size_t n = 0;
        while (n < text->length && (text->start[n] | 0x20) == truths[i][n]) n++;
        if (n == text->length && !truths[i][n]) text->start = (const unsigned char *)truths[i];
    }
}
"""
HASH_TEXT_CODE = """
/* FNV-1a of 64 bits, its halves folded; `buckets` is a power of two. */
static int32_t hash_text(const category_text *text, uint32_t buckets)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t i;
    for (i = 0; byte_at(text, i); i++) hash = (hash ^ byte_at(text, i)) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return (int32_t)(1 + (hash & (buckets - 1)));
}
"""


def define_reader(*, normalizes: bool) -> str:
    """Return the functions that read texts, if need be also those of numbers."""
    marks = define_texts("missing_texts", sorted(NA_VALUES, key=str.encode), storage="static ")
    return f"\n{marks}{READ_TEXT_CODE}{NORMALIZE_TEXT_CODE if normalizes else ''}"


def define_texts(name: str, texts: Sequence[str], *, storage: str = "") -> str:
    """Return an array of texts without zero bytes; the long ones are arrays before it."""
    arrays: list[str] = []
    entries: list[str] = []
    for text in texts:
        if len(text.encode()) <= MAX_LITERAL:
            entries.append(to_literal(text))
            continue
        entries.append(f"long_{name}_{len(arrays)}")  # no other name begins like this
        arrays.append(f"static const char {entries[-1]}[] = {{\n{_list_bytes(text)}\n}};\n")
    listed = ",\n".join(f"    {entry}" for entry in entries)
    array = f"{storage}const char *const {name}[{len(texts)}] = {{\n{listed}\n}};\n"
    return "".join(arrays) + array


def _list_bytes(text: str) -> str:
    # as octal escapes, since char may be signed
    numbers = [f"'\\{byte:03o}'" for byte in (*text.encode(), 0)]
    lines = (
        ", ".join(numbers[start : start + NUMBERS_PER_LINE])
        for start in range(0, len(numbers), NUMBERS_PER_LINE)
    )
    return ",\n".join(f"    {line}" for line in lines)
