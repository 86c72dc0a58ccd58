"""Names, texts and comments that are safe in C, whatever columns and classes are called."""

from __future__ import annotations

import re
import unicodedata

from tabnas.errors import TabNASError

MAX_PART = 24
"""Characters of a column or a category in an identifier: C99 compares the first 63."""
MAX_COMMENT = 80
MAX_LITERAL = 4095  # bytes of a string that every C99 compiler accepts
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t
while xor xor_eq
"""
"""Of C and of C++."""
MACROS = """
arm assert complex errno far fortran huge i386 imaginary interrupt linux near noreturn offsetof
setjmp stderr stdin stdout unix va_arg va_copy va_end va_start vm86
"""
"""Of compilers and of standard headers, as far as they are in lower case."""
RESERVED = frozenset(KEYWORDS.split() + MACROS.split())


class Identifiers:
    """Identifiers that were given out, so that each is unique."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._used = set(reserved)

    def add(self, name: str, number: int = 2) -> str:
        """Return the identifier, with a number behind it if it is used already."""
        unique = name
        while unique in self._used:
            unique = f"{name}_{number}"
            number += 1
        self._used.add(unique)
        return unique


def to_identifier(text: object) -> str:
    """Return the letters and digits of a text as a part of an identifier; it may be empty.

    >>> to_identifier("Größe (cm)"), to_identifier("-7"), to_identifier("東京")
    ('Gro_e_cm', 'minus_7', '')
    """
    plain = re.sub(r"^\s*-(?=[\d.])", "minus ", str(text)[: 10 * MAX_PART])
    decomposed = unicodedata.normalize("NFKD", plain)
    letters = "".join(c for c in decomposed if not unicodedata.combining(c))
    # an underscore at the beginning or two in a row are reserved for compilers
    return re.sub("[^0-9A-Za-z]+", "_", letters).strip("_")[:MAX_PART].strip("_")


def to_member(text: object) -> str:
    """Return a text as a name for a member of a struct.

    >>> to_member("age"), to_member("2nd"), to_member("class"), to_member("NAN"), to_member("?")
    ('age', 'x2nd', 'class_', 'nan', 'column')
    """
    name = to_identifier(text) or "column"
    if name.isupper():  # macros are in upper case
        name = name.lower()
    if name[0].isdigit():
        name = f"x{name}"
    return f"{name}_" if name in RESERVED else name


def to_literal(text: str) -> str:
    r"""Return a text as a C string of its UTF-8: what is not plain ASCII is written in octal.

    Question marks are, too: two of them begin a trigraph.

    >>> print(to_literal('a"b??/'), to_literal("é"))
    "a\042b\077\077/" "\303\251"
    """
    data = text.encode()
    if len(data) > MAX_LITERAL:
        raise TabNASError(
            f"texts must have at most {MAX_LITERAL:,} bytes in C, but {text[:20]!r}... has "
            f"{len(data):,}; shorten it in the table"
        )
    return '"' + "".join(_escape(byte) for byte in data) + '"'


def _escape(byte: int) -> str:
    character = chr(byte)
    plain = 0x20 <= byte < 0x7F and character not in '"\\?'
    return character if plain else f"\\{byte:03o}"


def to_comment(text: object) -> str:
    r"""Return a text in quotes that is safe inside of a comment.

    >>> to_comment("*/ int x;"), to_comment("a/b"), to_comment("é")
    ('"\\x2a/ int x;"', '"a/b"', '"\\xe9"')
    """
    shown = str(text)
    if len(shown) > MAX_COMMENT:
        shown = shown[: MAX_COMMENT - 3] + "..."
    escaped = shown.encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace("*", r"\x2a").replace("??", r"?\x3f") + '"'


def check_prefix(prefix: str) -> str:
    """Return the prefix of all names; raise an error unless it is a short identifier."""
    if not re.fullmatch(r"[a-z]([a-z0-9_]{0,22}[a-z0-9])?", prefix) or "__" in prefix:
        raise TabNASError(
            "prefix must be 1 to 24 lower-case letters, digits and single underscores that begin "
            f"with a letter, got {prefix!r}; the default is 'tabnas'"
        )
    return prefix
