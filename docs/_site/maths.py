r"""Convert formulas to MathML when the site is built, so that browsers need no script.

A Markdown extension (arithmatex) finds `$...$` and `$$...$$`, ignores code and prices, and marks a
formula as `\(...\)` or `\[...\]`. Many systems have no font for mathematics, without which sums
and braces do not grow, so the site includes one, from the package ziamath.
"""

from __future__ import annotations

import re
from html import unescape
from importlib.util import find_spec
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FONT = "STIXTwoMath-Regular.ttf"
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)
ONE = "\N{MATHEMATICAL DOUBLE-STRUCK DIGIT ONE}"
OTHER_NAMES = {r"\{aligned\}": "{split}", r"\\bar(?=\W)": r"\\overline"}
"""Replacements for names that the converter does not support, or not well."""
UNKNOWN = re.compile(r"\\\w+|&(?!#?\w+;)|&amp;")
FUNCTION = re.compile(r"(?<!<msub>)(?<!<msup>)<mi>(?:log|ln|exp)</mi>")
CLOSED = re.compile(r"(?:</m(?!o)\w+>|&#x000(?:29|5D);</mo>)$")
OPENS = re.compile(r"<mo[^>]*>&#x000(?:28|5B);")
SPACE = '<mspace width="0.17em"/>'

log = get_plugin_logger("maths")


def on_files(files: Files, config: MkDocsConfig) -> None:
    ziamath = find_spec("ziamath")
    if ziamath is None or ziamath.origin is None:
        raise PluginError("ziamath must be installed, for its font")
    font = Path(ziamath.origin).parent / "fonts" / FONT
    files.append(File.generated(config, f"_site/{FONT}", abs_src_path=str(font)))


def on_page_content(html: str, page: Page, **_: object) -> str:
    def displayed(found: re.Match[str]) -> str:
        return f'<div class="formula">{mathml(found[1], "block", page)}</div>'

    html = DISPLAYED.sub(displayed, html)
    return INLINE.sub(lambda found: mathml(found[1], "inline", page), html)


def mathml(formula: str, display: str, page: Page) -> str:
    formula = unescape(formula).strip()
    for name, known in OTHER_NAMES.items():
        formula = re.sub(name, known, formula)
    made = convert(formula, display=display)
    for left in UNKNOWN.findall(made):  # the converter copies unknown commands
        log.warning(f"{page.file.src_uri}: {left} is not understood, in the formula {formula}")
    made = made.replace('<mn mathvariant="double-struck">1</mn>', f"<mn>{ONE}</mn>")
    return FUNCTION.sub(add_spaces, made)


def add_spaces(function: re.Match[str]) -> str:
    """Add thin spaces around a function name, as TeX does, but none next to a bracket."""
    before = SPACE if CLOSED.search(function.string[: function.start()]) else ""
    after = "" if OPENS.match(function.string, function.end()) else SPACE
    return f"{before}{function[0]}{after}"
