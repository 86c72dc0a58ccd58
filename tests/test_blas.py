"""BLAS has one thread while anyone is inside, whoever enters and leaves in whatever order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, Thread, get_ident
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tabnas import Budget, FeasibleSet, SearchSpace, blas
from tabnas.blas import single_threaded_blas
from tabnas.search._additive_model import fit_additive_model
from tabnas.strategies import BayesianOptimization
from tabnas.types import FloatArray, IntArray

USUAL = 3
PATIENCE = 60.0  # seconds, after which a thread that should come is given up


def threads() -> set[int]:
    """The numbers of threads of all libraries for matrices."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """A number of threads that is not the limit, whatever the machine and its environment have."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(USUAL, user_api="blas"):
        assert threads() == {USUAL}
        yield
        assert threads() == {USUAL}


def test_the_limit_holds_inside_and_ends_outside() -> None:
    with single_threaded_blas():
        assert threads() == {1}
    assert threads() == {USUAL}
    with pytest.raises(ZeroDivisionError), single_threaded_blas():
        raise ZeroDivisionError
    assert threads() == {USUAL}


def test_entering_twice_leaves_once_and_for_all() -> None:
    with single_threaded_blas():
        with single_threaded_blas():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {USUAL}


@pytest.mark.parametrize("first_out", [0, 1])
def test_whoever_leaves_last_restores(first_out: int) -> None:
    stacks = [ExitStack(), ExitStack()]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        pools = [one, other]
        for pool, stack in zip(pools, stacks, strict=True):
            pool.submit(stack.enter_context, single_threaded_blas()).result()
            assert threads() == {1}
        pools[first_out].submit(stacks[first_out].close).result()
        assert threads() == {1}
        pools[1 - first_out].submit(stacks[1 - first_out].close).result()
    assert threads() == {USUAL}


def test_many_threads_in_any_order() -> None:
    def work(seed: int) -> bool:
        rng, held = random.Random(seed), []
        for _ in range(6):
            with single_threaded_blas():
                held.append(threads() == {1})
                if rng.random() < 0.5:
                    with single_threaded_blas():
                        held.append(threads() == {1})
                held.append(threads() == {1})
        return all(held)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert not blas._limited


class _Library:
    """A library with a number of threads for all, and no controlling thread, as before 3.8."""

    internal_api = "mkl"

    def __init__(self, name: str) -> None:
        self.filepath, self.num_threads = name, 8

    def set_num_threads(self, number: int) -> None:
        self.num_threads = number


class _OfEachThread(_Library):
    """OpenBLAS on OpenMP: every thread has a number of its own."""

    internal_api = "openblas"
    threading_layer = "openmp"

    def __init__(self, name: str) -> None:
        self.filepath = name
        self._numbers: dict[int, int] = {}

    @property
    def num_threads(self) -> int:  # type: ignore[override]
        return self._numbers.get(get_ident(), 8)

    def set_num_threads(self, number: int) -> None:
        self._numbers[get_ident()] = number


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[_Library]:
    """The libraries that there are."""
    libraries: list[_Library] = []

    class Controller:
        def select(self, *, user_api: str) -> SimpleNamespace:
            assert user_api == "blas"
            return SimpleNamespace(lib_controllers=[*libraries])

    monkeypatch.setattr(blas, "ThreadpoolController", Controller)
    return libraries


def test_what_was_loaded_since_is_limited_by_the_next_and_restored(loaded: list[_Library]) -> None:
    early, late = _Library("early"), _Library("late")
    loaded.append(early)
    with single_threaded_blas():
        loaded.append(late)
        with single_threaded_blas():
            assert (early.num_threads, late.num_threads) == (1, 1)
        assert early.num_threads == 1
    assert (early.num_threads, late.num_threads) == (8, 8)


def test_where_each_thread_has_a_number_each_is_limited_and_restored(
    loaded: list[_Library],
) -> None:
    library = _OfEachThread("openmp")
    loaded.append(library)

    def work() -> tuple[int, int]:
        with single_threaded_blas():
            inside = library.num_threads
        return inside, library.num_threads

    with single_threaded_blas(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == (1, 8)
        assert library.num_threads == 1
    assert library.num_threads == 8


# -- those who use it ------------------------------------------------------------------------------

SPACE = SearchSpace.uniform(layers=2, widths=range(4, 36, 4), inputs=10, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=600))


class _History:
    """Looks at two architectures."""

    def flatten(self) -> tuple[IntArray, IntArray, FloatArray]:
        return np.array([0, 0]), np.array([[0, 1], [1, 0]]), np.array([0.1, 0.2])


def test_a_search_and_a_strategy_in_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The additive model enters first and leaves first; Bayesian optimisation is inside longer."""
    entered, leave = [Event(), Event()], [Event(), Event()]
    seen: list[set[int]] = []
    solve = np.linalg.solve

    def slow_solve(a: FloatArray, b: FloatArray) -> FloatArray:
        entered[0].set()
        assert leave[0].wait(PATIENCE)
        return np.asarray(solve(a, b))

    def slow_plan(self: BayesianOptimization) -> IntArray:
        entered[1].set()
        assert leave[1].wait(PATIENCE)
        seen.append(threads())
        return FEASIBLE.members[:1]

    monkeypatch.setattr(np.linalg, "solve", slow_solve)
    monkeypatch.setattr(BayesianOptimization, "_select_batch", slow_plan)
    strategy = BayesianOptimization(FEASIBLE, rng=0, initial=1)
    strategy.update(FEASIBLE.members[:1], np.array([0.5]))
    with threadpool_limits(USUAL, user_api="blas"):  # of SciPy's own, too, which is loaded now
        additive = Thread(target=fit_additive_model, args=(SPACE, _History()))
        bayesian = Thread(target=strategy.plan)
        for thread, event in zip((additive, bayesian), entered, strict=True):
            thread.start()
            assert event.wait(PATIENCE)
        leave[0].set()
        additive.join(PATIENCE)
        leave[1].set()
        bayesian.join(PATIENCE)
        assert seen == [{1}]
        assert threads() == {USUAL}
