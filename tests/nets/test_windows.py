"""Rows that are read in windows: every row once an epoch, in a random order."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.nets import Examples, Inputs, NetworkSpec, WindowedBatches
from tabnas.types import BoolArray, IntArray

UNREAD = -1
SPEC = NetworkSpec(inputs=Inputs(numeric=1), loss="logistic")


class Rows:
    """Rows that contain their own numbers, and a record of the blocks that were read."""

    def __init__(self, rows: int, block_rows: int) -> None:
        self.rows, self.block_rows = rows, block_rows
        self.read: list[list[int]] = []

    def load(self, blocks: IntArray, is_local: BoolArray) -> Examples:
        self.read.append(blocks[is_local].tolist())
        size = self.block_rows
        numbers = [np.arange(b * size, min((b + 1) * size, self.rows)) for b in blocks]
        values = [
            np.where(is_here, block, UNREAD)
            for block, is_here in zip(numbers, is_local, strict=True)
        ]
        return Examples(SPEC, numeric=np.concatenate(values)[:, None].astype(np.float32))

    def windows(
        self,
        batch_size: int,
        *,
        window: int,
        seed: int = 0,
        workers: int = 1,
        local_workers: Collection[int] | None = None,
    ) -> WindowedBatches:
        return WindowedBatches(
            self.load,
            self.rows,
            block_rows=self.block_rows,
            window_rows=window,
            batch_size=batch_size,
            seed=seed,
            workers=workers,
            local_workers=local_workers,
        )


def read_rows(windows: WindowedBatches, step: int) -> list[list[int]]:
    """Return the numbers of the rows of a step for each worker."""
    batch = windows.at(step)
    return [batch.examples.numeric[rows, 0].astype(int).tolist() for rows in batch.rows]


def read_epoch(windows: WindowedBatches, epoch: int) -> list[int]:
    steps = range(epoch * windows.steps_per_epoch, (epoch + 1) * windows.steps_per_epoch)
    return [row for step in steps for rows in read_rows(windows, step) for row in rows]


@given(
    rows=st.integers(1, 200),
    block_rows=st.integers(1, 20),
    window=st.integers(1, 100),
    batch_size=st.integers(1, 30),
    workers=st.integers(1, 4),
)
def test_every_epoch_has_every_row_once(
    rows: int, block_rows: int, window: int, batch_size: int, workers: int
) -> None:
    windows = Rows(rows, block_rows).windows(batch_size, window=window, workers=workers)
    for epoch in range(2):
        assert sorted(read_epoch(windows, epoch)) == list(range(rows))
    for step in range(windows.steps_per_epoch):
        sizes = list(map(len, read_rows(windows, step)))
        assert 0 < max(sizes) <= batch_size
        assert sizes == sorted(sizes, reverse=True)


@given(window=st.integers(1, 150), workers=st.integers(1, 3), step=st.integers(0, 60))
def test_reading_can_start_at_any_step(window: int, workers: int, step: int) -> None:
    from_the_start = Rows(103, 10).windows(7, window=window, workers=workers)
    for before in range(step):
        from_the_start.at(before)
    later = Rows(103, 10).windows(7, window=window, workers=workers)
    assert read_rows(later, step) == read_rows(from_the_start, step)


@given(window=st.integers(1, 400), workers=st.integers(2, 5), ranks=st.integers(2, 3))
def test_each_process_reads_the_rows_of_its_workers(window: int, workers: int, ranks: int) -> None:
    together = Rows(203, 10).windows(7, window=window, workers=workers)
    shares = [range(rank, workers, ranks) for rank in range(ranks)]
    sources = [Rows(203, 10) for _ in shares]
    apart = [
        source.windows(7, window=window, workers=workers, local_workers=local_workers)
        for source, local_workers in zip(sources, shares, strict=True)
    ]
    for step in range(together.steps_per_epoch):
        expected = read_rows(together, step)
        for windows, local_workers in zip(apart, shares, strict=True):
            part = read_rows(windows, step)
            assert [len(rows) for rows in part] == [len(rows) for rows in expected]
            for worker, rows in enumerate(part):
                assert rows == (
                    expected[worker] if worker in local_workers else [UNREAD] * len(rows)
                )
    if len(together._ends) == 1:  # otherwise blocks read ahead would count
        read = [block for source in sources for blocks in source.read for block in blocks]
        assert sorted(read) == list(range(21))


def test_epochs_and_seeds_give_different_orders() -> None:
    windows = Rows(300, 10).windows(16, window=60)
    other = Rows(300, 10).windows(16, window=60, seed=1)
    first, second = read_epoch(windows, 0), read_epoch(windows, 1)
    assert first != second
    assert first != read_epoch(other, 0)


def test_only_one_window_is_read_at_a_time() -> None:
    rows = Rows(1_000, 10)
    windows = rows.windows(16, window=200, workers=2)
    read_epoch(windows, 0)
    assert max(map(len, rows.read)) == 20
    assert len(rows.read) <= 5 + 1  # one is the first of the next epoch


def test_rows_that_fit_into_one_window_are_read_once() -> None:
    rows = Rows(95, 10)
    windows = rows.windows(16, window=100)
    first, second = read_epoch(windows, 0), read_epoch(windows, 1)
    assert len(rows.read) == 1
    assert first != second


@pytest.mark.parametrize("workers", [1, 2])
def test_sorted_labels_are_mixed(workers: int) -> None:
    """A batch of rows that are sorted by label has about as many of each as a random one."""
    rows = 200_000
    windows = Rows(rows, 128).windows(256, window=25_600, workers=workers)
    ones = [
        np.mean([row >= rows // 2 for row in part])
        for step in range(windows.steps_per_epoch)
        for part in read_rows(windows, step)
        if len(part) == 256
    ]
    at_random = 0.5 / 16  # the standard deviation of a share among 256
    assert abs(np.mean(ones) - 0.5) < 0.01
    assert np.std(ones) < 2.2 * at_random


def test_an_error_while_reading_is_raised() -> None:
    def load(blocks: IntArray, is_local: BoolArray) -> Examples:
        raise OSError("the disk is gone")

    windows = WindowedBatches(load, 100, block_rows=10, window_rows=20, batch_size=5, seed=0)
    with pytest.raises(OSError, match="gone"):
        windows.at(0)
