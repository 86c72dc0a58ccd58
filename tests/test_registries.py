"""What is chosen by name is found where it lies.

That it keeps its contract is checked by name, too: costs, engines and strategies in tests/testing,
rewards in tests/policy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

import tabnas
from tabnas import TabnasError
from tabnas.data import DATASETS
from tabnas.nets import ENGINES
from tabnas.paper import ground_truth
from tabnas.policy import REWARDS, Reward
from tabnas.registries import classes_by_name, modules_of
from tabnas.space import COSTS, Architecture, SearchSpace, TableCost, known_costs
from tabnas.strategies import STRATEGIES

ROOT = Path(tabnas.__file__).parent

NAMED = {"space/costs": COSTS, "policy/rewards": REWARDS, "strategies": STRATEGIES}


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
        "tabnas",
    ]


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "made_up_rewards"
    (package / "deeper").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "deeper" / "__init__.py").write_text("raise AssertionError('not ours to import')")
    (package / "_first.py").write_text(
        "from tabnas.policy import Abs, Reward\n"
        "class Base(Reward):\n    pass\n"
        "class Kind(Base):\n    name = 'kind'\n"
    )
    (package / "_second.py").write_text(
        "from made_up_rewards._first import Kind\nclass Able(Kind):\n    name = 'able'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = classes_by_name("made_up_rewards", Reward, first="kind")
    assert list(found) == ["kind", "able"]
    assert [module.__name__ for module in modules_of("made_up_rewards")] == [
        "made_up_rewards._first",
        "made_up_rewards._second",
    ]
    for name in [name for name in sys.modules if name.startswith("made_up_rewards")]:
        monkeypatch.delitem(sys.modules, name)


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
        assert dataset.about


def test_every_engine_can_be_imported_by_its_name() -> None:
    packages = {file.parent.name for file in (ROOT / "nets").glob("*/_engine.py")}
    assert {name.split(".")[0] for name in ENGINES} == packages


def test_a_new_cost_breaks_nothing_that_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what was made before it, nor models that it has nothing to say about."""
    monkeypatch.setitem(COSTS, "units", COSTS["flops"])
    monkeypatch.setitem(COSTS, "bench", TableCost(name="bench", layers={}, heads={}))
    assert "units" not in ground_truth("letter").costs
    space = SearchSpace([[4]], inputs=3, outputs=1)
    known = known_costs(space, Architecture((4,)))
    assert "units" in known
    assert "bench" not in known
    with pytest.raises(TabnasError, match="the cost table 'bench' has no entry"):
        known_costs(space, Architecture((4,)), needed=["bench"])


def test_two_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "made_up_twins"
    package.mkdir()
    (package / "__init__.py").touch()
    for file in ("_one.py", "_two.py"):
        kind = "from tabnas.policy import Reward\nclass Kind(Reward):\n    name = 'kind'\n"
        (package / file).write_text(kind)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(TypeError, match="made_up_twins must have names of their own"):
        classes_by_name("made_up_twins", Reward, first="kind")
    for name in [name for name in sys.modules if name.startswith("made_up_twins")]:
        monkeypatch.delitem(sys.modules, name)
