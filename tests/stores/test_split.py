"""Parts and sampling keys depend on the number of a row only."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._split import TEST, VALIDATION, draw_parts, draw_sampling_keys


@given(
    st.integers(0, 2**40), st.integers(0, 50), st.integers(0, 50), st.integers(0, 9), st.integers(0)
)
def test_the_split_depends_on_row_numbers_only(
    first: int, n_first: int, n_second: int, seed: int, other: int
) -> None:
    shares = (0.3, 0.1)
    all_parts = draw_parts(seed, first, n_first + n_second, shares)
    halves = [draw_parts(seed, first, n_first, shares)]
    halves += [draw_parts(seed, first + n_first, n_second, shares)]
    assert (all_parts == np.concatenate(halves)).all()
    keys = draw_sampling_keys(seed, first, n_first + n_second)
    assert (keys[n_first:] == draw_sampling_keys(seed, first + n_first, n_second)).all()


def test_shares_are_kept() -> None:
    parts = draw_parts(3, 0, 100_000, (0.3, 0.1))
    assert abs((parts == VALIDATION).mean() - 0.3) < 0.01
    assert abs((parts == TEST).mean() - 0.1) < 0.01
    assert (parts != draw_parts(4, 0, 100_000, (0.3, 0.1))).any()
    keys = draw_sampling_keys(3, 0, 100_000)
    # sampling is independent of the split
    assert abs(np.corrcoef(keys.astype(float), parts)[0, 1]) < 0.02
