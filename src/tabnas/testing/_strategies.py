"""What every strategy must do, ours and a user's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from tabnas.errors import InexactWarning
from tabnas.feasible import FeasibleSet
from tabnas.space import Budget, CallableCost, Limit, SearchSpace
from tabnas.strategies import Quality, RandomSearch, Strategy, StuckError, explore
from tabnas.types import FloatArray, IntArray

MakeStrategy = Callable[[FeasibleSet, int], Strategy]
"""From a feasible set and a seed to a strategy that was not used yet."""


def strategy_problems(*, inexact: bool = True) -> Iterator[FeasibleSet]:
    """Feasible sets that a strategy should cope with, small ones first.

    Of one member, ragged, with optional layers, with several limits, enumerated, and, if `inexact`,
    known by samples only.
    """
    ragged = SearchSpace([[2, 5, 9], [3, 4, 8, 12]], inputs=11, outputs=2)
    optional = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    widest = CallableCost(lambda a: max(a.widths), name="widest")
    yield FeasibleSet(ragged, Budget(Limit(widest, 3)))  # 2-3 alone
    yield FeasibleSet(ragged, Budget(dense_parameters=100))
    yield FeasibleSet(optional, Budget(parameters=200))
    yield FeasibleSet(optional, Budget(parameters=300, flops=350))
    yield FeasibleSet(ragged, Budget(dense_parameters=100), method="enumeration")
    if inexact:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InexactWarning)
            limit = Limit(CallableCost(lambda a: sum(a.widths), name="units"), 16)
            yield FeasibleSet(optional, Budget(limit), method="monte carlo", samples=500)
            # far below the widest: 4 of 216
            even = SearchSpace.uniform(layers=3, widths=range(4, 28, 4), inputs=11, outputs=2)
            yield FeasibleSet(even, Budget(limit), method="monte carlo", samples=500)


def check_strategy(make: MakeStrategy, *, learns: bool = True, inexact: bool = True) -> None:
    """Raise AssertionError unless the strategy keeps the contract of `tabnas.strategies.Strategy`.

    `learns` says that it should beat random search, `inexact` that it copes with feasible sets that
    are known by samples only.

    >>> from tabnas.strategies import Evolution
    >>> check_strategy(lambda feasible, seed: Evolution(feasible, rng=seed, population=8))
    """
    for feasible in strategy_problems(inexact=inexact):
        strategy = make(feasible, 0)
        assert strategy.feasible is feasible, "a strategy must keep the feasible set it was given"
        assert isinstance(strategy.name, str), "a strategy must have a name"
        check_suggestions(make, feasible)
        check_looks(make, feasible)
        check_recommendations(make, feasible)
    if learns:
        check_progress(make)


def check_suggestions(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Architectures of the space, the same for the same seed, whatever was asked in between."""
    one, other = make(feasible, 3), make(feasible, 3)
    for step in range(15):
        choices, again = one.suggest(), other.suggest()
        assert choices.ndim == 2, "suggestions must be [n, layers]"
        assert choices.shape[1] == feasible.space.depth, "suggestions must be [n, layers]"
        assert len(choices) >= 1, "there must be at least one suggestion"
        assert choices.dtype.kind == "i", "suggestions must be choices, which are integers"
        assert np.array_equal(choices, again), "suggestions must depend on looks and rng alone"
        counts = one.counts(choices)
        assert counts.shape == (len(choices),), "counts must be [n]"
        assert counts.dtype == np.bool_, "counts must be true or false"
        for row in choices[counts]:
            feasible.space.architecture(row)  # raises if it is none
        quality = np.where(counts, additive(choices), np.nan)
        one.update(choices, quality)
        other.update(choices, quality)
        if step % 3 == 0:
            assert one.recommend(2) == one.recommend(2), "recommendations must not change anything"


def check_looks(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Every quality told is a look, NaN is none, and no more are taken than allowed."""
    strategy = make(feasible, 1)
    assert strategy.looks == 0, "a new strategy has looked at nothing"
    choices = strategy.suggest()
    strategy.update(choices, np.full(len(choices), np.nan))
    assert strategy.looks == 0, "NaN stands for no look"
    asked = 0

    def counted(choices: IntArray) -> FloatArray:
        nonlocal asked
        asked += len(choices)
        return additive(choices)

    for allowed in (1, 2, 13):
        try:
            explore(strategy, counted, allowed)
        except StuckError:
            return  # it may find nothing feasible any more, as long as it says so
        assert strategy.looks == asked == allowed, f"there must be {allowed} looks"


def check_recommendations(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Feasible, no more than asked for, none twice: before, amid and after the looks."""

    def check(strategy: Strategy) -> None:
        for n in (1, 3, 1_000):
            named = strategy.recommend(n)
            assert len(named) <= n, "no more may be recommended than asked for"
            assert len(set(named)) == len(named), "none may be recommended twice"
            for architecture in named:
                assert architecture in feasible, f"{architecture} must be feasible"

    noise = np.random.default_rng(0)
    qualities: list[Quality] = [
        additive,
        lambda choices: np.zeros(len(choices)),
        lambda choices: 1e6 * noise.normal(size=len(choices)),
    ]
    for seed, quality in enumerate(qualities):
        strategy = make(feasible, seed)
        check(strategy)
        for looks in (1, 8, 24):
            try:
                explore(strategy, quality, looks)
            except StuckError:
                break
            check(strategy)
            assert strategy.recommend(), "after a look at what is feasible there must be an answer"


def check_progress(make: MakeStrategy, *, looks: int = 200, seeds: int = 3) -> None:
    """On a noiseless additive quality it finds better ones than random search, in the mean."""
    space = SearchSpace.uniform(layers=8, widths=range(4, 36, 4), inputs=10, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=1_600))

    def found(strategy: Strategy) -> float:
        explore(strategy, additive, looks)
        return float(additive(np.array([space.choices(strategy.recommend()[0])]))[0])

    ours = np.mean([found(make(feasible, seed)) for seed in range(seeds)])
    blind = np.mean([found(RandomSearch(feasible, rng=seed)) for seed in range(seeds)])
    assert ours > blind, f"it must beat random search, however found {ours:.3f}, not {blind:.3f}"


def additive(choices: IntArray) -> FloatArray:
    """A quality of [n, layers]: each layer adds its own, with a peak somewhere in the middle."""
    layer = np.arange(choices.shape[1])
    peak = 2 + 3 * layer % 5
    return np.asarray(-((choices - peak) ** 2 / (4.0 + layer)).sum(axis=1))
