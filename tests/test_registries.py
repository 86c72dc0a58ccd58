"""Everything that can be chosen by name is in its registry.

That it keeps its contract is checked by name, too: costs, engines and strategies in tests/testing,
rewards in tests/policy.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import tabnas
from tabnas import TabNASError
from tabnas.data import DATASETS
from tabnas.latency import RUNTIMES
from tabnas.nets import ENGINES
from tabnas.paper import load_ground_truth
from tabnas.policy import REWARDS
from tabnas.registries import by_name
from tabnas.runs import build_run_result
from tabnas.settings import RuntimeKind
from tabnas.space import (
    COSTS,
    Architecture,
    CallableCost,
    SearchSpace,
    TableCost,
    compute_costs,
)
from tabnas.strategies import STRATEGIES
from tests.runs.helpers import plan_short_run

ROOT = Path(tabnas.__file__).parent

NAMED = {
    "space/costs": COSTS,
    "policy/rewards": REWARDS,
    "strategies": STRATEGIES,
    "latency/runtimes": RUNTIMES,
}


@pytest.mark.parametrize("folder", NAMED)
def test_every_file_with_a_name_is_in_its_registry(folder: str) -> None:
    """Read from the source, so that what is found is compared with what is there."""
    files = (ROOT / folder).glob("_*.py")
    lines = [line.strip() for file in files for line in file.read_text().splitlines()]
    names = [line.split('"')[1] for line in lines if line.startswith('name = "')]
    assert sorted(names) == sorted(NAMED[folder])  # none is missing, none has another's name


def test_the_default_is_first() -> None:
    assert [next(iter(registry)) for registry in NAMED.values()] == [
        "parameters",
        "rejection",
        "guided",
        "onnxruntime",
    ]


def test_every_runtime_can_be_set() -> None:
    assert get_args(RuntimeKind) == tuple(RUNTIMES)


def test_names_are_kept_in_order() -> None:
    found = by_name(REWARDS["rena"], REWARDS["abs"])
    assert list(found) == ["rena", "abs"]
    assert found["abs"] is REWARDS["abs"]


def test_every_dataset_of_every_file_is_known() -> None:
    files = sorted((ROOT / "data" / "datasets").glob("_[a-z]*.py"))
    with_datasets = [file.stem for file in files if "\nDATASETS = " in file.read_text()]
    modules = [import_module(f"tabnas.data.datasets.{stem}") for stem in with_datasets]
    written = [one for module in modules for one in module.DATASETS]
    assert {one.name: one for one in written} == DATASETS
    assert len(written) == len(DATASETS)
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.source
        assert dataset.description


def test_every_engine_can_be_imported_by_its_name() -> None:
    packages = {file.parent.name for file in (ROOT / "nets").glob("*/_engine.py")}
    assert {name.split(".")[0] for name in ENGINES} == packages


def test_a_new_cost_breaks_nothing_that_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what was made before it, nor models that it has nothing to say about."""
    monkeypatch.setitem(COSTS, "units", COSTS["flops"])
    monkeypatch.setitem(COSTS, "bench", TableCost(name="bench", layers={}, heads={}))
    lookup = CallableCost(lambda architecture: {}[architecture], name="lookup")
    monkeypatch.setitem(COSTS, "lookup", lookup)
    assert "units" not in load_ground_truth("letter").costs
    space = SearchSpace([[4]], inputs=3, outputs=1)
    known = compute_costs(space, Architecture((4,)))
    assert "units" in known
    assert {"bench", "lookup"}.isdisjoint(known)
    with pytest.raises(TabNASError, match="the cost table 'bench' has no entry"):
        compute_costs(space, Architecture((4,)), required=["bench"])
    finished = plan_short_run(100).execute()
    assert {"bench", "lookup"}.isdisjoint(build_run_result(finished).costs)


def test_two_of_one_name_are_refused() -> None:
    class Twin(REWARDS["abs"]):  # type: ignore[misc]
        """Has the name of its parent."""

    with pytest.raises(TypeError, match="names must be unique, got rejection, abs, abs"):
        by_name(REWARDS["rejection"], REWARDS["abs"], Twin)
