from __future__ import annotations

import numpy as np
import pytest

from tabnas.paper._ground_truth import load_ground_truth
from tabnas.paper.experiments.common import (
    add_regrets,
    get_scorer,
    most_expensive,
    random_search,
    values_by_run,
)
from tabnas.space import Architecture

LETTER = load_ground_truth("letter")
LIMIT = LETTER.cost_quantile(0.25)
SCORER = get_scorer("letter", LIMIT)
FEASIBLE = [one for one in LETTER.architectures if np.isfinite(SCORER.regret(one))]


def test_a_run_returns_the_candidate_of_the_lowest_loss_in_one_training() -> None:
    candidates = FEASIBLE[5:8]
    losses = LETTER.losses["validation"]
    for seed in range(4):
        row = SCORER.describe(candidates, seed)
        column = {str(one): losses[SCORER.index[one], seed % 3] for one in candidates}
        assert row["returned"] == min(column, key=column.__getitem__)
        assert row["candidates"] == list(map(str, candidates))


@pytest.mark.parametrize("seed", range(4))
def test_the_training_that_selects_does_not_judge(seed: int) -> None:
    row = {"table": "letter", "limit": LIMIT, "seed": seed} | SCORER.describe(FEASIBLE[5:8], seed)
    [scored] = add_regrets([row])
    returned = Architecture.parse(row["returned"])
    for prefix, part in (("", "validation"), ("test_", "test")):
        regret = LETTER.regret(returned, SCORER.budget, part, selection_seed=seed % 3)
        assert scored[f"{prefix}regret_of_returned"] == regret
        # nothing was trained to select the first candidate, so all trainings judge it
        first = LETTER.regret(FEASIBLE[5], SCORER.budget, part)
        assert scored[f"{prefix}regret_of_first"] == first
    assert scored["regret_of_best_candidate"] == min(map(SCORER.regret, FEASIBLE[5:8]))


def test_rows_may_lack_candidates() -> None:
    row = {"table": "letter", "limit": LIMIT, "seed": 1, "returned": str(FEASIBLE[3])}
    [bare] = add_regrets([row])
    assert "regret_of_first" not in bare
    [scored] = add_regrets([row | {"candidates": [str(FEASIBLE[4])]}])
    assert scored["regret_of_first"] == SCORER.regret(FEASIBLE[4])
    assert scored["regret_of_returned"] == bare["regret_of_returned"]
    assert values_by_run([bare], "regret_of_returned") == {
        ("letter", LIMIT, 1): bare["regret_of_returned"]
    }


def test_larger_random_searches_never_have_a_higher_selection_loss() -> None:
    losses = LETTER.losses["validation"]
    for seed in range(5):
        rows = [random_search(SCORER, k, seed) for k in (1, 2, 5, 20, 10_000)]
        once = [losses[SCORER.index[Architecture.parse(row["returned"])], seed % 3] for row in rows]
        assert once == sorted(once, reverse=True)
        assert [row["n_candidates"] for row in rows] == [1, 2, 5, 20, len(FEASIBLE)]
        assert once[-1] == min(losses[SCORER.index[one], seed % 3] for one in FEASIBLE)


def test_the_most_expensive_are_within_the_limit() -> None:
    costs = [LETTER.costs["parameters"][SCORER.index[one]] for one in most_expensive(SCORER, 3)]
    inside = sorted((c for c in LETTER.costs["parameters"] if c <= LIMIT), reverse=True)
    assert costs == inside[:3]
