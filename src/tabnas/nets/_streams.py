"""Named random streams: one seed, and draws that do not depend on who else draws."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator that `seed` and `name` alone determine.

    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/1").random())
    True
    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/2").random())
    False
    """
    return np.random.default_rng([seed, crc32(name.encode())])
