from __future__ import annotations

import numpy as np
import pytest

from tabnas.data import Table


def made_table(rows: int = 400, seed: int = 0) -> Table:
    """Numbers, a category, a day and a group, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size, warmth = rng.normal(size=rows), rng.normal(size=rows)
    colour = rng.choice(["red", "green", "blue"], size=rows)
    hidden = size * warmth + (colour == "red") + rng.normal(scale=0.1, size=rows)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, size=rows).astype("timedelta64[D]")
    return Table.of(
        {
            "size": size,
            "warmth": np.where(rng.random(rows) < 0.1, np.nan, warmth),
            "colour": colour,
            "day": day,
            "house": rng.integers(0, 20, size=rows),
            "kind": np.where(hidden > 0.5, "high", "low"),
            "value": 100 + 7 * hidden,
        }
    )


@pytest.fixture
def table() -> Table:
    return made_table()
