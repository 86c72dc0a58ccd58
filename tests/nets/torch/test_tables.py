"""A step costs what it uses of a table, not what the table has."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, Optimizer, SuperNet, Task
from tabnas.space import Architecture

torch = pytest.importorskip("torch")
CHILD = Architecture((8,))
ROWS = 64


def allocated(categories: int, optimizer: Optimizer) -> list[int]:
    """Bytes of everything that a step makes, piece by piece."""
    inputs = Inputs(numeric=2, embeddings=[Embedding(categories=categories, dimension=4)])
    task = Task(inputs=inputs, loss="logistic")
    rng = np.random.default_rng(0)
    examples = Examples(
        task,
        numeric=rng.normal(size=(ROWS, 2)),
        categorical=rng.permutation(ROWS)[:, None] * (categories // ROWS),
        target=rng.integers(0, 2, ROWS),
    )
    net = SuperNet.standalone(CHILD, task, engine="torch", optimizer=optimizer)
    net.train_step(CHILD, examples, slice(None), 0.01)
    with torch.profiler.profile(profile_memory=True) as watched:
        net.train_step(CHILD, examples, slice(None), 0.01)
    events = [event.cpu_memory_usage for event in watched.events()]
    return sorted(size for size in events if size > 0)


@pytest.mark.parametrize("optimizer", [SGD(), SGD(momentum=0.9), Adam()], ids=str)
def test_a_million_rows_cost_as_much_as_a_thousand(optimizer: Optimizer) -> None:
    few, many = (allocated(categories, optimizer) for categories in (1_000, 1_000_000))
    assert sum(few) > 0
    assert many == few
