"""Several threads in one step: the same bits as one, whatever happens to the helpers."""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings
import weakref
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, NetworkSpec, SuperNet
from tabnas.nets.compiled import _engine, _helper_threads
from tabnas.nets.compiled._helper_threads import run_with_helpers
from tabnas.nets.compiled._teams import ANNOUNCED, ARRIVED, CELL, FIRST_MEMBER, OVER, PATIENCE
from tabnas.space import Architecture, SearchSpace
from tabnas.threads import limit_threads
from tests.nets.compiled.test_memory import make_examples, problems
from tests.problems import valid_choices

SPEC = NetworkSpec(
    inputs=Inputs(numeric=3, category_embeddings=[Embedding(categories=5, dimension=2)]),
    loss="softmax",
    outputs=3,
)
CHILD = Architecture((9,))


@pytest.fixture
def always_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the smallest networks use all threads, and wait for each of them."""
    monkeypatch.setattr(_engine, "WORK_PER_THREAD", 1)
    monkeypatch.setattr(_engine, "WORK_PER_POLL", 1e-9)
    monkeypatch.setattr(_helper_threads, "MIN_CORE_SHARE", 0.0)
    monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Record the cells of every call with helpers."""
    recorded: list[np.ndarray] = []

    class RecordingNumpy:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def zeros(self, *given: Any) -> np.ndarray:
            recorded.append(np.zeros(*given))
            return recorded[-1]

    monkeypatch.setattr(_helper_threads, "np", RecordingNumpy())
    return recorded


def make_rows(rows: int = 60) -> Examples:
    return make_examples(SPEC, np.random.default_rng(0), rows)


def run(
    problem: tuple[SearchSpace, NetworkSpec], optimizer: Any, batch: int, seed: int, soft: str
) -> dict[str, np.ndarray]:
    """Return the results of steps and evaluations of all kinds."""
    space, spec = problem
    rng = np.random.default_rng(seed)
    examples = make_examples(spec, rng, rows=60, soft=soft)
    net = SuperNet(space, spec, optimizer=optimizer, workers=3)
    children, losses = valid_choices(space), []
    for _ in range(3):
        chosen = [children[k] for k in rng.integers(len(children), size=3)]
        rows = [rng.integers(60, size=1 + int(rng.integers(batch))) for _ in chosen]
        losses += net.train_steps(chosen, examples, rows, [0.01, 0.02, 0.03])
        losses += net.train_step_workers(chosen, examples, rows, 0.01)
        losses.append(net.train_step(chosen[0], examples, slice(0, batch), 0.01))
        losses.append(net.loss(chosen[1], examples, rng.integers(60, size=1_100)))
    logits = net.logits(chosen[2], examples, rng.integers(60, size=1_100))
    gradients = net.gradients(chosen[2], examples)
    return {"losses": np.array(losses), "logits": logits} | gradients | net.state_dict()


@given(
    problems(),
    st.sampled_from([SGD(), SGD(momentum=0.9), Adam(weight_decay=0.1)]),
    st.integers(1, 60),
    st.integers(0, 1_000),
    st.sampled_from(["", "probabilities", "top classes"]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("always_helped")
def test_the_bits_do_not_depend_on_the_number_of_threads(
    cells: list[np.ndarray],
    problem: tuple[SearchSpace, NetworkSpec],
    optimizer: Any,
    batch: int,
    seed: int,
    soft: str,
) -> None:
    cells.clear()
    with limit_threads(1):
        expected = run(problem, optimizer, batch, seed, soft)
    assert not cells
    for threads in (2, 3, 16):
        with limit_threads(threads):
            actual = run(problem, optimizer, batch, seed, soft)
        assert actual.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(actual[name], array, err_msg=name)
        for one in cells:
            helpers = one.size // CELL - FIRST_MEMBER - 1
            assert 1 <= helpers < threads
            assert one[ARRIVED * CELL] == helpers or not one[PATIENCE * CELL]


@pytest.mark.usefixtures("always_helped")
def test_helpers_are_reused_and_not_more_than_the_threads(cells: list[np.ndarray]) -> None:
    net, examples = SuperNet.standalone(CHILD, SPEC, workers=4), make_rows()
    quarters = [slice(15 * i, 15 * i + 15) for i in range(4)]

    def take_steps() -> None:
        for _ in range(20):
            net.train_step(CHILD, examples, slice(0, 50), 0.01)
            net.train_step_workers([CHILD] * 4, examples, quarters, 0.01)

    with limit_threads(1):
        take_steps()
    assert not cells
    with limit_threads(3):
        take_steps()
        before = count_helpers()
        take_steps()
    assert {one.size // CELL - FIRST_MEMBER - 1 for one in cells} == {2}
    assert count_helpers() == before


def count_helpers() -> int:
    return sum(thread.name == "tabnas-helper" for thread in threading.enumerate())


def test_small_networks_have_no_helpers(
    cells: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)
    net, examples = SuperNet.standalone("64-32", SPEC), make_rows(1_100)
    with limit_threads(4):
        net.train_step(Architecture((64, 32)), examples, slice(0, 64), 0.01)
        net.loss(Architecture((64, 32)), examples)
        assert not cells
        wide = SuperNet.standalone("1000-1000", SPEC)
        wide.train_step(Architecture((1_000, 1_000)), examples, slice(0, 64), 0.01)
        assert len(cells) == 1


@pytest.mark.usefixtures("always_helped")
@pytest.mark.parametrize("row", [0, 55])
def test_an_error_in_one_part_is_raised_and_helpers_can_be_used_again(row: int) -> None:
    examples, net = make_rows(), SuperNet.standalone(CHILD, SPEC, workers=2)
    many = np.arange(1_200) % 60
    with limit_threads(4):
        before = net.state_dict()
        for array in (examples.categorical, examples.labels):
            value = int(array[row, 0])
            array[row] = 99
            for call in (
                lambda: net.train_step(CHILD, examples, slice(0, 60), 0.01),
                lambda: net.train_step_workers(
                    [CHILD] * 2, examples, [slice(0, 30), slice(30, 60)], 0.01
                ),
                lambda: net.loss(CHILD, examples, many),
            ):
                with pytest.raises(TabNASError, match="have changed since they were checked"):
                    call()
            array[row] = value
        for name, array in net.state_dict().items():
            np.testing.assert_array_equal(array, before[name])
        assert np.isfinite(net.train_step(CHILD, examples, slice(0, 60), 0.01))
        assert np.isfinite(net.loss(CHILD, examples, many))


def test_nobody_waits_for_a_helper_that_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "WORK_PER_THREAD", 1)
    monkeypatch.setattr(_engine, "WORK_PER_POLL", 10**12)
    monkeypatch.setattr(_helper_threads, "_idle", deque())
    monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)
    busy, examples = threading.Event(), make_rows()
    late, alone = (SuperNet.standalone(CHILD, SPEC) for _ in range(2))
    helper = _helper_threads._take_helper()
    helper.calls.put(busy.wait)
    _helper_threads._idle.append(helper)
    with limit_threads(2):
        loss = late.train_step(CHILD, examples, slice(0, 60), 0.01)
        late_loss = late.loss(CHILD, examples, np.arange(1_100) % 60)
    busy.set()
    with limit_threads(1):
        assert loss == alone.train_step(CHILD, examples, slice(0, 60), 0.01)
        assert late_loss == alone.loss(CHILD, examples, np.arange(1_100) % 60)


def test_helpers_rest_while_other_processes_use_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)
    monkeypatch.setattr(_helper_threads, "REST_SECONDS", 1_000.0)
    with limit_threads(2):
        assert run_with_helpers(lambda helper, cells: time.sleep(0.2) or 1, 1, patience=0) == 1
        assert run_with_helpers(lambda helper, cells: 1, 1, patience=0) is None
        monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)
        assert run_with_helpers(lambda helper, cells: 1, 1, patience=0) == 1


def test_an_interrupt_dismisses_the_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_helper_threads, "_resting_until", 0.0)
    monkeypatch.setattr(_helper_threads, "MIN_CORE_SHARE", 0.0)
    finished: list[int] = []

    def call(helper: int, cells: np.ndarray) -> int:
        if helper == 0:
            raise KeyboardInterrupt
        while cells[ANNOUNCED * CELL] != OVER:
            time.sleep(0.001)
        finished.append(helper)
        return 0

    with limit_threads(3):
        with pytest.raises(KeyboardInterrupt):
            run_with_helpers(call, 2, patience=0)
        end = time.monotonic() + 10.0
        while len(finished) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        assert sorted(finished) == [1, 2]
        assert run_with_helpers(lambda helper, cells: 7, 2, patience=0) == 7


@pytest.mark.usefixtures("always_helped")
def test_helpers_do_not_keep_a_network_alive() -> None:
    net = SuperNet.standalone(CHILD, SPEC)
    with limit_threads(2):
        net.train_step(CHILD, make_rows(), slice(0, 60), 0.01)
    engine = weakref.ref(net._engine)
    del net
    end = time.monotonic() + 10.0
    while engine() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert engine() is None


@pytest.mark.usefixtures("always_helped")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    net, examples = SuperNet.standalone(CHILD, SPEC), make_rows()
    with limit_threads(2):
        net.train_step(CHILD, examples, slice(0, 60), 0.01)
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
            child = os.fork()
        loss = net.train_step(CHILD, examples, slice(0, 60), 0.01)
        if child == 0:
            os.write(write, np.float64(loss).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        assert np.frombuffer(os.read(read, 8)) == loss
