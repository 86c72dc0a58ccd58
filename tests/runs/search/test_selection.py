"""The candidates of a run: those of the search, widened, and some that need no search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.latency import Machine
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.search._find_candidates import find_candidates, load_search_result, run_search
from tabnas.runs.search._selection import select_candidates
from tabnas.search import Search, select
from tabnas.space import COSTS, Architecture, Budget, ChainCost, scale_limits
from tabnas.space._default_space import LADDER
from tests.latency.conftest import make_latency_table
from tests.runs.helpers import LATENCY_LIMITS, FakeMachine, make_latency_settings, make_table

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
    assert equal == list_equal_networks(plan.feasible, 0.25, plan.equal_dimensions)
    assert equal
    assert all(scaled.admits(plan.feasible.space, one) for one in equal)


def test_limits_that_do_not_bind_widen_nothing() -> None:
    run = make_run(limits={"parameters": 10**9})
    assert run.plan.equal_dimensions == ()
    assert run.plan.candidates == 4
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    assert len(found.architectures) == 4
    assert all(one in run.plan.feasible.space for one in found.architectures)


def test_a_single_layer_has_no_networks_of_equal_layers() -> None:
    plan = make_run(layers=1).plan
    assert (plan.equal_dimensions, plan.candidates) == ((), 4)


def test_networks_that_are_widened_to_the_same_are_replaced(
    run: PlannedRun, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(run.plan, equal_dimensions=(), candidates=2)
    space, budget = plan.feasible.space, plan.feasible.budget
    widest = max(
        width for width in space.widths[0][1:] if budget.admits(space, Architecture((width,)))
    )
    narrower = space.widths[0][space.widths[0].index(widest) - 1]
    selected = [Architecture((widest,)), Architecture((narrower,)), *select(search, 2)]

    def select_these(search: Search, n: int, *, within: FeasibleSet) -> list[Architecture]:
        return selected[:n]

    monkeypatch.setattr("tabnas.runs.search._selection.select", select_these)
    monkeypatch.setattr("tabnas.runs.search._selection.MIN_COST_RATIO", 0.5)
    candidates = select_candidates(search, plan, plan.feasible)
    assert len(candidates) == 2
    assert candidates[0].depth == 1
    assert candidates[1].depth > 1 or candidates[1].dimension


class GridCost(ChainCost):
    """A cost that is known for the widths of the default space only."""

    name = "grid"

    def layer(self, fan_in: int, width: int) -> float:
        if width not in LADDER:
            raise KeyError(width)
        return float(width)

    def head(self, fan_in: int, outputs: int) -> float:
        return 1.0


def test_a_cost_that_knows_the_widths_of_the_space_only_widens_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(COSTS, "grid", GridCost())
    run = make_run(limits={"grid": 100})
    assert not run.plan.free_widths
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    assert all(one in run.plan.feasible for one in found.architectures)


def test_default_candidates_meet_limits_on_latency(tmp_path: Path) -> None:
    table_file = tmp_path / "here.json"
    table_file.write_text(make_latency_table(machine=Machine.here()).to_json())
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    settings = make_latency_settings(
        str(table_file), LATENCY_LIMITS, candidates=None, teacher="none"
    )
    machine = FakeMachine()
    run = plan_run(data, settings, measure=machine)
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    assert set(LATENCY_LIMITS) == {"latency_us", "parameters"}
    equal = list_equal_networks(run.plan.feasible, run.plan.limit_share)
    assert set(equal) & set(found.architectures)
    assert all(run.plan.allows(one) for one in found.architectures)
    assert machine.calls


def test_the_widths_of_the_user_stay() -> None:
    widths = (8, 12, 24)
    run = make_run(widths=widths)
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    assert len(found.architectures) == 4
    assert all(width in widths for one in found.architectures for width in one.widths)
    off_grid = Architecture((9,))
    assert run.plan.feasible.budget.admits(run.plan.feasible.space, off_grid)
    assert not run.plan.allows(off_grid)


def test_a_float32_candidate_keeps_the_limit_in_its_precision() -> None:
    run = make_run(limits={"bytes": 4_000})
    found = find_candidates(run, lambda progress: None, RunCheckpoint())
    space, budget = run.plan.feasible.space, run.plan.feasible.budget
    float32 = budget.at_precision(run.plan.precisions[1])
    (fitting,) = (one for one in found.architectures if float32.admits(space, one))
    wider = Architecture(tuple(width + 1 for width in fitting.widths), fitting.dimension)
    ratio = float32.limits[0].cost(space, fitting) / float32.limits[0].upper
    assert ratio < 0.85 or not float32.admits(space, wider)  # a small one is not widened
    assert all(budget.admits(space, one) for one in found.architectures)


def test_forged_candidates_over_the_limit_are_refused(run: PlannedRun, search: Search) -> None:
    found = {"effects": [], "snapshots": [], "skipped": 0, "dropped": [], "one_shot": [0.5]}
    widest = run.plan.feasible.space.widths[0][-1]
    for forged in (f"{widest}-{widest}", f"d8-{widest}", f"{widest + 1}", "1-1-1-1", "d3-4"):
        with pytest.raises(TabNASError, match="not within the limits"):
            load_search_result(found | {"architectures": [forged]}, run.plan)
    between = load_search_result(found | {"architectures": ["9-11"]}, run.plan)
    assert between.architectures == (Architecture((9, 11)),)
