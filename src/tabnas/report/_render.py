"""From facts to a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tabnas.report._commands import PREDICT, make_again, source_name, use_in_python
from tabnas.report._facts import read_facts
from tabnas.report._sections import (
    FEW_COLUMNS,
    columns_table,
    headline,
    sections,
    verdict,
    work_table,
)

PAGE, STYLE, SCRIPT = "page.html", "page.css", "page.js"


def render_report(
    result: Mapping[str, Any], history: Sequence[Any], config: Mapping[str, Any]
) -> str:
    """The report of a run as one page of HTML that needs nothing else.

    A pure function of what `result.json`, `history.jsonl` (one element a line) and `config.toml`
    hold. These may come from anybody: whatever is malformed is refused with its name, every text
    is escaped, and the page's own policy lets no other script or style than its own work.
    """
    facts = read_facts(result, history)
    style, script = _own(STYLE), _own(SCRIPT)
    return (
        _environment()
        .get_template(PAGE)
        .render(
            facts=facts,
            source=source_name(config),
            headline=headline(facts),
            verdict=verdict(facts),
            holds=all(cost.holds for cost in facts.limits),
            sections=sections(facts),
            columns=columns_table(facts),
            few_columns=len(facts.columns) <= FEW_COLUMNS,
            work=work_table(facts),
            predict=PREDICT,
            use=use_in_python(facts.task),
            again=make_again(config, facts.target),
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
