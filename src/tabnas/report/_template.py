"""Fill a template, and get a page of HTML that loads nothing else."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

STYLE, SCRIPT = "page.css", "page.js"


def fill_template(template: str, **variables: Any) -> str:
    """Return the page; every text is escaped, and its policy allows no script but its own."""
    style, script = _read(STYLE), _read(SCRIPT)
    return (
        _environment()
        .get_template(template)
        .render(
            **variables,
            style=Markup(style),
            script=Markup(script),
            style_digest=digest(style),
            script_digest=digest(script),
        )
    )


def digest(text: str) -> str:
    """Return the digest by which a content security policy allows a script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    # slow to import, and the page comes last in a run
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tabnas.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _read(name: str) -> str:
    """Read a file of this package; no other text reaches the page unescaped."""
    return (files("tabnas.report") / "page" / name).read_text(encoding="utf-8")
