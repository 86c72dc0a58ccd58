"""Batches of rows that are read from disk, some blocks of them in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate

import numpy as np

from tabnas.nets._examples import Batch, Examples
from tabnas.streams import stream
from tabnas.types import BoolArray, IntArray

LoadBlocks = Callable[[IntArray, BoolArray], Examples]
"""Takes block numbers and a mask, and returns the rows of these blocks in that order. The rows of
blocks that the mask leaves out may be anything: this process does not use them."""


class WindowedBatches:
    """Batches of all rows once an epoch, in a nearly random order.

    Every epoch shuffles the blocks of rows. As many blocks as fit into memory are a *window*, in
    which rows are shuffled; the next window is read in the meantime. Rows of one block stay in one
    window, but the other rows of their batches come from all over the table: with some hundreds of
    blocks in a window, training on a table that is sorted by its label works as well as on a
    shuffled one (tests/runs/prepare/test_stored_data.py).

    The blocks of a window are divided among the workers, so that each of several processes reads
    only those of its `local_workers`. The last batch of a window may be smaller. What is
    read when depends only on seed and step.
    """

    def __init__(
        self,
        load: LoadBlocks,
        rows: int,
        *,
        block_rows: int,
        window_rows: int,
        batch_size: int,
        seed: int,
        workers: int = 1,
        local_workers: Collection[int] | None = None,
    ) -> None:
        self._load = load
        self._local_workers = range(workers) if local_workers is None else local_workers
        self._block_rows = block_rows
        self._batch_size = batch_size
        self._seed = seed
        self._workers = workers
        self._full, self._rest = divmod(rows, block_rows)
        self._blocks = self._full + bool(self._rest)
        rounds = max(1, window_rows // (block_rows * workers))
        self._window_blocks = rounds * workers
        windows = -(-self._blocks // self._window_blocks)
        self._ends = list(accumulate(self._steps_in(window) for window in range(windows)))
        self._current: tuple[int, int] | None = None  # epoch and window in memory
        self._examples: Examples
        self._order: list[IntArray]
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tabnas-window")
        self._ahead: tuple[tuple[int, int], Future[Examples]] | None = None

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which every row is used once."""
        return self._ends[-1]

    def at(self, step: int) -> Batch:
        """Return the batch of a step, counted from 0 over all epochs."""
        epoch, index = divmod(step, self.steps_per_epoch)
        window = int(np.searchsorted(self._ends, index, side="right"))
        if self._current != (epoch, window):
            self._enter_window(epoch, window)
        begin = (index - (self._ends[window - 1] if window else 0)) * self._batch_size
        parts = (order[begin : begin + self._batch_size] for order in self._order)
        return Batch(self._examples, tuple(part for part in parts if len(part)))

    def steps_ahead(self, step: int) -> int:
        """Return how many steps are left in the window of a step, this one included."""
        index = step % self.steps_per_epoch
        return self._ends[int(np.searchsorted(self._ends, index, side="right"))] - index

    def _enter_window(self, epoch: int, window: int) -> None:
        if self._current is None or len(self._ends) > 1:
            self._examples = self._read(epoch, window)
        rng = stream(self._seed, f"window/{epoch + 1}/{window + 1}")
        sizes = self._sizes(window)
        starts = accumulate(sizes, initial=0)
        self._order = [
            start + rng.permutation(size) for start, size in zip(starts, sizes, strict=False)
        ]
        self._current = (epoch, window)

    def _read(self, epoch: int, window: int) -> Examples:
        """Return the rows of a window, and start reading the next one."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == (epoch, window):
            examples = ahead[1].result()
        else:
            examples = self._load(*self._select_blocks(epoch, window))
        following = divmod(epoch * len(self._ends) + window + 1, len(self._ends))
        if len(self._ends) > 1:
            self._ahead = (
                following,
                self._reader.submit(self._load, *self._select_blocks(*following)),
            )
        return examples

    # -- which blocks ------------------------------------------------------------------------------

    def _select_blocks(self, epoch: int, window: int) -> tuple[IntArray, BoolArray]:
        """Return the blocks of a window, worker by worker, and which of them are used here."""
        order = np.arange(self._full)
        if len(self._ends) > 1:  # else all rows are in memory, and stay there
            order = stream(self._seed, f"blocks/{epoch + 1}").permutation(self._full)
        if self._rest:  # that block comes last, so that all epochs have equally many steps
            order = np.append(order, self._full)
        blocks = order[window * self._window_blocks : (window + 1) * self._window_blocks]
        by_worker = [blocks[worker :: self._workers] for worker in range(self._workers)]
        is_local = [
            np.full(len(part), worker in self._local_workers)
            for worker, part in enumerate(by_worker)
        ]
        return np.concatenate(by_worker), np.concatenate(is_local)

    def _sizes(self, window: int) -> list[int]:
        """Return the number of rows of each worker in a window, in descending order."""
        begin = window * self._window_blocks
        count = min(self._window_blocks, self._blocks - begin)
        sizes = []
        for worker in range(self._workers):
            positions = range(begin + worker, begin + count, self._workers)
            short = self._block_rows - self._rest if self._rest and self._full in positions else 0
            sizes.append(len(positions) * self._block_rows - short)
        return sizes

    def _steps_in(self, window: int) -> int:
        return -(-self._sizes(window)[0] // self._batch_size)
