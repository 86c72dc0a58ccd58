"""A page of HTML that needs nothing else, filled in."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

STYLE, SCRIPT = "page.css", "page.js"


def fill(template: str, **words: Any) -> str:
    """The page of a template; every text is escaped, and only the page's own script works."""
    style, script = _own(STYLE), _own(SCRIPT)
    return (
        _environment()
        .get_template(template)
        .render(
            **words,
            style=Markup(style),
            script=Markup(script),
            style_digest=digest(style),
            script_digest=digest(script),
        )
    )


def digest(text: str) -> str:
    """What a content security policy calls a script or style by."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tabnas.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _own(name: str) -> str:
    """A file of this package; the only text that reaches the page unescaped."""
    return (files("tabnas.report") / "page" / name).read_text(encoding="utf-8")
