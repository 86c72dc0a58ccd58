"""Spellings of categories, which files and frames write differently."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tabnas.data._values import normalize_categories

Spelling = Literal["plain", "truths", "digits", "exact"]
"""What is one category: in plain spelling, 01, 1 and 1.0 are, and so are True and true. Where
training had truth values, 1 and 0 are these ("truths"); where it had 1 and 0, truth values are
those ("digits"). Where it had both 01 and 1, texts are distinguished as written ("exact")."""
TRUTHS, DIGITS = ("false", "true"), ("0", "1")
INTEGER = r"^(.+)\.0*$"  # an integer that is written as a float


def infer_spelling(texts: Any) -> Spelling:
    """Return how the different texts of a column are distinguished."""
    plain = normalize_categories(texts)
    if len(pc.unique(plain)) < len(pc.unique(_without_case(texts))):
        return "exact"
    truths, digits = (bool(pc.any(_is_in(plain, values)).as_py()) for values in (TRUTHS, DIGITS))
    if truths == digits:
        return "plain"
    return "truths" if truths else "digits"


def _without_case(texts: Any) -> Any:
    """Return texts in one form if they differ only in case (booleans) or a point (integers)."""
    lower = pc.utf8_lower(texts)
    texts = pc.if_else(_is_in(lower, TRUTHS), lower, texts)
    number = pc.match_substring_regex(texts, r"^[+-]?\d+\.0*$")
    return pc.if_else(number, pc.replace_substring_regex(texts, INTEGER, r"\1"), texts)


def spell(texts: Any, spelling: Spelling) -> Any:
    """Return texts as the vocabulary of a column with that spelling has them."""
    if spelling == "exact":
        return texts
    plain = normalize_categories(texts)
    if spelling == "plain":
        return plain
    known, other = (TRUTHS, DIGITS) if spelling == "truths" else (DIGITS, TRUTHS)
    positions = pc.index_in(plain, value_set=pa.array(other))
    return pc.coalesce(pc.take(pa.array(known), positions), plain)


def _is_in(texts: Any, values: tuple[str, ...]) -> Any:
    return pc.is_in(texts, value_set=pa.array(values))
