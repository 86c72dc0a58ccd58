"""The memory of a step depends on the categories it uses, not on the size of the table."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, NetworkSpec, Optimizer, SuperNet
from tabnas.space import Architecture

torch = pytest.importorskip("torch")
CHILD = Architecture((8,))
ROWS = 64


def measure_allocations(categories: int, optimizer: Optimizer) -> list[int]:
    """Return the sizes of all allocations of a step."""
    inputs = Inputs(numeric=2, category_embeddings=[Embedding(categories=categories, dimension=4)])
    spec = NetworkSpec(inputs=inputs, loss="logistic")
    rng = np.random.default_rng(0)
    examples = Examples(
        spec,
        numeric=rng.normal(size=(ROWS, 2)),
        categorical=rng.permutation(ROWS)[:, None] * (categories // ROWS),
        target=rng.integers(0, 2, ROWS),
    )
    net = SuperNet.standalone(CHILD, spec, engine="torch", optimizer=optimizer)
    net.train_step(CHILD, examples, slice(None), 0.01)
    with torch.profiler.profile(profile_memory=True) as profile:
        net.train_step(CHILD, examples, slice(None), 0.01)
    events = [event.cpu_memory_usage for event in profile.events()]
    return sorted(size for size in events if size > 0)


@pytest.mark.parametrize("optimizer", [SGD(), SGD(momentum=0.9), Adam()], ids=str)
def test_a_step_with_a_million_categories_allocates_as_much_as_with_a_thousand(
    optimizer: Optimizer,
) -> None:
    few, many = (measure_allocations(categories, optimizer) for categories in (1_000, 1_000_000))
    assert sum(few) > 0
    assert many == few
