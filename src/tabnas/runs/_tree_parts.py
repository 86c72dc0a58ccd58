"""The rows of a run as boosted trees take them, whatever the limit and the scaling."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.model import TreeInputs, TreeMatrix, TreeRows


@dataclass(frozen=True, eq=False)
class TreeParts:
    """What trees learn from, stop by, and are judged on."""

    inputs: TreeInputs
    train: TreeRows
    validation: TreeRows | None
    test: TreeMatrix
