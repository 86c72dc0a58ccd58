"""Words from files (names, labels, paths) made safe to show."""

from __future__ import annotations

import unicodedata

from rich.console import Console
from rich.text import Text

LONGEST = 60


def terminal(*, stderr: bool = False) -> Console:
    """Where words go. Texts are never markup: a file's own could otherwise draw a link."""
    return Console(stderr=stderr, markup=False, emoji=False)


def plain(words: object, *, longest: int = LONGEST) -> str:
    r"""One line without control characters, cut if it is long.

    >>> plain("a\x1b[31mb\nc")
    'a�[31mb�c'
    """
    safe = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c
        for c in str(words)
    )
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def is_text(words: str) -> bool:
    r"""Whether it can be written as UTF-8; names of files can hold other bytes.

    >>> is_text("caf\u00e9"), is_text("caf\udce9")
    (True, False)
    """
    return not any("\ud800" <= c <= "\udfff" for c in words)


def shown(words: object, style: str = "", *, longest: int = LONGEST) -> Text:
    """The same for rich, which is to find no markup in it."""
    return Text(plain(words, longest=longest), style=style)


def size(count: int) -> str:
    """Bytes for people.

    >>> size(208_000_000), size(1_500), size(12)
    ('208 MB', '1.5 kB', '12 bytes')
    """
    for unit, many in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= many:
            return f"{count / many:.{0 if count >= 10 * many else 1}f} {unit}"
    return f"{count} bytes"
