"""Parts and keys depend on a row's number alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._split import TEST, VALIDATION, draw_parts, draw_sampling_keys


@given(
    st.integers(0, 2**40), st.integers(0, 50), st.integers(0, 50), st.integers(0, 9), st.integers(0)
)
def test_rows_are_dealt_out_by_number(
    first: int, some: int, more: int, seed: int, other: int
) -> None:
    shares = (0.3, 0.1)
    whole = draw_parts(seed, first, some + more, shares)
    halves = [draw_parts(seed, first, some, shares)]
    halves += [draw_parts(seed, first + some, more, shares)]
    assert (whole == np.concatenate(halves)).all()
    keys = draw_sampling_keys(seed, first, some + more)
    assert (keys[some:] == draw_sampling_keys(seed, first + some, more)).all()


def test_shares_are_kept() -> None:
    parts = draw_parts(3, 0, 100_000, (0.3, 0.1))
    assert abs((parts == VALIDATION).mean() - 0.3) < 0.01
    assert abs((parts == TEST).mean() - 0.1) < 0.01
    assert (parts != draw_parts(4, 0, 100_000, (0.3, 0.1))).any()
    keys = draw_sampling_keys(3, 0, 100_000)
    # which rows are sampled has nothing to do with which part they are in
    assert abs(np.corrcoef(keys.astype(float), parts)[0, 1]) < 0.02
