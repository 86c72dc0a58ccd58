"""Parts and keys depend on a row's number alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabnas.stores._splitting import TEST, VALIDATION, parts_of_rows, sampling_keys


@given(
    st.integers(0, 2**40), st.integers(0, 50), st.integers(0, 50), st.integers(0, 9), st.integers(0)
)
def test_rows_are_dealt_out_by_number(
    first: int, some: int, more: int, seed: int, other: int
) -> None:
    shares = (0.3, 0.1)
    whole = parts_of_rows(seed, first, some + more, shares)
    halves = [parts_of_rows(seed, first, some, shares)]
    halves += [parts_of_rows(seed, first + some, more, shares)]
    assert (whole == np.concatenate(halves)).all()
    keys = sampling_keys(seed, first, some + more)
    assert (keys[some:] == sampling_keys(seed, first + some, more)).all()


def test_shares_are_kept() -> None:
    parts = parts_of_rows(3, 0, 100_000, (0.3, 0.1))
    assert abs((parts == VALIDATION).mean() - 0.3) < 0.01
    assert abs((parts == TEST).mean() - 0.1) < 0.01
    assert (parts != parts_of_rows(4, 0, 100_000, (0.3, 0.1))).any()
    keys = sampling_keys(3, 0, 100_000)
    # which rows are sampled has nothing to do with which part they are in
    assert abs(np.corrcoef(keys.astype(float), parts)[0, 1]) < 0.02
