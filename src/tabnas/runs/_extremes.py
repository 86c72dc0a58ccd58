"""Where to look when numbers leave what networks can compute with."""

from __future__ import annotations

import numpy as np

from tabnas.data import NumberTarget
from tabnas.runs.prepare._prepared_data import Parts


def most_extreme(parts: Parts) -> str:
    """A clause that names the column, or target, with the largest number networks are given.

    Columns and targets are scaled before, so that a large number is an unlikely one.
    """
    part = parts.development
    largest = np.abs(part.encoded.numeric).max(axis=0, initial=0.0)
    named = dict(zip(parts.encoder.features, largest.tolist(), strict=True))
    sizes = {f"the column {name!r}": size for name, size in named.items()}
    if isinstance(parts.target, NumberTarget):
        sizes[f"the target {parts.target.name!r}"] = float(np.abs(part.examples.values).max())
    if not sizes:
        return "all columns are categories, and none is extreme"
    name = max(sizes, key=sizes.__getitem__)
    return f"the largest number that networks are given is {sizes[name]:.3g}, of {name}"
