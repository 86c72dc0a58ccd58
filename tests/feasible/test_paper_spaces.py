"""The five spaces of the paper, and what is beyond enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas import PAPER_WIDTHS, Budget, FeasibleSet, InexactError, SearchSpace, TabNASError
from tabnas.feasible._limits import make_chain_limits

SPACES = {
    "criteo-3": (3, 1027, 1, PAPER_WIDTHS, 41_153, 856),
    "criteo-4": (4, 1027, 1, PAPER_WIDTHS, 59_697, 17_762),
    "criteo-5": (5, 1027, 1, PAPER_WIDTHS, 75_353, 340_590),
    "volkert-4": (4, 180, 10, PAPER_WIDTHS, 27_882, 16_886),
    "volkert-9": (9, 180, 10, PAPER_WIDTHS[:12], 78_114, 3_916_221_381),
}


@pytest.mark.parametrize("name", SPACES)
def test_feasible_counts(name: str) -> None:
    layers, inputs, outputs, widths, limit, count = SPACES[name]
    space = SearchSpace.uniform(layers=layers, inputs=inputs, outputs=outputs, widths=widths)
    feasible = FeasibleSet(space, Budget(dense_parameters=limit))
    assert feasible.method == "chain"
    assert feasible.count() == count
    assert feasible.probability() * space.size == pytest.approx(count)
    assert feasible.marginals().sum(axis=1) == pytest.approx(np.ones(layers))


@pytest.mark.parametrize("name", ["criteo-3", "volkert-4"])
def test_enumeration_agrees(name: str) -> None:
    layers, inputs, outputs, widths, limit, count = SPACES[name]
    space = SearchSpace.uniform(layers=layers, inputs=inputs, outputs=outputs, widths=widths)
    budget = Budget(dense_parameters=limit)
    chain = FeasibleSet(space, budget, method="chain")
    enumerated = FeasibleSet(space, budget, method="enumeration")
    assert enumerated.count() == count
    logits = np.random.default_rng(0).normal(size=space.mask.shape)
    assert enumerated.marginals(logits) == pytest.approx(chain.marginals(logits), abs=1e-12)


def test_two_limits_along_the_chain() -> None:
    """Parameters and FLOPs at once, against brute force over 8,000 architectures."""
    space = SearchSpace.uniform(layers=3, inputs=20, outputs=3)
    budget = Budget(parameters=9_000, flops=18_450)
    chain = FeasibleSet(space, budget, method="chain")
    enumerated = FeasibleSet(space, budget, method="enumeration")
    assert chain.count() == enumerated.count()
    both = {
        limit: FeasibleSet(space, Budget(**{limit: most})).count()
        for limit, most in (("parameters", 9_000), ("flops", 18_450))
    }
    assert chain.count() < min(both.values())


@pytest.mark.parametrize("optional", [(), (0,)])
def test_proportional_limits_are_one(optional: tuple[int, ...]) -> None:
    """The tighter one counts, whichever that is."""
    space = SearchSpace.uniform(layers=3, inputs=100, outputs=1, widths=(*optional, 8, 16, 32, 48))
    for limits in ({"parameters": 5_000, "bytes": 12_000}, {"parameters": 3_000, "bytes": 20_000}):
        both = Budget(**limits)
        assert len(make_chain_limits(space, both)) == 1
        tighter = min(limits["parameters"], limits["bytes"] // 4)
        alone = FeasibleSet(space, Budget(parameters=tighter))
        assert FeasibleSet(space, both).count() == alone.count() < space.size


def test_uniform_policies_have_a_most_likely_architecture() -> None:
    """All are equally likely: a search that does not settle for one would never end."""
    layers, inputs, outputs, widths, limit, _ = SPACES["volkert-9"]
    space = SearchSpace.uniform(layers=layers, inputs=inputs, outputs=outputs, widths=widths)
    feasible = FeasibleSet(space, Budget(dense_parameters=limit))
    assert feasible._diagram.nodes < 200_000  # for 5.2 billion architectures
    assert len(set(feasible.most_likely(20))) == 20
    with pytest.raises(InexactError, match="are unknown"):
        feasible.cheapest(lambda architecture: architecture.widths[3])


def test_the_bound_on_edges_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SearchSpace.uniform(layers=5, inputs=1027, outputs=1)
    budget = Budget(dense_parameters=75_353)
    edges = FeasibleSet(space, budget)._diagram.edges
    for bound in (edges // 2, 1_000, 100):
        monkeypatch.setattr("tabnas.feasible._chain.MAX_EDGES", bound)
        with pytest.raises(TabNASError, match="its diagram would have more than"):
            FeasibleSet(space, budget, method="chain")


def test_without_a_limit_the_space_is_feasible() -> None:
    space = SearchSpace([[0, 8, 16], [0, 8], [0, 4]], inputs=3, outputs=1)
    feasible = FeasibleSet(space, Budget())
    assert feasible.count() == space.size == 1 + 2 + 2 + 2
    assert float(feasible.probability()) == pytest.approx(7 / 12)  # of all encodings


def test_thirty_layers() -> None:
    """Far beyond any enumeration, and 3^30 members do not fit a 32-bit count."""
    space = SearchSpace.uniform(layers=30, inputs=8, outputs=1, widths=[8, 16, 24])
    feasible = FeasibleSet(space, Budget(dense_parameters=6_000))
    total = FeasibleSet(space, Budget()).count()
    assert total == 3**30
    assert 0 < feasible.count() < total
    assert feasible.probability() * total == pytest.approx(feasible.count())
