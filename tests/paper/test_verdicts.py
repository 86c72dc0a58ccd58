from __future__ import annotations

import numpy as np
import pytest

from tabnas.paper._ground_truth import ground_truth
from tabnas.paper.experiments._verdicts import (
    by_run,
    dearest,
    judge,
    judged_rows,
    trained_alone,
)
from tabnas.space import Architecture

LETTER = ground_truth("letter")
LIMIT = LETTER.limit_kept_by(0.25)
JUDGE = judge("letter", LIMIT)
INSIDE = [one for one in LETTER.architectures if np.isfinite(JUDGE.regret(one))]


def test_a_run_returns_the_candidate_of_the_lowest_loss_in_one_training() -> None:
    candidates = INSIDE[5:8]
    losses = LETTER.losses["validation"]
    for seed in range(4):
        named = JUDGE.named(candidates, seed)
        column = {str(one): losses[JUDGE.place[one], seed % 3] for one in candidates}
        assert named["returned"] == min(column, key=column.__getitem__)
        assert named["named"] == list(map(str, candidates))


@pytest.mark.parametrize("seed", range(4))
def test_the_training_that_chose_is_no_judge(seed: int) -> None:
    row = {"table": "letter", "limit": LIMIT, "seed": seed} | JUDGE.named(INSIDE[5:8], seed)
    [said] = judged_rows([row])
    returned = Architecture.parse(row["returned"])
    for prefix, part in (("", "validation"), ("test_", "test")):
        regret = LETTER.regret(returned, JUDGE.budget, part, chosen_by=seed % 3)
        assert said[f"{prefix}regret_of_returned"] == regret
        # nothing was trained to name the first one, so all trainings judge it
        first = LETTER.regret(INSIDE[5], JUDGE.budget, part)
        assert said[f"{prefix}regret_of_first"] == first
    assert said["regret_of_best_candidate"] == min(map(JUDGE.regret, INSIDE[5:8]))


def test_older_rows_name_less() -> None:
    row = {"table": "letter", "limit": LIMIT, "seed": 1, "returned": str(INSIDE[3])}
    [bare] = judged_rows([row])
    assert "regret_of_first" not in bare
    [said] = judged_rows([row | {"recommended": str(INSIDE[4])}])
    assert said["regret_of_first"] == JUDGE.regret(INSIDE[4])
    assert said["regret_of_returned"] == bare["regret_of_returned"]
    assert by_run([bare], "regret_of_returned") == {
        ("letter", LIMIT, 1): bare["regret_of_returned"]
    }


def test_more_trainings_alone_are_never_worse_in_the_training_they_go_by() -> None:
    losses = LETTER.losses["validation"]
    for seed in range(5):
        rows = [trained_alone(JUDGE, k, seed) for k in (1, 2, 5, 20, 10_000)]
        once = [losses[JUDGE.place[Architecture.parse(row["returned"])], seed % 3] for row in rows]
        assert once == sorted(once, reverse=True)
        assert [row["candidates"] for row in rows] == [1, 2, 5, 20, len(INSIDE)]
        assert once[-1] == min(losses[JUDGE.place[one], seed % 3] for one in INSIDE)


def test_the_dearest_are_within_the_limit() -> None:
    costs = [LETTER.costs["parameters"][JUDGE.place[one]] for one in dearest(JUDGE, 3)]
    inside = sorted((c for c in LETTER.costs["parameters"] if c <= LIMIT), reverse=True)
    assert costs == inside[:3]
