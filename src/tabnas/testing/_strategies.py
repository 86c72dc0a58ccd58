"""The conformance suite of strategies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from tabnas.errors import InexactWarning
from tabnas.feasible import FeasibleSet
from tabnas.space import Budget, CallableCost, Limit, NumericEmbeddings, SearchSpace
from tabnas.strategies import Objective, RandomSearch, Strategy, StuckError, optimize
from tabnas.types import FloatArray, IntArray

MakeStrategy = Callable[[FeasibleSet, int], Strategy]
"""A function from a feasible set and a seed to a new strategy."""


def strategy_problems(*, inexact: bool = True) -> Iterator[FeasibleSet]:
    """Yield feasible sets for the checks, small ones first.

    They have one member, are ragged, have optional layers, several limits, a limit on a maximum or
    numeric embeddings, are enumerated and, if `inexact`, estimated from samples.
    """
    ragged = SearchSpace([[2, 5, 9], [3, 4, 8, 12]], inputs=11, outputs=2)
    optional = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 1, 4))
    embedded = SearchSpace(
        [[2, 5, 9], [0, 3, 4]], inputs=11, outputs=2, numeric_embeddings=embeddings
    )
    widest = CallableCost(lambda a: max(a.widths), name="widest")
    yield FeasibleSet(ragged, Budget(Limit(widest, 3)))  # only 2-3
    yield FeasibleSet(ragged, Budget(dense_parameters=100))
    yield FeasibleSet(optional, Budget(parameters=200))
    yield FeasibleSet(optional, Budget(parameters=300, flops=350))
    yield FeasibleSet(ragged, Budget(dense_parameters=100), method="enumeration")
    yield FeasibleSet(embedded, Budget(parameters=150))
    yield FeasibleSet(embedded, Budget(ram_bytes=72, parameters=150))
    if inexact:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InexactWarning)
            limit = Limit(CallableCost(lambda a: sum(a.widths), name="units"), 16)
            yield FeasibleSet(optional, Budget(limit), method="monte carlo", samples=500)
            yield FeasibleSet(embedded, Budget(limit), method="monte carlo", samples=500)
            # far below the widest: 4 of 216
            even = SearchSpace.uniform(layers=3, widths=range(4, 28, 4), inputs=11, outputs=2)
            yield FeasibleSet(even, Budget(limit), method="monte carlo", samples=500)


def check_strategy(make: MakeStrategy, *, learns: bool = True, inexact: bool = True) -> None:
    """Raise AssertionError unless the strategy meets the contract of `tabnas.strategies.Strategy`.

    `learns` means that it should beat random search, `inexact` that it works with feasible sets
    estimated from samples.

    >>> from tabnas.strategies import Evolution
    >>> check_strategy(lambda feasible, seed: Evolution(feasible, rng=seed, population=8))
    """
    for feasible in strategy_problems(inexact=inexact):
        strategy = make(feasible, 0)
        assert strategy.feasible is feasible, "a strategy must keep the feasible set it was given"
        assert isinstance(strategy.name, str), "a strategy must have a name"
        check_suggestions(make, feasible)
        check_evaluation_count(make, feasible)
        check_recommendations(make, feasible)
    if learns:
        check_progress(make)


def check_suggestions(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Check that suggestions are architectures of the space and depend on the seed only."""
    one, other = make(feasible, 3), make(feasible, 3)
    for step in range(15):
        choices, again = one.suggest(), other.suggest()
        assert choices.ndim == 2, "suggestions must be [n, layers]"
        assert choices.shape[1] == len(feasible.space.layers), "suggestions must be [n, layers]"
        assert len(choices) >= 1, "there must be at least one suggestion"
        assert choices.dtype.kind == "i", "suggestions must be choices, which are integers"
        assert np.array_equal(choices, again), "suggestions must depend only on evaluations and rng"
        evaluated = one.needs_evaluation(choices)
        assert evaluated.shape == (len(choices),), "needs_evaluation must be [n]"
        assert evaluated.dtype == np.bool_, "needs_evaluation must be boolean"
        for row in choices[evaluated]:
            feasible.space.architecture(row)  # raises if it is invalid
        quality = np.where(evaluated, additive(choices), np.nan)
        one.update(choices, quality)
        other.update(choices, quality)
        if step % 3 == 0:
            assert one.recommend(2) == one.recommend(2), "recommendations must not change anything"


def check_evaluation_count(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Check that every quality counts as an evaluation, NaN does not, and the limit is met."""
    strategy = make(feasible, 1)
    assert strategy.n_evaluations == 0, "a new strategy must have no evaluations"
    choices = strategy.suggest()
    strategy.update(choices, np.full(len(choices), np.nan))
    assert strategy.n_evaluations == 0, "NaN must not count as an evaluation"
    asked = 0

    def counted(choices: IntArray) -> FloatArray:
        nonlocal asked
        asked += len(choices)
        return additive(choices)

    for allowed in (1, 2, 13):
        try:
            optimize(strategy, counted, allowed)
        except StuckError:
            return  # allowed: it found nothing feasible and reported it
        assert strategy.n_evaluations == asked == allowed, f"there must be {allowed} evaluations"


def check_recommendations(make: MakeStrategy, feasible: FeasibleSet) -> None:
    """Check that recommendations are feasible, distinct, and at most n, at any time."""

    def check(strategy: Strategy) -> None:
        for n in (1, 3, 1_000):
            named = strategy.recommend(n)
            assert len(named) <= n, "no more may be recommended than asked for"
            assert len(set(named)) == len(named), "none may be recommended twice"
            for architecture in named:
                assert architecture in feasible, f"{architecture} must be feasible"

    noise = np.random.default_rng(0)
    objectives: list[Objective] = [
        additive,
        lambda choices: np.zeros(len(choices)),
        lambda choices: 1e6 * noise.normal(size=len(choices)),
    ]
    for seed, objective in enumerate(objectives):
        strategy = make(feasible, seed)
        check(strategy)
        for n_evaluations in (1, 8, 24):
            try:
                optimize(strategy, objective, n_evaluations)
            except StuckError:
                break
            check(strategy)
            assert strategy.recommend(), "there must be a recommendation after an evaluation"


def check_progress(make: MakeStrategy, *, n_evaluations: int = 200, seeds: int = 3) -> None:
    """Check that it beats random search on a noiseless additive quality, on average."""
    space = SearchSpace.uniform(layers=8, widths=range(4, 36, 4), inputs=10, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=1_600))

    def found(strategy: Strategy) -> float:
        optimize(strategy, additive, n_evaluations)
        return float(additive(np.array([space.choices(strategy.recommend()[0])]))[0])

    ours = np.mean([found(make(feasible, seed)) for seed in range(seeds)])
    blind = np.mean([found(RandomSearch(feasible, rng=seed)) for seed in range(seeds)])
    assert ours > blind, f"it must beat random search, got {ours:.3f} against {blind:.3f}"


def additive(choices: IntArray) -> FloatArray:
    """Return a quality of [n, layers]: a sum over layers, each with a peak in the middle."""
    layer = np.arange(choices.shape[1])
    peak = 2 + 3 * layer % 5
    return np.asarray(-((choices - peak) ** 2 / (4.0 + layer)).sum(axis=1))
