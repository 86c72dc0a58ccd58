"""Checks that hold for every page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Parses a page and asserts that its elements are nested."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """The visible text of the page, in one line."""
        return " ".join("".join(self.words).split())


def check_page(text: str) -> Page:
    """Parse a page and assert that it is well-formed, and neither runs nor loads anything."""
    text.encode("utf-8")
    page = Page(text)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("script") == page.tags.count("style") == page.tags.count("h1") == 1
    assert not {"iframe", "object", "embed", "form", "base", "img"} & set(page.tags)
    assert not {name for name in page.attributes if name.startswith("on") or name == "src"}
    assert "style" not in page.attributes
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.S):
        root = ElementTree.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert (root.findtext("title") or "").strip()
        assert root.find("desc") is not None
        assert not re.search(r'="[^"]*\b(nan|inf)\b', re.sub(r"<title.*?</title>", "", svg))
    return page
