"""Which rows have a target: what means that there is none, and what is a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.data._number_text import are_number_like
from tabnas.data._values import (
    MISSING_MARKS,
    POSSIBLE_LABELS,
    SURE_MARKS,
    absent,
    is_text,
    texts,
)
from tabnas.types import IntArray

if TYPE_CHECKING:
    from tabnas.data._targets import Target


def rows_with_target(column: Any, target: Target | None = None) -> IntArray:
    """The numbers of the rows whose target is there: not null, NaN, or a mark like "?"."""
    missing = absent(column, marks=target_marks(column, target))
    return np.asarray(np.nonzero(~missing)[0], np.int64)


def target_marks(column: Any, target: Target | None = None) -> tuple[str, ...]:
    """The texts that mean that the target of a row is missing.

    Among other labels that are texts, "-" and "none" are labels, too: of a fitted target those that
    it has as such.
    """
    if not is_text(column):
        return MISSING_MARKS
    if target is not None:
        classes = {str(label).strip() for label in getattr(target, "classes", ())}
        return tuple(mark for mark in MISSING_MARKS if mark not in classes)
    return MISSING_MARKS if are_number_like(texts(column).unique()).all() else SURE_MARKS


def label_note(target: Target) -> tuple[str, ...]:
    """What to say of labels that may mean that there is none."""
    return tuple(
        f"{label!r} is a class of the target {target.name!r}, and not taken for a missing value; "
        "leave these cells empty if they mean that"
        for label in getattr(target, "classes", ())
        if isinstance(label, str) and label.strip() in POSSIBLE_LABELS
    )
