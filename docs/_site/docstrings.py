"""Convert doctests and aligned columns in docstrings to code blocks.

Doctests follow the text, without a heading. If a docstring has sections, the heading "Examples" is
added, since text after a section without a heading would belong to that section. A paragraph of
columns, aligned by spaces, becomes a text block.
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
