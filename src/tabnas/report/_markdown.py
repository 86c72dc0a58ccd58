"""Markdown in which words from files stay words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tabnas.report._words import harmless, listed

ISOLATES = "\N{FIRST STRONG ISOLATE}\N{POP DIRECTIONAL ISOLATE}"
"""A page needs them around names; a file that people edit is better without what cannot be seen."""
ESCAPES = str.maketrans({c: f"&#{ord(c)};" for c in "\\`|<>&$@~"} | {c: f"\\{c}" for c in "*_[]#"})
"""Entities where not every reader of Markdown minds a backslash."""
MOST_NAMED = 20
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""Where a bare address would become a link."""


def escaped(words: object) -> str:
    r"""Words within a line: no markup, no HTML, no link, no new cell of a table.

    >>> print(escaped("a|b <i> snake_case\n"))
    a&#124;b &#60;i&#62; snake\_case�
    """
    said = harmless(str(words).translate(dict.fromkeys(map(ord, ISOLATES))))
    said = said.translate(ESCAPES)
    return LINKS.sub(lambda found: f"&#{ord(found[0])};", said)


def named(names: Sequence[str]) -> str:
    """Names within a sentence, escaped; the first few, and how many there are besides."""
    said = [escaped(name) for name in names[:MOST_NAMED]]
    left = len(names) - len(said)
    return listed([*said, f"{left:,} more"] if left else said)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are escaped here."""
    lines = [headings, ["---"] * len(headings), *([escaped(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(items: Iterable[str]) -> str:
    """A list of lines that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def code(text: str, language: str) -> str:
    """A block of code, within a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
