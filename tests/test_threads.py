"""The number of threads, and the cores that are idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from random import Random
from threading import Barrier
from time import sleep

import pytest
from joblib import cpu_count

from tabnas import threads
from tabnas.errors import TabNASError
from tabnas.threads import (
    available_threads,
    claim_cores,
    get_threads,
    limit_threads,
    release_cores,
    stream_in_threads,
)


@pytest.fixture
def four_cores(idle_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "count_cores", lambda: 4)
    monkeypatch.setattr(threads, "_limit", ContextVar("threads", default=None))


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
def test_threads_of_a_stream_have_the_limit_of_their_caller() -> None:
    with limit_threads(3):
        assert list(stream_in_threads(lambda item: get_threads(), range(8))) == [3] * 8


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_stream_keeps_the_order_whatever_takes_long(count: int) -> None:
    rng = Random(count)

    def pieces() -> Iterator[int]:
        for piece in range(60):
            sleep(rng.choice([0.0, 0.001]))
            yield piece

    def square(piece: int) -> int:
        sleep(rng.choice([0.0, 0.002]))
        return piece * piece

    with limit_threads(count):
        assert list(stream_in_threads(square, pieces())) == [x * x for x in range(60)]
    assert claim_cores(9) == 3
    release_cores(3)


@pytest.mark.usefixtures("four_cores")
def test_a_stream_computes_at_the_same_time_and_holds_few_pieces() -> None:
    meeting = Barrier(4, timeout=60)  # fails unless four threads come to it
    taken = []

    def pieces() -> Iterator[int]:
        for piece in range(40):
            taken.append(piece)
            yield piece

    for done, _ in enumerate(stream_in_threads(lambda piece: meeting.wait(), pieces())):
        assert len(taken) <= done + 2 * 4


@pytest.mark.usefixtures("four_cores")
def test_an_error_in_a_stream_has_the_place_of_its_piece() -> None:
    def pieces() -> Iterator[int]:
        yield from range(5)
        raise OSError("the disk is gone")

    def refuse_three(piece: int) -> int:
        if piece == 3:
            raise ValueError("three")
        return piece

    def read(function: Callable[[int], int]) -> list[int]:
        seen: list[int] = []
        with suppress(OSError, ValueError):
            for result in stream_in_threads(function, pieces()):
                seen.append(result)
            seen.append(-1)  # there was no error
        return seen

    assert read(refuse_three) == [0, 1, 2]
    assert read(abs) == [0, 1, 2, 3, 4]
    assert claim_cores(9) == 3
    release_cores(3)


@pytest.mark.usefixtures("four_cores")
def test_a_stream_that_nobody_reads_on_ends() -> None:
    stream = stream_in_threads(abs, iter(range(1_000_000)))
    assert next(stream) == 0
    stream.close()  # type: ignore[attr-defined]
    assert claim_cores(9) == 3
    release_cores(3)


@pytest.mark.usefixtures("four_cores")
def test_one_piece_claims_no_core() -> None:
    for _ in stream_in_threads(abs, [1], count=1):
        assert claim_cores(9) == 3
        release_cores(3)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, threads.NO_QUOTA),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, threads.NO_QUOTA),
        ({"cpu.max": "?"}, threads.NO_QUOTA),
        ({}, threads.NO_QUOTA),
    ],
)
def test_the_quota_of_a_container_is_read(
    files: dict[str, str], cores: int, tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert threads._read_quota(tmp_path) == cores


def test_the_cores_are_those_that_joblib_counts() -> None:
    assert threads.count_cores() == cpu_count()
