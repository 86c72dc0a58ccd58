"""Drawings as SVG: a few shapes, with a title and a description for screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup, escape

Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


class Drawing:
    """A drawing of `width` by `height`; the page's style sheet colours its CSS classes."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width = width
        self.height = height
        self.title = title
        self.description = description
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, css_class: str, tooltip: str = ""
    ) -> None:
        """Draw a rectangle; the tooltip is shown under the pointer."""
        size = f'width="{px(max(width, 0))}" height="{px(max(height, 0))}"'
        self._shape(
            "rect",
            f'x="{px(x)}" y="{px(y)}" {size}',
            css_class,
            tooltip,
        )

    def circle(self, x: float, y: float, radius: float, css_class: str, tooltip: str = "") -> None:
        """Draw a filled circle."""
        self._shape(
            "circle",
            f'cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"',
            css_class,
            tooltip,
        )

    def square(self, x: float, y: float, radius: float, css_class: str, tooltip: str = "") -> None:
        """Draw a square around (x, y), which differs from a circle also without colours."""
        self.rect(x - radius, y - radius, 2 * radius, 2 * radius, css_class, tooltip)

    def line(self, x1: float, y1: float, x2: float, y2: float, css_class: str) -> None:
        """Draw a straight line."""
        ends = f'x1="{px(x1)}" y1="{px(y1)}" x2="{px(x2)}" y2="{px(y2)}"'
        self._shape("line", ends, css_class, "")

    def polyline(self, points: Sequence[Point], css_class: str) -> None:
        """Draw a line through points."""
        listed = " ".join(f"{px(x)},{px(y)}" for x, y in points)
        self._shape("polyline", f'points="{listed}"', css_class, "")

    def polygon(self, points: Sequence[Point], css_class: str, tooltip: str = "") -> None:
        """Draw a filled polygon."""
        listed = " ".join(f"{px(x)},{px(y)}" for x, y in points)
        self._shape("polygon", f'points="{listed}"', css_class, tooltip)

    def bars(self, bars: Sequence[tuple[float, float, float, float]], css_class: str) -> None:
        """Draw many rectangles (x, y, width, height) as one shape, to save space."""
        if bars:
            path = "".join(f"M{px(x)} {px(y)}h{px(w)}v{px(h)}h-{px(w)}z" for x, y, w, h in bars)
            self._shape("path", f'd="{path}"', css_class, "")

    def text(
        self, x: float, y: float, text: str, css_class: str = "label", anchor: Anchor = "start"
    ) -> None:
        """Write one line of text; `y` is its base line."""
        aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(
            Markup('<text x="{}" y="{}" class="{}"{}>{}</text>').format(
                px(x), px(y), css_class, Markup(aligned), text
            )
        )

    def vertical_text(self, x: float, y: float, text: str, css_class: str) -> None:
        """Write one line of text upwards that ends at (x, y)."""
        self._parts.append(
            Markup('<text transform="translate({} {}) rotate(-90)" class="{}"{}>{}</text>').format(
                px(x),
                px(y),
                css_class,
                Markup(' text-anchor="end"'),
                text,
            )
        )

    def begin_group(self, css_class: str) -> None:
        """Begin a group of shapes, up to `end_group`."""
        self._parts.append(Markup('<g class="{}">').format(css_class))

    def end_group(self) -> None:
        """End the group that was begun last."""
        self._parts.append(Markup("</g>"))

    def render(self, name: str) -> Markup:
        """Return the drawing as SVG; `name` must be unique on the page."""
        frame = Markup(
            '<svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-labelledby="{name}-title {name}-about">'
            '<title id="{name}-title">{title}</title><desc id="{name}-about">{about}</desc>'
        ).format(
            w=px(self.width),
            h=px(self.height),
            name=name,
            title=self.title,
            about=self.description,
        )
        return frame + Markup("").join(self._parts) + Markup("</svg>")

    def _shape(self, tag: str, attributes: str, css_class: str, tooltip: str) -> None:
        inside = f"<title>{escape(tooltip)}</title>" if tooltip else ""
        end = f">{inside}</{tag}>" if inside else "/>"
        self._parts.append(Markup(f'<{tag} {attributes} class="{escape(css_class)}"{end}'))


def px(value: float) -> str:
    """Format a coordinate to a tenth, which is less than a pixel.

    >>> px(12.0), px(0.26)
    ('12', '0.3')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
