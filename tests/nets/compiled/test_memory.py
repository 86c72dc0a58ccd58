"""Kernels write through addresses, and never outside the buffers they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.nets import (
    SGD,
    Adam,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    SuperNet,
    TopClasses,
    top_classes,
)
from tabnas.nets.compiled import _engine, _helper_threads
from tabnas.space import Architecture, SearchSpace
from tabnas.threads import limit_threads
from tests.problems import spaces, valid_choices

GUARD = 4_096  # bytes checked before and after every buffer
MARK = 0xA5


class GuardedNumpy:
    """Replaces NumPy inside the engine, and puts every buffer between two marked zones."""

    def __init__(self) -> None:
        self.buffers: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any, dtype: Any = np.float64) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = np.full(size + 2 * GUARD, MARK, np.uint8)
        self.buffers.append(buffer)
        inside = buffer[GUARD : GUARD + size].view(dtype).reshape(shape)
        inside[...] = 0
        return inside

    def full(self, shape: Any, value: Any, dtype: Any = None) -> np.ndarray:
        array = self.zeros(shape, np.asarray(value, dtype).dtype)
        array[...] = value
        return array

    def is_intact(self) -> bool:
        return all(
            (buffer[:GUARD] == MARK).all() and (buffer[-GUARD:] == MARK).all()
            for buffer in self.buffers
        )


# strides avoid multiples of 128, so widths just below and above them are the critical ones
near_128 = st.sampled_from([1, 7, 8, 9, 120, 121, 127, 128, 129, 136, 137, 144, 248, 256, 264])


@st.composite
def problems(draw: st.DrawFn) -> tuple[SearchSpace, NetworkSpec]:
    space = draw(spaces(max_layers=3, max_widths=3))
    candidates = space.widths
    if draw(st.booleans()):
        layers = draw(st.integers(1, 3))
        width_lists = st.lists(near_128, min_size=1, max_size=3, unique=True)
        candidates = tuple(tuple(draw(width_lists)) for _ in range(layers))
    dimensions = draw(st.lists(st.one_of(st.integers(1, 9), near_128), max_size=2))
    numeric = draw(st.one_of(st.integers(0 if dimensions else 1, 40), near_128))
    numbers_of_knots = draw(st.lists(st.sampled_from([0, 0, 2, 3, 8, 9]), max_size=numeric))
    knots = [np.linspace(-1.0, 1.0, number) for number in numbers_of_knots]
    inputs = Inputs(
        numeric=numeric,
        category_embeddings=[Embedding(categories=5, dimension=d) for d in dimensions],
        knots=[*knots, *[()] * (numeric - len(knots))],
    )
    table_dimensions = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))
    loss = draw(st.sampled_from(["logistic", "softmax", "squared_error"]))
    outputs = draw(st.one_of(st.integers(2, 9), near_128.filter(lambda n: n > 1), st.just(1_000)))
    outputs = 1 if loss == "logistic" else outputs
    space = SearchSpace(
        candidates,
        inputs=inputs.width,
        outputs=outputs,
        numeric_embeddings=inputs.numeric_embeddings(table_dimensions),
    )
    return space, NetworkSpec(inputs=inputs, loss=loss, outputs=outputs)


@given(
    problems(),
    st.sampled_from([SGD(), SGD(momentum=0.9), Adam()]),
    st.sampled_from([1, 2]),
    st.integers(1, 40),
    st.integers(0, 1_000),
    st.sampled_from(["", "probabilities", "top classes"]),
    st.sampled_from([1, 2, 5]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_is_written_outside_the_buffers(
    monkeypatch: pytest.MonkeyPatch,
    problem: tuple[SearchSpace, NetworkSpec],
    optimizer: Any,
    workers: int,
    batch: int,
    seed: int,
    soft: str,
    threads: int,
) -> None:
    monkeypatch.setattr(_engine, "WORK_PER_THREAD", 1)
    monkeypatch.setattr(_engine, "WORK_PER_POLL", 1e-9)  # waits for all helpers
    monkeypatch.setattr(_helper_threads, "MIN_CORE_SHARE", 0.0)  # also on a busy machine
    space, spec = problem
    rng = np.random.default_rng(seed)
    examples = make_examples(spec, rng, rows=60, soft=soft)
    guarded = GuardedNumpy()
    monkeypatch.setattr(_engine, "np", guarded)
    net = SuperNet(space, spec, optimizer=optimizer, workers=workers)
    children = valid_choices(space)
    for _ in range(6):
        chosen = [children[k] for k in rng.integers(len(children), size=workers)]
        rows = [rng.integers(60, size=batch) for _ in chosen]
        with limit_threads(threads):
            net.train_steps(chosen, examples, rows, [0.01] * workers)
            net.train_step(chosen[0], examples, slice(0, batch), 0.01)
            net.train_step_workers(chosen, examples, rows, 0.01)
            net.loss(chosen[-1], examples, rows[-1])
            net.loss(chosen[-1], examples, rng.integers(60, size=1_100))
            net.logits(chosen[-1], examples)
            net.gradients(chosen[-1], examples, rows[-1])
        assert guarded.is_intact()


def make_examples(
    spec: NetworkSpec, rng: np.random.Generator, rows: int, soft: str = ""
) -> Examples:
    target: Any = {
        "logistic": rng.integers(2, size=rows),
        "softmax": rng.integers(spec.outputs, size=rows),
        "squared_error": rng.normal(size=(rows, spec.outputs)),
    }[spec.loss]
    if soft and spec.loss == "softmax":
        answers = rng.dirichlet(np.ones(spec.outputs), rows)
        k = min(spec.outputs, 7)
        target = answers if soft == "probabilities" else top_classes(answers, k)
    return Examples(
        spec,
        numeric=rng.normal(size=(rows, spec.inputs.numeric)),
        categorical=rng.integers(5, size=(rows, len(spec.inputs.category_embeddings))),
        target=target,
        weight=rng.random(rows) + 0.5,
    )


@pytest.mark.parametrize("columns", [1, 6, 9])
def test_one_row_of_a_strided_array(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """NumPy calls such a row contiguous, but its stride is that of the original array."""
    spec = NetworkSpec(inputs=Inputs(numeric=columns), loss="squared_error")
    table = np.random.default_rng(0).normal(size=(10, columns)).astype(np.float32)
    guarded = GuardedNumpy()
    monkeypatch.setattr(_engine, "np", guarded)
    net = SuperNet.standalone("4", spec)
    strided = Examples(spec, numeric=table[::3][1:2], target=[0.5])
    contiguous = Examples(spec, numeric=table[3:4].copy(), target=[0.5])
    rows = np.array([0])
    child = net.space.architecture([0])
    assert net.logits(child, strided, rows) == net.logits(child, contiguous, rows)
    net.train_step(child, strided, rows, 0.01)
    assert guarded.is_intact()


@pytest.mark.parametrize(
    ("inputs", "architecture", "widths", "outputs"),
    [
        (Inputs(numeric=4), "128", [128, 136], 1),
        (
            Inputs(numeric=8, category_embeddings=[Embedding(categories=5, dimension=8)] * 16),
            "200",
            [200],
            1,
        ),
        (Inputs(numeric=120), "linear", [0, 8], 1_000),
    ],
)
def test_strides_that_do_not_grow_with_the_width(
    monkeypatch: pytest.MonkeyPatch,
    inputs: Inputs,
    architecture: str,
    widths: list[int],
    outputs: int,
) -> None:
    spec = NetworkSpec(
        inputs=inputs, loss="logistic" if outputs == 1 else "softmax", outputs=outputs
    )
    guarded = GuardedNumpy()
    monkeypatch.setattr(_engine, "np", guarded)
    net = SuperNet(SearchSpace([widths], inputs=inputs.width, outputs=outputs), spec)
    examples = make_examples(spec, np.random.default_rng(0), rows=512)
    child = Architecture.parse(architecture)
    net.train_step(child, examples, slice(0, 512), 0.01)
    net.loss(child, examples)
    assert guarded.is_intact()


def test_buffers_are_valid_after_a_failed_reservation(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = NetworkSpec(inputs=Inputs(numeric=3), loss="squared_error")
    net = SuperNet.standalone("4", spec)
    examples = make_examples(spec, np.random.default_rng(0), rows=60)

    class NoMemory(GuardedNumpy):
        def zeros(self, shape: Any, dtype: Any = np.float64) -> np.ndarray:
            raise MemoryError

    child = net.space.architecture([0])
    with monkeypatch.context() as patch:
        patch.setattr(_engine, "np", NoMemory())
        with pytest.raises(MemoryError):
            net.train_step(child, examples, slice(0, 50), 0.01)
    guarded = GuardedNumpy()
    monkeypatch.setattr(_engine, "np", guarded)
    net.train_step(child, examples, slice(0, 40), 0.01)
    assert guarded.buffers  # new buffers, larger than those for one row
    assert guarded.is_intact()


def test_arrays_that_are_replaced_are_noticed() -> None:
    inputs = Inputs(category_embeddings=[Embedding(categories=5, dimension=2)])
    spec = NetworkSpec(inputs=inputs, loss="softmax", outputs=3)
    categories, labels = np.zeros((4, 1), np.int32), np.zeros(4, np.int32)
    top = TopClasses(np.zeros((4, 2), np.int32), np.full((4, 2), 0.5, np.float32))
    net = SuperNet.standalone("4", spec)
    child = net.space.architecture([0])
    for array, column, wrong, target in (
        (categories, 0, 1_000_000_000, labels),
        (labels.reshape(4, 1), 0, -7, labels),
        (top.classes, 1, 3, top),
    ):
        examples = Examples(spec, categorical=categories, target=target)
        array[:, column] = wrong
        with pytest.raises(TabNASError, match="have changed since they were checked"):
            net.train_step(child, examples, slice(0, 4), 0.01)
        with pytest.raises(TabNASError, match="have changed since they were checked"):
            net.loss(child, examples)
        array[:] = 0
        assert np.isfinite(net.train_step(child, examples, slice(0, 4), 0.01))
