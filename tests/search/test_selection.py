from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Architecture, Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.nets import Examples, Inputs, NetworkSpec
from tabnas.search import (
    SELECTIONS,
    Evaluation,
    FixedWeightsSearch,
    History,
    Search,
    SearchSettings,
    build_candidate_pool,
    compute_one_shot_losses,
    fit_additive_model,
    select,
    select_best_within,
    select_by_loss,
)
from tabnas.search._selection import MAX_VALIDATION_ROWS
from tabnas.space import COSTS, NumericEmbeddings

SPEC = NetworkSpec(inputs=Inputs(numeric=4), loss="logistic")
SPACE = SearchSpace([[4, 5, 6], [0, 4, 5, 6]], inputs=4, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(parameters=88))


@pytest.fixture(scope="module")
def finished() -> Search:
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    rows = Examples(SPEC, numeric=x, target=x[:, 0] * x[:, 1] > 0)
    search = Search(
        FEASIBLE,
        rows,
        rows,
        SearchSettings(epochs=6, batch_size=20, evaluations_per_step=4, policy_every=3),
    )
    search.run()
    return search


@pytest.mark.parametrize("by", SELECTIONS)
@pytest.mark.parametrize("n", [1, 3, 1_000])
def test_every_rule_names_different_feasible_architectures(
    finished: Search, by: str, n: int
) -> None:
    chosen = select(finished, n, by=by)
    assert 1 <= len(chosen) <= min(n, FEASIBLE.count())
    assert len(set(chosen)) == len(chosen)
    assert all(one in FEASIBLE for one in chosen)
    assert chosen == select(finished, n, by=by)  # nothing is left to chance


def test_algorithm_3_takes_the_largest_drawn(finished: Search) -> None:
    costs = [
        FEASIBLE.budget.costs(SPACE, one)["parameters"] for one in select(finished, 4, by="largest")
    ]
    assert costs == sorted(costs, reverse=True)
    # 500 draws of a policy that has hardly moved see the whole of so small a set
    assert select(finished, 1, by="largest") == [FEASIBLE.most_expensive()]


def test_two_of_three_candidates_use_the_limit_and_come_first(finished: Search) -> None:
    pool = build_candidate_pool(finished)
    losses = dict(zip(pool, compute_one_shot_losses(finished, pool), strict=True))
    using = [one for one in pool if FEASIBLE.cost_ratio(np.array(SPACE.choices(one))) >= 0.85]
    assert 2 <= len(using) < len(pool)
    first, second = sorted(using, key=losses.__getitem__)[:2]
    third = min((one for one in pool if one not in (first, second)), key=losses.__getitem__)
    assert select(finished, 3) == [first, second, third]
    assert min(pool, key=losses.__getitem__) in (first, third)  # never left out


@given(st.lists(st.floats(0, 1), min_size=FEASIBLE.count(), max_size=FEASIBLE.count()))
def test_fewer_candidates_are_the_first_of_more(losses: list[float]) -> None:
    pool = list(FEASIBLE)
    every = select_by_loss(pool, np.array(losses), len(pool), FEASIBLE)
    assert sorted(every, key=str) == sorted(pool, key=str)
    loads = [float(FEASIBLE.cost_ratio(np.array(SPACE.choices(one)))) for one in every]
    total = sum(load >= 0.85 for load in loads)
    for n in range(1, len(pool)):
        assert select_by_loss(pool, np.array(losses), n, FEASIBLE) == every[:n]
        assert sum(load >= 0.85 for load in loads[:n]) >= min(total, -(-2 * n // 3))


def test_another_set_is_chosen_from_alone(
    finished: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a tighter limit, the pool is of that limit, and the best is the best there is."""
    tight = FeasibleSet(SPACE, Budget(parameters=75))
    members = list(tight)
    assert 3 < len(members) < FEASIBLE.count()
    assert set(build_candidate_pool(finished, tight)) == set(members)
    losses = dict(zip(members, compute_one_shot_losses(finished, members), strict=True))
    best, loss = select_best_within(finished, tight)
    assert loss == losses[best] == min(losses.values())
    # where large networks are better, the best is the largest within the limit, and none beyond

    def less_for_more(search: Search, pool: list[Architecture]) -> np.ndarray:
        return np.array([-COSTS["parameters"](SPACE, one) for one in pool])

    monkeypatch.setattr("tabnas.search._selection.compute_one_shot_losses", less_for_more)
    for limit in (75, 80, 88, 10_000):
        allowed = FeasibleSet(SPACE, Budget(parameters=limit))
        best, loss = select_best_within(finished, allowed)
        assert best in allowed
        assert -loss == COSTS["parameters"](SPACE, allowed.most_expensive())


def test_unknown_rules_are_refused(finished: Search) -> None:
    with pytest.raises(TabNASError, match="did you mean 'one_shot'"):
        select(finished, 3, by="oneshot")
    with pytest.raises(TabNASError, match="n must be"):
        select(finished, 0)


def test_the_additive_model_is_recovered_while_the_level_of_qualities_moves() -> None:
    """Qualities that are additive, plus another level for every step, are explained exactly."""
    rng = np.random.default_rng(1)
    truth = [rng.normal(size=3), rng.normal(size=4)]
    everything = np.array(list(product(range(3), range(4))))
    history = History()
    for step in range(60):
        choices = everything[rng.integers(len(everything), size=5)]
        level = rng.normal(scale=10)
        quality = truth[0][choices[:, 0]] + truth[1][choices[:, 1]] + level
        history.add(Evaluation(step, choices, quality))
    worths = fit_additive_model(SPACE, history, ridge=1e-9)
    for layer, (expected, size) in enumerate(zip(truth, (3, 4), strict=True)):
        found = worths[layer, :size]
        np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-6)
    best = max(FEASIBLE, key=lambda one: sum(truth[i][c] for i, c in enumerate(SPACE.choices(one))))
    assert FEASIBLE.most_likely(1, worths) == [best]


def test_later_evaluations_weigh_more() -> None:
    """Two opposite evaluations weigh 1 and e^2: their mean is (e^2 - 1) / (e^2 + 1)."""
    space = SearchSpace([[4, 5]], inputs=4, outputs=1)
    both = np.array([[0], [1]])
    history = History(
        [Evaluation(0, both, np.array([1.0, 0.0])), Evaluation(9, both, np.array([0.0, 1.0]))]
    )
    first, second = fit_additive_model(space, history, ridge=1e-12)[0]
    assert second - first == pytest.approx(np.tanh(1))


def test_the_ridge_is_relative_to_what_evaluations_weigh() -> None:
    """The normal equation of one difference: (w + ridge w / 2) d = w, whatever w is."""
    space = SearchSpace([[4, 5]], inputs=4, outputs=1)
    evaluated = np.array([[0], [1]]), np.array([0.0, 1.0])
    history = History([Evaluation(0, *evaluated), Evaluation(9, *evaluated)])
    first, second = fit_additive_model(space, history, ridge=1.0)[0]
    assert second - first == pytest.approx(1 / (1 + 1 / 2))


def test_without_evaluations_all_architectures_are_equal() -> None:
    assert not fit_additive_model(SPACE, History()).any()
    unseen = History([Evaluation(0, np.zeros((2, 2), np.int64), np.full(2, np.nan))])
    assert not fit_additive_model(SPACE, unseen).any()


def test_history_lists_what_was_evaluated() -> None:
    history = History()
    history.add(Evaluation(3, np.array([[0, 1], [2, 2]]), np.array([0.5, np.nan])))
    history.add(Evaluation(6, np.array([[1, 1]]), np.array([0.25])))
    number, choices, quality = history.flatten()
    assert number.tolist() == [0, 1]
    assert choices.tolist() == [[0, 1], [1, 1]]
    assert quality.tolist() == [0.5, 0.25]


def test_one_shot_loss_is_the_supernets(finished: Search) -> None:
    one = Architecture((4, 5))
    assert compute_one_shot_losses(finished, [one])[0] == finished.net.loss(
        one, finished.validation
    )


def test_one_shot_losses_are_of_rows_from_everywhere() -> None:
    """A sample stands for all validation rows, but those are sorted."""
    spec = NetworkSpec(inputs=Inputs(numeric=4), loss="squared_error")
    x = np.random.default_rng(0).normal(size=(10 * MAX_VALIDATION_ROWS, 4)).astype(np.float32)
    sorted_rows = Examples(spec, numeric=x, target=np.linspace(0.0, 10.0, len(x)))
    search = Search(FEASIBLE, sorted_rows, sorted_rows, SearchSettings(epochs=1, batch_size=32))
    one = Architecture((4, 5))
    found = compute_one_shot_losses(search, [one])
    whole = search.net.loss(one, sorted_rows)
    assert found[0] == pytest.approx(whole, rel=0.1)
    assert found[0] != whole  # of a sample, the same each time
    assert compute_one_shot_losses(search, [one]) == found


# --- numeric embeddings ---------------------------------------------------------------------------

EMBEDDINGS = NumericEmbeddings(columns=4, knots=16, dimensions=(0, 1, 2, 50))
EMBEDDED = SearchSpace(SPACE.widths, inputs=4, outputs=1, numeric_embeddings=EMBEDDINGS)
EMBEDDED_FEASIBLE = FeasibleSet(EMBEDDED, Budget(parameters=125))


class _FixedLosses:
    """Stands for a SuperNet: the loss is lower without embeddings and with wide layers."""

    def losses(self, children: list[Any], rows: object, selected: object) -> list[float]:
        architectures = [
            child if isinstance(child, Architecture) else EMBEDDED.architecture(child)
            for child in children
        ]
        return [one.dimension - sum(one.widths) / 100 for one in architectures]


@pytest.fixture(scope="module")
def frozen() -> FixedWeightsSearch:
    settings = SearchSettings(epochs=1, batch_size=20, evaluations_per_step=4)
    search = FixedWeightsSearch(EMBEDDED_FEASIBLE, _FixedLosses(), [0] * 9, settings, steps=400)
    search.run()
    return search


def test_a_policy_learns_the_dimension(frozen: FixedWeightsSearch) -> None:
    policy = frozen.controller.policy
    assert policy.log_p.shape == EMBEDDED.mask.shape
    assert EMBEDDED_FEASIBLE.marginals(policy.log_p)[0, 0] > 0.9
    best = max(
        (one for one in EMBEDDED_FEASIBLE if one.dimension == 0), key=lambda one: sum(one.widths)
    )
    assert select(frozen, 1, by="additive") == [best]
    history = History()
    history.load_state_dict(frozen.history.state_dict(), EMBEDDED)
    assert np.array_equal(history.flatten()[1], frozen.history.flatten()[1])
    with pytest.raises(TabNASError, match="choices"):
        history.load_state_dict(frozen.history.state_dict(), SPACE)


def test_the_pool_has_candidates_of_every_dimension(frozen: FixedWeightsSearch) -> None:
    """Also where the policy has found that one dimension is best."""
    pool = build_candidate_pool(frozen)
    assert len(set(pool)) == len(pool)
    counts = Counter(one.dimension for one in pool)
    assert counts.keys() == {0, 1, 2}  # 50 does not fit
    for dimension, count in counts.items():
        members = sum(one.dimension == dimension for one in EMBEDDED_FEASIBLE)
        assert count >= min(members, 8)


def test_candidates_differ_in_dimension(frozen: FixedWeightsSearch) -> None:
    chosen = select(frozen, 3)
    assert [bool(one.dimension) for one in chosen[:2]] in ([True, False], [False, True])
    assert sorted(one.dimension for one in select(frozen, 4)) == [0, 0, 1, 2]
    pool = build_candidate_pool(frozen)
    losses = dict(zip(pool, compute_one_shot_losses(frozen, pool), strict=True))
    ratio = {one: EMBEDDED_FEASIBLE.cost_ratio(np.array(EMBEDDED.choices(one))) for one in pool}
    for index, one in enumerate(chosen):  # the best of its dimension that may be selected
        rivals = [other for other in pool if other.dimension == one.dimension]
        using = [other for other in rivals if ratio[other] >= 0.85]
        rivals = rivals if index == 2 or not using else using
        assert one == min(rivals, key=losses.__getitem__)
    by_loss = select_by_loss(
        pool, np.array([*losses.values()]), 3, EMBEDDED_FEASIBLE, by_dimension=False
    )
    assert by_loss[2] == min((one for one in pool if one not in by_loss[:2]), key=losses.get)
    assert [one.dimension for one in by_loss] == [1, 1, 0]  # 0 does not use the limit up


@given(st.lists(st.floats(0, 1), min_size=EMBEDDED_FEASIBLE.count()), st.booleans())
def test_fewer_candidates_are_the_first_of_more_with_numeric_embeddings(
    losses: list[float], by_dimension: bool
) -> None:
    pool = list(EMBEDDED_FEASIBLE)
    some = np.array(losses[: len(pool)])

    def choose(n: int) -> list[Architecture]:
        return select_by_loss(pool, some, n, EMBEDDED_FEASIBLE, by_dimension=by_dimension)

    every = choose(len(pool))
    assert sorted(every, key=str) == sorted(pool, key=str)
    for n in (1, 2, 3, 7):
        assert choose(n) == every[:n]


@given(st.lists(st.floats(0, 1), min_size=FEASIBLE.count(), max_size=FEASIBLE.count()))
def test_dimensions_matter_only_with_numeric_embeddings(losses: list[float]) -> None:
    pool, some = list(FEASIBLE), np.array(losses)
    assert select_by_loss(pool, some, 9, FEASIBLE) == select_by_loss(
        pool, some, 9, FEASIBLE, by_dimension=False
    )
