"""The documentation as a site: built without a warning, its links followed, and asking nobody."""

from __future__ import annotations

import fcntl
import importlib
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer

import tabnas
from tabnas.cli._main import app
from tests.test_links import TOP_PAGES, markdown

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BROUGHT = {name: "index.md" if name == "README.md" else name.lower() for name in TOP_PAGES}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; of several processes that test, the first builds it for all."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "index.html").exists():
            built = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
                cwd=ROOT,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
            )
            said = [line for line in built.stderr.splitlines() if not line.startswith("INFO")]
            assert built.returncode == 0, "\n".join(said)
    return folder


class Page(HTMLParser):
    """What a page of the site links to, loads, and can be linked to at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.html = path.read_text()
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])


@cache
def page(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]


def named(entry: Any) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from named(below)


def commands(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for word, below in group.commands.items():
        if hasattr(below, "commands"):
            yield from commands(f"{name} {word}", below)
        else:
            yield f"{name} {word}", below


def hook(name: str) -> ModuleType:
    """A module of the site's own."""
    found = spec_from_file_location(name, ROOT / "docs" / "_site" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation() -> None:
    yaml = pytest.importorskip("yaml")
    listed = list(named(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    there = {path.relative_to(ROOT).as_posix().removeprefix("docs/") for path in markdown()}
    assert set(listed) == {BROUGHT.get(name, name) for name in there}
    assert len(listed) == len(set(listed))


def test_links_lead_somewhere_on_the_site(site: Path) -> None:
    astray = []
    for path in pages(site):
        for link in page(path).links:
            target = urlsplit(link)
            if target.scheme:
                continue
            there = path.parent / unquote(target.path) if target.path else path
            there = Path(posixpath.normpath(there))
            there = there / "index.html" if there.is_dir() else there
            known = there.is_file() and (
                not target.fragment
                or there.suffix != ".html"
                or unquote(target.fragment) in page(there).places
            )
            if not known:
                astray.append(f"{path.relative_to(site)}: {link}")
    assert not astray


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {link for path in pages(site) for link in page(path).loaded}
    for style in site.rglob("*.css"):
        loaded.update(re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", style.read_text()))
    assert {link for link in loaded if urlsplit(link).netloc} == set()
    assert any(link.endswith("site.css") for link in loaded)


def test_files_that_are_no_pages_are_named(site: Path) -> None:
    assert "<code>src/tabnas/search/_search.py</code>" in page(site / "step_by_step.html").html


def test_formulas_are_mathml(site: Path) -> None:
    assert "<math" in page(site / "glossary.html").html
    assert "<math" in page(site / "mathematics.html").html
    assert not [path for path in pages(site) if "arithmatex" in page(path).html]


def test_prices_and_code_are_no_formulas(caplog: pytest.LogCaptureFixture) -> None:
    from markdown import markdown as markdown_of

    maths = hook("maths")
    options = {"pymdownx.arithmatex": {"generic": True, "smart_dollar": True}}

    def shown(text: str) -> str:
        made = markdown_of(text, extensions=list(options), extension_configs=options)
        return str(
            maths.on_page_content(made, page=SimpleNamespace(file=SimpleNamespace(src_uri="a.md")))
        )

    assert shown("from $5 to $7, `$x$`") == "<p>from $5 to $7, <code>$x$</code></p>"
    assert shown(r"$\eta$").startswith("<p><math")
    assert not caplog.records
    shown(r"$\unheard{x}$")
    assert r"a.md: \unheard is not understood" in caplog.text


def test_every_command_is_in_the_reference(site: Path) -> None:
    shown = [page(site / f"reference/command_line{end}.html") for end in ("", "_paper")]
    for name, command in commands("tabnas", typer.main.get_command(app)):
        [there] = [one for one in shown if name.replace(" ", "-") in one.places]
        for parameter in command.params:
            if parameter.opts[0].startswith("--"):
                assert f"<code>{parameter.opts[0]}</code>" in there.html, name


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    places = {place for path in (site / "reference").glob("*.html") for place in page(path).places}
    for path in (site / "reference").glob("*.html"):
        room = path.stem
        if (Path(tabnas.__file__).parent / room / "__init__.py").exists():
            exported = importlib.import_module(f"tabnas.{room}").__all__
            assert {f"tabnas.{room}.{name}" for name in exported} <= places
    known = {place.rsplit(".", 1)[-1] for place in places}
    assert set(tabnas.__all__) - {"__version__"} <= known
