"""Markdown in which texts from files stay texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tabnas.formatting import join_words, sanitize

ISOLATES = "\N{FIRST STRONG ISOLATE}\N{POP DIRECTIONAL ISOLATE}"
"""Names on a page need them; they are removed here, because people may edit the file."""
ESCAPES = str.maketrans({c: f"&#{ord(c)};" for c in "\\`|<>&$@~"} | {c: f"\\{c}" for c in "*_[]#"})
"""Entities for characters before which some readers of Markdown show the backslash."""
MAX_NAMES = 20
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""Characters that make a link of a bare address."""


def escape(text: object) -> str:
    r"""Escape a text for a line of Markdown: no markup, HTML, link or new cell of a table.

    >>> print(escape("a|b <i> snake_case\n"))
    a&#124;b &#60;i&#62; snake\_case�
    """
    safe = sanitize(str(text).translate(dict.fromkeys(map(ord, ISOLATES))))
    return LINKS.sub(lambda match: f"&#{ord(match[0])};", safe.translate(ESCAPES))


def join_names(names: Sequence[str]) -> str:
    """Escape names and join them for a sentence: the first few, and how many more there are."""
    shown = [escape(name) for name in names[:MAX_NAMES]]
    left = len(names) - len(shown)
    return join_words([*shown, f"{left:,} more"] if left else shown)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells of its rows are escaped."""
    lines = [headings, ["---"] * len(headings), *([escape(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(items: Iterable[str]) -> str:
    """Return a list of items that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def code_block(text: str, language: str) -> str:
    """Return a block of code within a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
