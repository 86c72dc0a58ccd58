"""What is asked of a state is what was asked for, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tabnas.errors import TabNASError
from tabnas.states import check_keys, read_counts, read_floats, subtree
from tabnas.streams import get_rng_state, set_rng_state, stream

ANY = arrays.arrays(
    st.sampled_from(["?", "u1", "i1", "i8", "u8", "f2", "f4", "f8"]),
    arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
)


@given(ANY, st.sampled_from([(), (2,), (None,), (2, None)]), st.sampled_from([5, 2**53]))
def test_counts_are_counts(array: np.ndarray, shape: tuple[int | None, ...], most: int) -> None:
    try:
        found = read_counts({"n": array}, "n", shape, maximum=most)
    except TabNASError:
        fits = array.ndim == len(shape) and all(
            s in (None, n) for s, n in zip(shape, array.shape, strict=True)
        )
        whole = array.dtype.kind in "iu" and all(0 <= n <= most for n in array.ravel().tolist())
        assert not (fits and whole)
    else:
        assert found.dtype == np.int64
        assert found.tolist() == array.tolist()


@given(ANY)
def test_floats_are_of_their_type(array: np.ndarray) -> None:
    try:
        found = read_floats({"x": array}, "x", (None,))
    except TabNASError:
        assert array.ndim != 1 or array.dtype != np.float64 or not np.isfinite(array).all()
    else:
        assert np.isfinite(found).all()
        assert not np.shares_memory(found, array)
        np.testing.assert_array_equal(found, array)


def test_what_is_missing_is_named() -> None:
    state = {"net/a": np.zeros(1), "other": np.zeros(1)}
    assert list(subtree(state, "net")) == ["a"]
    with pytest.raises(TabNASError, match="must hold 'b'"):
        read_counts(state, "b")
    with pytest.raises(TabNASError, match="'other', 'x' are missing or unknown"):
        check_keys(state, ["net/a", "x"])


@pytest.mark.parametrize(
    "place",
    [
        np.zeros(5, np.uint64),
        np.zeros(6),
        np.zeros((6, 1), np.uint64),
        np.array([1, 2, 3, 4, 2, 0], np.uint64),
        np.array([1, 2, 3, 4, 1, 2**32], np.uint64),
    ],
)
def test_places_of_a_stream(place: np.ndarray) -> None:
    rng = stream(0, "here")
    before = get_rng_state(rng)
    with pytest.raises(TabNASError, match="six numbers"):
        set_rng_state(rng, place)
    np.testing.assert_array_equal(get_rng_state(rng), before)
