"""Names, texts and comments that are safe in C, whatever columns and classes are called."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

from tabnas.errors import TabNASError

DEFAULT_PREFIX = "tabnas"
"""What all names begin with, unless a program uses several models."""
MAX_PART = 24
"""Characters of a column or a category in an identifier: C99 compares the first 63."""
MIN_DIGITS = 6
"""Hexadecimal digits behind a name that several texts would have; more if these are not enough."""
UNNAMED = "unnamed"
"""Stands for a text without letters and digits, with digits behind it."""
MAX_COMMENT = 80
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
"""Keywords of C and of C++."""
STANDARD_MACROS = """
alloca assert complex errno fpclassify imaginary isfinite isgreater isgreaterequal isinf isless
islessequal islessgreater isnan isnormal issignaling isunordered math_errhandling noreturn offsetof
s6_addr sa_handler sa_sigaction setjmp sigmask signbit sigsetjmp st_atime st_ctime st_mtime stderr
stdin stdout va_arg va_copy va_end va_start
"""
"""Macros of the headers of C and POSIX that are not in upper case."""
PLATFORM_MACROS = """
abs amd64 arm at bank0 bank1 bdata bit cdecl code constrain data degrees eeprom emit far flash
foreach forever fortran hpux huge hyper i386 ia64 idata interface interrupt interrupts linux m68k
max min mips monitor near pascal pdata persistent powerpc ppc radians ram reentrant riscv rom round
sbit sfr sfr16 signals slots small sparc sq sun unix vax vm86 word xdata
"""
"""Macros of compilers and frameworks, such as Windows, Arduino, Qt, Keil and SDCC."""
RESERVED = frozenset(KEYWORDS.split() + STANDARD_MACROS.split() + PLATFORM_MACROS.split())
MATH_CONSTANT = re.compile(r"m_(\d_)?(e|pi|ln|log|sqrt)")  # M_PIl and others of math.h
SIGNS = {"<=": "le", ">=": "ge", "<": "lt", ">": "gt", "=": "eq", "+": "plus", "%": "percent"}
SIGN = re.compile("|".join(map(re.escape, SIGNS)))
MINUS = re.compile(r"(?:^|(?<=[\s<>=(\[,;:/])|(?<=\d[eE]))[-\u2212](?=[\d.])")


def name_uniquely(
    texts: Sequence[object], names: Sequence[str], reserved: Iterable[str] = ()
) -> list[str]:
    """Return a name for each text; where several would be the same, digits tell them apart.

    The digits are those of a hash of the text, and each of the texts has them. So a name does not
    depend on the order of the texts, and never changes to that of another text. Names that differ
    only in case count as the same, as do those in `reserved`.

    >>> name_uniquely(["a!", "a?", "b"], ["a", "a", "b"])
    ['a_242ed5', 'a_5289f1', 'b']
    """
    taken = {name.upper() for name in reserved}
    digits = [0] * len(names)
    while True:
        unique = [_add_digits(*item) for item in zip(texts, names, digits, strict=True)]
        counts = Counter(name.upper() for name in unique)
        repeated = [n for n, name in enumerate(unique) if counts[name.upper()] > 1]
        repeated += [n for n, name in enumerate(unique) if name.upper() in taken]
        if not repeated:
            return unique
        for number in set(repeated):
            digits[number] = max(MIN_DIGITS, digits[number] + 2)


def _add_digits(text: object, name: str, digits: int) -> str:
    if not digits:
        return name
    code = sha256(str(text).encode(errors="surrogatepass")).hexdigest()[:digits]
    return f"{name}_{code.upper() if name.isupper() else code}"


def to_identifier(text: object) -> str:
    """Return the letters and digits of a text as a part of an identifier; some signs as words.

    >>> to_identifier("Größe (cm)"), to_identifier("-7"), to_identifier("<=50K")
    ('Gro_e_cm', 'minus_7', 'le_50K')
    >>> to_identifier("東京"), to_identifier("2020-01-31"), to_identifier("(-1.5, 2]")
    ('unnamed', '2020_01_31', 'minus_1_5_2')
    """
    words = MINUS.sub(" minus ", str(text)[: 10 * MAX_PART])
    words = SIGN.sub(lambda match: f" {SIGNS[match[0]]} ", words)
    decomposed = unicodedata.normalize("NFKD", words)
    letters = "".join(c for c in decomposed if not unicodedata.combining(c))
    # an underscore at the beginning or two in a row are reserved for compilers
    return re.sub("[^0-9A-Za-z]+", "_", letters).strip("_")[:MAX_PART].strip("_") or UNNAMED


def to_member(text: object) -> str:
    """Return a text as a name for a member of a struct.

    >>> to_member("age"), to_member("2nd"), to_member("class"), to_member("NAN"), to_member("?")
    ('age', 'x2nd', 'class_column', 'nan', 'unnamed')
    """
    name = to_identifier(text)
    if name.isupper():  # macros are in upper case
        name = name.lower()
    if name[0].isdigit():
        name = f"x{name}"
    is_reserved = name.lower() in RESERVED or MATH_CONSTANT.match(name.lower())
    return f"{name}_column" if is_reserved else name


def to_literal(text: str) -> str:
    r"""Return a text as a C string of its UTF-8: what is not plain ASCII is written in octal.

    Question marks are, too: two of them begin a trigraph.

    >>> print(to_literal('a"b??/'), to_literal("é"))
    "a\042b\077\077/" "\303\251"
    """
    return '"' + "".join(_escape(byte) for byte in text.encode()) + '"'


def _escape(byte: int) -> str:
    character = chr(byte)
    plain = 0x20 <= byte < 0x7F and character not in '"\\?'
    return character if plain else f"\\{byte:03o}"


def to_comment(text: object) -> str:
    r"""Return a text in quotes that is safe inside of a comment.

    >>> print(to_comment("*/ int x;"), to_comment("a/b"), to_comment("é"), to_comment('"'))
    "\x2a/ int x;" "a/b" "\xe9" "\""
    """
    shown = str(text)
    if len(shown) > MAX_COMMENT:
        shown = shown[: MAX_COMMENT - 3] + "..."
    escaped = shown.encode("unicode_escape").decode("ascii")
    escaped = escaped.replace('"', r"\"").replace("*", r"\x2a").replace("??", r"?\x3f")
    return f'"{escaped}"'


def check_prefix(prefix: str) -> str:
    """Return the prefix of all names; raise an error unless it is a short identifier."""
    if not re.fullmatch(r"[a-z]([a-z0-9_]{0,22}[a-z0-9])?", prefix) or "__" in prefix:
        raise TabNASError(
            "prefix must be 1 to 24 lower-case letters, digits and single underscores that begin "
            f"with a letter, got {prefix!r}; the default is 'tabnas'"
        )
    return prefix
