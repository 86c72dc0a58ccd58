"""A figure: drawings with their text and table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabnas.report._svg import Drawing


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts; the first column names the rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A topic of the page: its text, and its drawings and table, if it has any."""

    key: str
    title: str
    paragraphs: Sequence[str]
    drawings: Sequence[Drawing] = ()
    table: Table | None = None
    folded: Sequence[Drawing] = ()  # shown on demand
    folded_title: str = ""

    def pictures(self) -> list[Markup]:
        """Return the drawings as SVG."""
        return [d.render(f"{self.key}-{k}") for k, d in enumerate(self.drawings, start=1)]

    def folded_pictures(self) -> list[Markup]:
        """Return the drawings that are shown on demand as SVG."""
        return [d.render(f"{self.key}-more-{k}") for k, d in enumerate(self.folded, start=1)]
