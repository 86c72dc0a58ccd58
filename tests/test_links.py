"""Links between the pages of the repository lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def markdown() -> list[Path]:
    """Return every page."""
    folders = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "results").rglob("*.md")]
    return sorted([*folders, *(ROOT / name for name in TOP_PAGES)])


@pytest.mark.parametrize("path", markdown(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in LINK.findall(CODE.sub("", path.read_text())):
        target = urlsplit(link)
        if not target.scheme and target.path:
            assert (path.parent / unquote(target.path)).exists(), link


def test_every_result_is_in_the_contents_of_the_site() -> None:
    contents = set(re.findall(r"results/\S+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert contents == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "results").rglob("*.md")
    }
