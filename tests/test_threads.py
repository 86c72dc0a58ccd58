"""The number of threads, and the cores that are idle."""

from __future__ import annotations

import pytest

from tabnas import threads
from tabnas.errors import TabNASError
from tabnas.threads import (
    available_threads,
    claim_cores,
    get_threads,
    limit_threads,
    map_in_threads,
    release_cores,
)


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_count_cores", lambda: 4)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("setting", "expected"), [("1", 1), ("3,2", 3), ("64", 4), ("0", 4), ("many", 4), ("", 4)]
)
def test_the_environment_can_only_lower_the_number_of_threads(
    setting: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert available_threads() == expected


@pytest.mark.usefixtures("four_cores")
def test_a_limit_holds_in_its_block_and_may_exceed_the_cores() -> None:
    with limit_threads(16):
        assert get_threads() == 16
        with limit_threads(None):
            assert get_threads() == 16
        with limit_threads(1):
            assert get_threads() == 1
    assert get_threads() == 4


def test_a_limit_must_be_a_positive_integer() -> None:
    with pytest.raises(TabNASError, match="threads must be"), limit_threads(0):
        pass


@pytest.mark.usefixtures("four_cores")
def test_cores_are_granted_while_they_are_idle() -> None:
    assert claim_cores(2) == 2
    assert claim_cores(2) == 1, "the caller has the fourth"
    assert claim_cores(2) == 0
    assert claim_cores(2, force=True) == 2
    release_cores(5)
    assert claim_cores(9) == 3
    release_cores(3)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("count", [1, 4])
def test_a_map_keeps_the_order_and_releases_its_cores(count: int) -> None:
    with limit_threads(count):
        assert map_in_threads(lambda x: x * x, range(50)) == [x * x for x in range(50)]
        with pytest.raises(ZeroDivisionError):
            map_in_threads(lambda x: 1 / x, [1, 0, 2])
    assert claim_cores(9) == 3
    release_cores(3)
