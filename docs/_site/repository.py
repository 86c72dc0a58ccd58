"""Add the pages of the repository outside `docs/` to the site, and convert their links.

README, CHANGELOG, CONTRIBUTING, SECURITY and all of `results/` stay at their places in the
repository. Links are written for a repository browser, relative to their file; here they are
converted to the location on the site. A link to a file that is not on the site (a module, a
benchmark) is replaced by its path, as code.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element, SubElement

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages outside `docs/`, with their names on the site."""
FOLDER = "results"
SHOWN = {".md", ".png", ".svg"}


def on_config(config: MkDocsConfig) -> None:
    config.markdown_extensions.append(LINKS)  # type: ignore[arg-type]


def on_files(files: Files, config: MkDocsConfig) -> None:
    added = dict(PAGES)
    for path in sorted((ROOT / FOLDER).rglob("*")):
        if path.suffix in SHOWN:
            added[path.relative_to(ROOT).as_posix()] = path.relative_to(ROOT).as_posix()
    for here, there in added.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / here)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    LINKS.page, LINKS.files = page, files
    if page.parent is None:  # a tab with one page needs no navigation
        page.meta["hide"] = ["navigation"]


def repository_path(uri: str) -> str:
    """Return the path in the repository of a file of the site."""
    names = {there: here for here, there in PAGES.items()}
    if uri in names:
        return names[uri]
    return uri if uri.startswith(f"{FOLDER}/") else f"docs/{uri}"


def site_path(path: str) -> str | None:
    """Return the path on the site of a file of the repository, or None if it is not there."""
    if (ROOT / path / "README.md").is_file():
        path = posixpath.join(path, "README.md")
    if path in PAGES:
        return PAGES[path]
    if path.startswith(f"{FOLDER}/"):
        return path
    return path.removeprefix("docs/") if path.startswith("docs/") else None


class Links(Extension):
    """The Markdown extension that converts links; `page` is set before each page is rendered."""

    page: Page
    files: Files

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        # after links have been parsed (20), before mkdocs checks them (0)
        md.treeprocessors.register(LinkConverter(md), "repository-links", 4)


class LinkConverter(Treeprocessor):
    def run(self, root: Element) -> None:
        for element in list(root.iter()):
            for attribute in ("href", "src"):
                if element.get(attribute):
                    self.convert(element, attribute)

    def convert(self, element: Element, attribute: str) -> None:
        link = urlsplit(element.get(attribute, ""))
        if link.scheme or link.netloc or not link.path:
            return
        uri = LINKS.page.file.src_uri
        folder = posixpath.dirname(repository_path(uri))
        target = posixpath.normpath(posixpath.join(folder, unquote(link.path)))
        there = site_path(target)
        if there and LINKS.files.get_file_from_path(there):
            converted = posixpath.relpath(there, posixpath.dirname(uri) or ".")
            element.set(attribute, converted + (f"#{link.fragment}" if link.fragment else ""))
        elif element.tag == "a" and (ROOT / target).exists():
            replace_by_path(element, target)


def replace_by_path(link: Element, path: str) -> None:
    """Replace a link by its path as code, after the text of the link if that differs."""
    link.attrib.clear()
    text = "".join(link.itertext())
    if text.strip("/") in path:
        tail = link.tail
        link.clear()
        link.tag, link.text, link.tail = "code", AtomicString(path), tail
        return
    link.tag = "span"
    children = list(link)
    if children:
        children[-1].tail = (children[-1].tail or "") + " ("
    else:
        link.text = (link.text or "") + " ("
    code = SubElement(link, "code")
    code.text, code.tail = AtomicString(path), ")"


LINKS = Links()
