"""Brings the repository's own pages into the site, and lets their links work in both places.

README, CHANGELOG, CONTRIBUTING, SECURITY and all of `results/` stay where a repository browser
looks for them. Links are written for such a browser, relative to the file they stand in; here they
are turned to where the same file is on the site. A file that is not on the site (a module, a
benchmark) is named, as code, instead of linked.
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
"""Pages outside `docs/`, by what they are called on the site."""
FOLDER = "results"
SHOWN = {".md", ".png", ".svg"}


def on_config(config: MkDocsConfig) -> None:
    config.markdown_extensions.append(LINKS)  # type: ignore[arg-type]


def on_files(files: Files, config: MkDocsConfig) -> None:
    brought = dict(PAGES)
    for path in sorted((ROOT / FOLDER).rglob("*")):
        if path.suffix in SHOWN:
            brought[path.relative_to(ROOT).as_posix()] = path.relative_to(ROOT).as_posix()
    for here, there in brought.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / here)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    LINKS.page, LINKS.files = page, files
    if page.parent is None:  # a tab of one page needs no list of pages beside it
        page.meta["hide"] = ["navigation"]


def repository_path(uri: str) -> str:
    """Where a file of the site is in the repository."""
    names = {there: here for here, there in PAGES.items()}
    if uri in names:
        return names[uri]
    return uri if uri.startswith(f"{FOLDER}/") else f"docs/{uri}"


def site_path(path: str) -> str | None:
    """Where a file of the repository is on the site, if it is a page or a picture there."""
    if (ROOT / path / "README.md").is_file():
        path = posixpath.join(path, "README.md")
    if path in PAGES:
        return PAGES[path]
    if path.startswith(f"{FOLDER}/"):
        return path
    return path.removeprefix("docs/") if path.startswith("docs/") else None


class Links(Extension):
    """The extension of Markdown that turns them; told of each page before it is rendered."""

    page: Page
    files: Files

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        # after links have been parsed (20), before mkdocs checks them (0)
        md.treeprocessors.register(LinkTurner(md), "repository-links", 4)


class LinkTurner(Treeprocessor):
    def run(self, root: Element) -> None:
        for element in list(root.iter()):
            for attribute in ("href", "src"):
                if element.get(attribute):
                    self.turn(element, attribute)

    def turn(self, element: Element, attribute: str) -> None:
        link = urlsplit(element.get(attribute, ""))
        if link.scheme or link.netloc or not link.path:
            return
        uri = LINKS.page.file.src_uri
        beside = posixpath.dirname(repository_path(uri))
        target = posixpath.normpath(posixpath.join(beside, unquote(link.path)))
        there = site_path(target)
        if there and LINKS.files.get_file_from_path(there):
            turned = posixpath.relpath(there, posixpath.dirname(uri) or ".")
            element.set(attribute, turned + (f"#{link.fragment}" if link.fragment else ""))
        elif element.tag == "a" and (ROOT / target).exists():
            name_instead(element, target)


def name_instead(link: Element, path: str) -> None:
    """The path as code; after the text of the link, if that says something else."""
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
