"""A picture with the words beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabnas.report._svg import Drawing


@dataclass(frozen=True, kw_only=True)
class Table:
    """Numbers behind a picture; the first column names the rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One matter: what to call it, what to say, and what to draw, if there is anything to draw."""

    key: str
    title: str
    words: Sequence[str]
    drawings: Sequence[Drawing] = ()
    table: Table | None = None
    more: Sequence[Drawing] = ()  # folded away
    more_title: str = ""

    def pictures(self) -> list[Markup]:
        """The drawings, as HTML takes them."""
        return [d.render(f"{self.key}-{k}") for k, d in enumerate(self.drawings, start=1)]

    def more_pictures(self) -> list[Markup]:
        """The same for those that are folded away."""
        return [d.render(f"{self.key}-more-{k}") for k, d in enumerate(self.more, start=1)]
