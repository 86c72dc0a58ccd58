"""Named random streams: one seed, and draws that do not depend on who else draws."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError

HALF = 64
LOW = (1 << HALF) - 1


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator that `seed` and `name` alone determine.

    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/1").random())
    True
    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/2").random())
    False
    """
    return np.random.default_rng([seed, crc32(name.encode())])


def get_rng_state(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Where a stream stands, as plain numbers.

    >>> rng = stream(0, "example")
    >>> here = get_rng_state(rng)
    >>> drawn = float(rng.random())
    >>> set_rng_state(rng, here)
    >>> float(rng.random()) == drawn
    True
    """
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"streams are of PCG64, got {state['bit_generator']}")
    whole = (state["state"]["state"], state["state"]["inc"])
    halves = [part for number in whole for part in (number & LOW, number >> HALF)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def set_rng_state(rng: np.random.Generator, state: NDArray[np.uint64]) -> None:
    """Go on where another stream stood; what cannot be a place is refused."""
    shaped = state.shape == (6,) and state.dtype == np.uint64
    low, high, step_low, step_high, held, number = state.tolist() if shaped else [LOW] * 6
    if held > 1 or number >= 1 << 32:
        raise TabNASError("the place of a random stream must be the six numbers of one, got others")
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << HALF | low, "inc": step_high << HALF | step_low},
        "has_uint32": held,
        "uinteger": number,
    }
