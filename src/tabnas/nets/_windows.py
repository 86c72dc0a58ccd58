"""Batches of rows that are read from elsewhere, some blocks of them in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate

import numpy as np

from tabnas.nets._batches import Batch
from tabnas.nets._examples import Examples
from tabnas.streams import stream
from tabnas.types import BoolArray, IntArray

Load = Callable[[IntArray, BoolArray], Examples]
"""The rows of some blocks, by number, one block after the other; of those that nobody here looks
at, anything."""


class Windows:
    """All rows once an epoch, in an order that is random enough.

    Blocks of rows come in a random order, anew in every epoch. As many as memory bears are a
    *window*, within which rows are shuffled; meanwhile the next window is read. Rows that stood
    together in the table are apart as far as their blocks are, and their neighbours in a batch come
    from all over it: with some hundreds of blocks in a window, a table sorted by its label is
    learned from as well as a shuffled one (tests/runs/test_stored.py).

    Each worker has blocks of its own in a window, so that of several processes each reads those of
    its own workers only, `own`. The last batch of a window is as small as it comes. What is read
    when depends on seed and step alone.
    """

    def __init__(
        self,
        load: Load,
        rows: int,
        *,
        block_rows: int,
        window_rows: int,
        batch_size: int,
        seed: int,
        workers: int = 1,
        own: Collection[int] | None = None,
    ) -> None:
        self._load = load
        self._own = range(workers) if own is None else own
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
        self._here: tuple[int, int] | None = None  # epoch and window in memory
        self._examples: Examples
        self._order: list[IntArray]
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tabnas-window")
        self._ahead: tuple[tuple[int, int], Future[Examples]] | None = None

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row was seen once."""
        return self._ends[-1]

    def at(self, step: int) -> Batch:
        """The batch of a step, counted from 0 over all epochs."""
        epoch, index = divmod(step, self.steps_per_epoch)
        window = int(np.searchsorted(self._ends, index, side="right"))
        if self._here != (epoch, window):
            self._move_to(epoch, window)
        begin = (index - (self._ends[window - 1] if window else 0)) * self._batch_size
        parts = (order[begin : begin + self._batch_size] for order in self._order)
        return Batch(self._examples, tuple(part for part in parts if len(part)))

    def _move_to(self, epoch: int, window: int) -> None:
        if self._here is None or len(self._ends) > 1:
            self._examples = self._read(epoch, window)
        rng = stream(self._seed, f"window/{epoch + 1}/{window + 1}")
        sizes = self._sizes(window)
        starts = accumulate(sizes, initial=0)
        self._order = [
            start + rng.permutation(size) for start, size in zip(starts, sizes, strict=False)
        ]
        self._here = (epoch, window)

    def _read(self, epoch: int, window: int) -> Examples:
        """The rows of a window; the next one is read while these are in use."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == (epoch, window):
            examples = ahead[1].result()
        else:
            examples = self._load(*self._wanted(epoch, window))
        following = divmod(epoch * len(self._ends) + window + 1, len(self._ends))
        if len(self._ends) > 1:
            self._ahead = following, self._reader.submit(self._load, *self._wanted(*following))
        return examples

    # -- which blocks ------------------------------------------------------------------------------

    def _wanted(self, epoch: int, window: int) -> tuple[IntArray, BoolArray]:
        """The blocks of a window, worker by worker, and which of them are looked at here."""
        order = np.arange(self._full)
        if len(self._ends) > 1:  # else all rows are in memory, and stay there
            order = stream(self._seed, f"blocks/{epoch + 1}").permutation(self._full)
        if self._rest:  # the block that is not full is the last, so that every epoch is as long
            order = np.append(order, self._full)
        blocks = order[window * self._window_blocks : (window + 1) * self._window_blocks]
        dealt = [blocks[worker :: self._workers] for worker in range(self._workers)]
        wanted = [np.full(len(part), worker in self._own) for worker, part in enumerate(dealt)]
        return np.concatenate(dealt), np.concatenate(wanted)

    def _sizes(self, window: int) -> list[int]:
        """The rows of each worker in a window; never fewer than those of the next worker."""
        begin = window * self._window_blocks
        count = min(self._window_blocks, self._blocks - begin)
        sizes = []
        for worker in range(self._workers):
            places = range(begin + worker, begin + count, self._workers)
            short = self._block_rows - self._rest if self._rest and self._full in places else 0
            sizes.append(len(places) * self._block_rows - short)
        return sizes

    def _steps_in(self, window: int) -> int:
        return -(-self._sizes(window)[0] // self._batch_size)
