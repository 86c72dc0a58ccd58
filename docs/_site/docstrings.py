"""Our docstrings are plain text; what is laid out by hand in them becomes blocks.

Doctests stand after the text, without a heading. Where a docstring has sections, they get the one
that is meant, since whatever follows a section without one would be part of it. A paragraph of
columns, aligned by spaces, stays as it is.
"""

from __future__ import annotations

import re

from griffe import Extension, Object

DOCTEST = re.compile(r"(?:^|(?<=\n\n))(>>> .*?)(?=\n\n|\Z)", re.S)
SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.M)
COLUMNS = re.compile(r"^\S.*?\S {2,}\S", re.M)


class Docstrings(Extension):
    def on_object(self, *, obj: Object, **_: object) -> None:
        if obj.docstring:
            obj.docstring.value = with_blocks(obj.docstring.value)


def with_blocks(text: str) -> str:
    sections = SECTION.findall(text)
    if not sections:
        return "\n\n".join(map(as_block, text.split("\n\n")))
    if "Examples" not in sections:
        return DOCTEST.sub(r"Examples\n--------\n\1", text, count=1)
    return text


def as_block(paragraph: str) -> str:
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if len(COLUMNS.findall(paragraph)) > 1:
        return f"```text\n{paragraph}\n```"
    return paragraph
