"""How long parts of a run take: a training step, measured, and the boosted trees, estimated."""

from __future__ import annotations

from time import perf_counter

from tabnas.feasible import FeasibleSet
from tabnas.model import MAX_TREE_ROWS
from tabnas.nets import Optimizer, SuperNet
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.streams import stream

TIMING_SECONDS = 0.15
"""How long the time of a step is measured."""

# The time of scikit-learn's boosted trees on one core, for each tree and each of its cells.
TREES = 100  # for each output
TREE_SECONDS, TREE_CELL_SECONDS = 4e-3, 6e-9

SERIAL_SHARE = 0.3
"""The share of a run's work that one thread does while others wait. It is a cautious guess, since a
time limit should hold: benchmarks/cores.py measures runs."""


def estimate_speedup(threads: int) -> float:
    """Return how many times the work of one thread a run does in the same time: Amdahl's law.

    >>> [round(estimate_speedup(threads), 1) for threads in (1, 2, 16)]
    [1.0, 1.5, 2.9]
    """
    return 1 / (SERIAL_SHARE + (1 - SERIAL_SHARE) / threads)


def time_step(
    data: PreparedData, feasible: FeasibleSet, batch_size: int, optimizer: Optimizer, engine: str
) -> float:
    """Measure the seconds of a training step of the largest feasible network."""
    largest = feasible.most_expensive()
    net = SuperNet.standalone(largest, data.spec, optimizer=optimizer, engine=engine)
    examples = data.train_in_memory.examples
    rows = stream(0, "pace").integers(len(examples), size=min(batch_size, len(examples)))
    net.train_step(largest, examples, rows, 0.0)  # compiles
    start, steps = perf_counter(), 0
    while perf_counter() - start < TIMING_SECONDS:
        net.train_step(largest, examples, rows, 0.0)
        steps += 1
    return (perf_counter() - start) / steps


def estimate_comparison_seconds(data: PreparedData, settings: RunSettings) -> float:
    """Return about how long the reference models of the test rows take to train."""
    if data.test is None or not settings.reference_models:
        return 0.0
    columns = len(data.encoder.features) + len(data.encoder.n_categories)
    cells = min(len(data.train), MAX_TREE_ROWS) * columns
    return TREES * data.spec.outputs * (TREE_SECONDS + TREE_CELL_SECONDS * cells)
