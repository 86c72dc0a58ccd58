"""Pictures as text: a few shapes, escaped, with a title and a description for those who listen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup, escape

Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


class Drawing:
    """A picture of `width` by `height`; colours come from the page's style, by class."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width = width
        self.height = height
        self.title = title
        self.description = description
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, hint: str = ""
    ) -> None:
        """A rectangle; `hint` is shown where a pointer rests."""
        size = f'width="{at(max(width, 0))}" height="{at(max(height, 0))}"'
        self._shape("rect", f'x="{at(x)}" y="{at(y)}" {size}', kind, hint)

    def circle(self, x: float, y: float, radius: float, kind: str, hint: str = "") -> None:
        """A disc."""
        self._shape("circle", f'cx="{at(x)}" cy="{at(y)}" r="{at(radius)}"', kind, hint)

    def square(self, x: float, y: float, radius: float, kind: str, hint: str = "") -> None:
        """A square around (x, y), to tell from a disc without colours."""
        self.rect(x - radius, y - radius, 2 * radius, 2 * radius, kind, hint)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        ends = f'x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}"'
        self._shape("line", ends, kind, "")

    def polyline(self, points: Sequence[Point], kind: str) -> None:
        """A line through points."""
        listed = " ".join(f"{at(x)},{at(y)}" for x, y in points)
        self._shape("polyline", f'points="{listed}"', kind, "")

    def polygon(self, points: Sequence[Point], kind: str, hint: str = "") -> None:
        """A filled outline."""
        listed = " ".join(f"{at(x)},{at(y)}" for x, y in points)
        self._shape("polygon", f'points="{listed}"', kind, hint)

    def bars(self, bars: Sequence[tuple[float, float, float, float]], kind: str) -> None:
        """Many rectangles (x, y, width, height) as one shape, to save space."""
        if bars:
            path = "".join(f"M{at(x)} {at(y)}h{at(w)}v{at(h)}h-{at(w)}z" for x, y, w, h in bars)
            self._shape("path", f'd="{path}"', kind, "")

    def text(
        self, x: float, y: float, words: str, kind: str = "label", anchor: Anchor = "start"
    ) -> None:
        """One line of text; `y` is its base line."""
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(
            Markup('<text x="{}" y="{}" class="{}"{}>{}</text>').format(
                at(x), at(y), kind, Markup(aligned), words
            )
        )

    def upwards(self, x: float, y: float, words: str, kind: str) -> None:
        """One line of text that ends at (x, y) and is read from below."""
        self._parts.append(
            Markup('<text transform="translate({} {}) rotate(-90)" class="{}"{}>{}</text>').format(
                at(x), at(y), kind, Markup(' text-anchor="end"'), words
            )
        )

    def begin(self, kind: str) -> None:
        """Shapes until `end` belong together."""
        self._parts.append(Markup('<g class="{}">').format(kind))

    def end(self) -> None:
        """See `begin`."""
        self._parts.append(Markup("</g>"))

    def render(self, name: str) -> Markup:
        """The picture; `name` must be unique on the page."""
        frame = Markup(
            '<svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-labelledby="{name}-title {name}-about">'
            '<title id="{name}-title">{title}</title><desc id="{name}-about">{about}</desc>'
        ).format(
            w=at(self.width),
            h=at(self.height),
            name=name,
            title=self.title,
            about=self.description,
        )
        return frame + Markup("").join(self._parts) + Markup("</svg>")

    def _shape(self, tag: str, attributes: str, kind: str, hint: str) -> None:
        inside = f"<title>{escape(hint)}</title>" if hint else ""
        end = f">{inside}</{tag}>" if inside else "/>"
        self._parts.append(Markup(f'<{tag} {attributes} class="{escape(kind)}"{end}'))


def at(value: float) -> str:
    """A coordinate to a tenth, which is less than a pixel shows.

    >>> at(12.0), at(0.26)
    ('12', '0.3')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
