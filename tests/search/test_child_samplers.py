from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.policy import Policy
from tabnas.search import (
    CHILD_SAMPLERS,
    FeasibleSampler,
    PaperSampler,
    SearchSettings,
    SeveralLimitsSampler,
    TighteningSampler,
)
from tabnas.space import NumericEmbeddings

SPACE = SearchSpace([[4, 8, 16], [0, 4, 8, 16], [0, 8]], inputs=10, outputs=2)
FEASIBLE = FeasibleSet(SPACE, Budget(parameters=250))
UNIFORM = Policy(FEASIBLE, np.zeros(SPACE.mask.shape))
WHOLE = [2, 3, 1]
WARMUP = SearchSettings.warmup


def drawn(rule: object, progress: float, policy: Policy = UNIFORM, n: int = 2_000) -> np.ndarray:
    return rule.sample(progress, policy, n, np.random.default_rng(0))


@pytest.mark.parametrize("name", CHILD_SAMPLERS)
@pytest.mark.parametrize("progress", [0.0, 0.3, 0.99])
def test_children_are_architectures(name: str, progress: float) -> None:
    choices = drawn(CHILD_SAMPLERS[name](FEASIBLE, warmup=WARMUP), progress, n=200)
    assert choices.shape == (200, 3)
    for row in choices:
        assert SPACE.architecture(row) in SPACE


@pytest.mark.parametrize(("progress", "share"), [(0.0, 1.0), (0.125, 0.5), (0.2, 0.2), (0.25, 0.0)])
def test_the_paper_warms_up_with_the_whole(progress: float, share: float) -> None:
    whole = (drawn(PaperSampler(FEASIBLE, warmup=WARMUP), progress) == WHOLE).all(axis=1).mean()
    by_chance = 1 / SPACE.size
    assert whole == pytest.approx(share + (1 - share) * by_chance, abs=0.04)


def test_the_paper_trains_what_is_infeasible_unless_told_not_to() -> None:
    assert not FEASIBLE.contains(drawn(PaperSampler(FEASIBLE, warmup=WARMUP), 0.5)).all()
    assert FEASIBLE.contains(
        drawn(PaperSampler(FEASIBLE, warmup=WARMUP, skip_infeasible=True), 0.5)
    ).all()


def test_feasible_children_follow_the_policy_or_do_not() -> None:
    likes_first = Policy(FEASIBLE, np.where(np.arange(4) == 0, 9.0, 0.0) * np.ones((3, 1)))
    uniform = drawn(FeasibleSampler(FEASIBLE, warmup=WARMUP, by="uniform"), 0.5, likes_first)
    follows = drawn(FeasibleSampler(FEASIBLE, warmup=WARMUP, by="policy"), 0.5, likes_first)
    assert FEASIBLE.contains(uniform).all()
    assert FEASIBLE.contains(follows).all()
    assert (uniform[:, 0] == 0).mean() < 0.7
    assert (follows[:, 0] == 0).mean() > 0.95


def test_depths_and_their_members_are_sampled_uniformly() -> None:
    choices = drawn(FeasibleSampler(FEASIBLE, warmup=WARMUP, by="depth"), 0.5, n=6_000)
    assert FEASIBLE.contains(choices).all()
    found = [SPACE.architecture(row) for row in choices]
    for depth in (1, 2, 3):
        members = [one for one in FEASIBLE if one.depth == depth]
        counts = [found.count(one) for one in members]
        assert sum(counts) / 6_000 == pytest.approx(1 / 3, abs=0.02)
        assert min(counts) > 0.6 * 2_000 / len(members)


def test_the_linear_model_is_none_of_the_depths() -> None:
    space = SearchSpace([[0, 4, 8], [0, 4]], inputs=10, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=10_000))
    choices = drawn(
        FeasibleSampler(feasible, warmup=WARMUP, by="depth"),
        0.5,
        Policy(feasible, np.zeros((2, 3))),
    )
    depths = [space.architecture(row).depth for row in choices]
    assert set(depths) == {1, 2}
    assert depths.count(1) / len(depths) == pytest.approx(0.5, abs=0.05)


def test_if_only_the_linear_model_fits_it_is_sampled() -> None:
    space = SearchSpace([[0, 64], [0, 64]], inputs=10, outputs=2)
    only = FeasibleSet(space, Budget(parameters=22))
    assert (
        drawn(FeasibleSampler(only, warmup=WARMUP), 0.5, Policy(only, np.zeros((2, 2))), n=9) == 0
    ).all()


def test_the_limit_tightens() -> None:
    rule = TighteningSampler(FEASIBLE, warmup=WARMUP, start=4, until=0.5)
    loads = [
        FEASIBLE.cost_ratio(drawn(rule, progress)).max() for progress in (0, 0.1, 0.3, 0.5, 0.9)
    ]
    assert loads == sorted(loads, reverse=True)
    assert 1 < loads[0] <= 4
    assert loads[-2] <= 1
    assert loads[-1] <= 1


@pytest.mark.parametrize("limits", [{"parameters": 250}, {"ram_bytes": 56}])
def test_the_limit_falls_geometrically(limits: dict[str, int]) -> None:
    """Three levels from 4 on are 4, 2 and 1 times the limit."""
    feasible = FeasibleSet(SPACE, Budget(**limits))
    rule = TighteningSampler(feasible, warmup=WARMUP, start=4, until=0.8, levels=3, by="uniform")
    every = FeasibleSet(SPACE, Budget()).members
    loads = feasible.cost_ratio(every)
    for progress, kappa in ((0.0, 4), (0.39, 4), (0.4, 2), (0.79, 2), (0.8, 1), (1.0, 1)):
        largest = feasible.cost_ratio(drawn(rule, progress)).max()
        assert largest == loads[loads <= kappa].max()


def test_depths_are_sampled_in_random_order() -> None:
    """Children of a step are drawn together, but none has a place of its own."""
    choices = drawn(FeasibleSampler(FEASIBLE, warmup=WARMUP, by="depth"), 0.5)
    depths = [SPACE.architecture(row).depth for row in choices]
    assert abs(np.corrcoef(depths, np.arange(len(depths)))[0, 1]) < 0.1


def test_several_limits_take_turns() -> None:
    tight = FeasibleSet(SPACE, Budget(parameters=120))
    choices = drawn(
        SeveralLimitsSampler(FEASIBLE, warmup=WARMUP, others=[tight], by="uniform"), 0.9
    )
    assert FEASIBLE.contains(choices).all()
    share = tight.count() / FEASIBLE.count()
    expected = 0.5 + 0.5 * share  # what the tight limit draws, and what the other one happens to
    assert tight.contains(choices).mean() == pytest.approx(expected, abs=0.04)


def test_refusals() -> None:
    with pytest.raises(TabNASError, match="`start` must be a number of at least 1"):
        TighteningSampler(FEASIBLE, warmup=WARMUP, start=0.5)
    with pytest.raises(TabNASError, match="`start` must be a number of at least 1"):
        TighteningSampler(FEASIBLE, warmup=WARMUP, start=np.inf)
    with pytest.raises(TabNASError, match="levels must be an integer of at least 1"):
        TighteningSampler(FEASIBLE, warmup=WARMUP, levels=0)
    with pytest.raises(TabNASError, match="`until` must be in"):
        TighteningSampler(FEASIBLE, warmup=WARMUP, until=0)
    with pytest.raises(TabNASError, match="'uniform' or 'depth'"):
        FeasibleSampler(FEASIBLE, warmup=WARMUP, by="chance")


# --- numeric embeddings ---------------------------------------------------------------------------

EMBEDDED = SearchSpace(
    SPACE.widths,
    inputs=10,
    outputs=2,
    numeric_embeddings=NumericEmbeddings(columns=5, knots=40, dimensions=(0, 1, 2, 64)),
)
EMBEDDED_FEASIBLE = FeasibleSet(EMBEDDED, Budget(parameters=250))
EMBEDDED_UNIFORM = Policy(EMBEDDED_FEASIBLE, np.zeros(EMBEDDED.mask.shape))


@pytest.mark.parametrize("name", CHILD_SAMPLERS)
@pytest.mark.parametrize("progress", [0.0, 0.3, 0.99])
def test_children_with_numeric_embeddings_are_architectures(name: str, progress: float) -> None:
    sampler = CHILD_SAMPLERS[name](EMBEDDED_FEASIBLE, warmup=WARMUP)
    choices = drawn(sampler, progress, EMBEDDED_UNIFORM, n=200)
    assert choices.shape == (200, 4)
    for row in choices:
        assert EMBEDDED.architecture(row) in EMBEDDED


def test_the_full_supernet_has_the_largest_dimension() -> None:
    choices = drawn(PaperSampler(EMBEDDED_FEASIBLE, warmup=WARMUP), 0.0, EMBEDDED_UNIFORM, n=20)
    assert (choices == [3, *WHOLE]).all()


def test_dimensions_and_depths_are_sampled_uniformly() -> None:
    """Each pair that has a member is equally likely, and so is each member of a pair."""
    sampler = FeasibleSampler(EMBEDDED_FEASIBLE, warmup=WARMUP, by="depth")
    choices = drawn(sampler, 0.5, EMBEDDED_UNIFORM, n=20_000)
    assert EMBEDDED_FEASIBLE.contains(choices).all()
    found = Counter(EMBEDDED.architecture(row) for row in choices)
    groups: dict[tuple[int, int], list[int]] = {}
    for one in EMBEDDED_FEASIBLE:
        groups.setdefault((one.dimension, one.depth), []).append(found[one])
    assert {dimension for dimension, _ in groups} == {0, 1, 2}  # 64 does not fit
    assert len({len(counts) for counts in groups.values()}) > 1  # some have more members
    for counts in groups.values():
        expected = 20_000 / len(groups)
        assert sum(counts) == pytest.approx(expected, rel=0.1)
        assert min(counts) > 0.6 * expected / len(counts)


def test_if_only_linear_models_fit_they_are_sampled_in_every_dimension() -> None:
    embeddings = NumericEmbeddings(columns=2, knots=4, dimensions=(0, 1))
    space = SearchSpace([[0, 64]], inputs=10, outputs=2, numeric_embeddings=embeddings)
    only = FeasibleSet(space, Budget(parameters=40))
    policy = Policy(only, np.zeros((2, 2)))
    choices = drawn(FeasibleSampler(only, warmup=WARMUP), 0.5, policy, n=50)
    assert {tuple(row) for row in choices.tolist()} == {(0, 0), (1, 0)}
