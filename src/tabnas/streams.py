"""Named random streams: one seed, and samples that do not depend on those of other streams."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError

HALF_BITS = 64
LOW_MASK = (1 << HALF_BITS) - 1


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator that only `seed` and `name` determine.

    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/1").random())
    True
    >>> float(stream(0, "shuffle/1").random()) == float(stream(0, "shuffle/2").random())
    False
    """
    return np.random.default_rng([seed, crc32(name.encode())])


def sample_rows(count: int, max_rows: int, *, seed: int, name: str) -> NDArray[np.int64]:
    """Return the numbers of all rows, or of a random sample of them from the stream `name`, sorted.

    >>> sample_rows(3, 5, seed=0, name="example").tolist()
    [0, 1, 2]
    >>> len(sample_rows(100, 5, seed=0, name="example"))
    5
    """
    if count <= max_rows:
        return np.arange(count)
    return np.sort(stream(seed, name).choice(count, max_rows, replace=False))


def get_rng_state(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return the state of a generator as an array.

    >>> rng = stream(0, "example")
    >>> state = get_rng_state(rng)
    >>> value = float(rng.random())
    >>> set_rng_state(rng, state)
    >>> float(rng.random()) == value
    True
    """
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"the generator must be PCG64, got {state['bit_generator']}")
    numbers = (state["state"]["state"], state["state"]["inc"])
    halves = [part for number in numbers for part in (number & LOW_MASK, number >> HALF_BITS)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def set_rng_state(rng: np.random.Generator, state: NDArray[np.uint64]) -> None:
    """Restore a state that `get_rng_state` returned; raise an error for other arrays."""
    is_valid = state.shape == (6,) and state.dtype == np.uint64
    low, high, inc_low, inc_high, has_uint32, uinteger = (
        state.tolist() if is_valid else [LOW_MASK] * 6
    )
    if has_uint32 > 1 or uinteger >= 1 << 32:
        raise TabNASError("the state of a random stream must be its six numbers, got others")
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << HALF_BITS | low, "inc": inc_high << HALF_BITS | inc_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
