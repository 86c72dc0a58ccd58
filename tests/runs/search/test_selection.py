"""The candidates of a run: those of the search, widened, and some that need no search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs.search._find_candidates import find_candidates, load_search_result, run_search
from tabnas.runs.search._selection import select_candidates
from tabnas.search import Search, select
from tabnas.space import Architecture, Budget, scale_limits
from tests.runs.helpers import make_table

LIMIT = 2_000


def make_run(rows: int = 4_200, **options: Any) -> PlannedRun:
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    limits = options.pop("limits", {"parameters": LIMIT})
    settings = RunSettings(limits=limits, reference_models=False, teacher="none", **options)
    return plan_run(data, settings)


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    return make_run()


@pytest.fixture(scope="module")
def search(run: PlannedRun) -> Search:
    return run_search(run, lambda progress: None, RunCheckpoint())[0]


def test_candidates_use_up_the_limit(run: PlannedRun, search: Search) -> None:
    feasible = run.plan.feasible
    candidates = select_candidates(search, run.plan, feasible)
    assert [one.dimension for one in candidates[2:]] == [0, 2, 4]
    for one in candidates:
        assert run.plan.allows(one)
        wider = Architecture(tuple(width + 1 for width in one.widths), one.dimension)
        assert not feasible.budget.admits(feasible.space, wider)
    for one in candidates[2:]:
        assert one.depth == 2
        assert len(set(one.widths)) == 1


def test_widened_candidates_have_the_shapes_of_the_search(run: PlannedRun, search: Search) -> None:
    plan = replace(run.plan, equal_dimensions=(), candidates=6)
    widened = select_candidates(search, plan, plan.feasible)
    selected = select(search, 6)
    assert len(widened) == len(selected)
    for wide, narrow in zip(widened, selected, strict=True):
        assert (wide.depth, wide.dimension) == (narrow.depth, narrow.dimension)
        assert all(w >= n for w, n in zip(wide.widths, narrow.widths, strict=True))
        ratio = plan.feasible.cost_ratio(np.array(plan.feasible.space.choices(narrow)))
        assert (wide == narrow) or ratio >= 0.85  # a small one was selected since it is small


def test_candidates_keep_a_tighter_limit(run: PlannedRun, search: Search) -> None:
    tighter = FeasibleSet(run.plan.feasible.space, Budget(parameters=LIMIT // 2))
    for one in select_candidates(search, run.plan, tighter):
        assert tighter.budget.admits(tighter.space, one)


def test_networks_of_equal_layers_keep_the_share_of_a_short_time(
    run: PlannedRun, search: Search
) -> None:
    plan = replace(run.plan, limit_share=0.25)
    scaled = scale_limits(plan.feasible.budget, plan.feasible.space, 0.25)
    equal = select_candidates(search, plan, plan.feasible)[plan.candidates :]
    assert len(equal) == 3
    assert all(scaled.admits(plan.feasible.space, one) for one in equal)


def test_limits_that_do_not_bind_widen_nothing() -> None:
    run = make_run(500, limits={"parameters": 10**9})
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    space = run.plan.feasible.space
    assert all(one in space for one in found.architectures)
    assert Architecture((1_024, 1_024)) not in found.architectures


def test_the_widths_of_the_user_stay() -> None:
    widths = (8, 12, 24)
    run = make_run(widths=widths)
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    assert len(found.architectures) == 4
    assert all(width in widths for one in found.architectures for width in one.widths)
    off_grid = Architecture((9,))
    assert run.plan.feasible.budget.admits(run.plan.feasible.space, off_grid)
    assert not run.plan.allows(off_grid)


def test_a_float32_candidate_uses_up_the_limit_in_its_precision() -> None:
    run = make_run(limits={"bytes": 4_000})
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    space, budget = run.plan.feasible.space, run.plan.feasible.budget
    float32 = budget.at_precision(run.plan.precisions[1])
    assert sum(float32.admits(space, one) for one in found.architectures) == 1
    assert all(budget.admits(space, one) for one in found.architectures)


def test_forged_candidates_over_the_limit_are_refused(run: PlannedRun, search: Search) -> None:
    found = {"effects": [], "snapshots": [], "skipped": 0, "dropped": [], "one_shot": [0.5]}
    widest = run.plan.feasible.space.widths[0][-1]
    for forged in (f"{widest}-{widest}", f"d8-{widest}", f"{widest + 1}", "1-1-1-1", "d3-4"):
        with pytest.raises(TabNASError, match="not within the limits"):
            load_search_result(found | {"architectures": [forged]}, run.plan)
    between = load_search_result(found | {"architectures": ["9-11"]}, run.plan)
    assert between.architectures == (Architecture((9, 11)),)
