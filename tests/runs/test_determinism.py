"""One seed, the same bits: whoever asks, in whatever process, with however many threads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tabnas
from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.data import read_table
from tabnas.model import _baselines as baselines
from tabnas.model import fit_boosted_trees
from tabnas.nets import Examples, Inputs, Task
from tabnas.runs import LabelledTable, RunSettings, prepare_data, run_in_folder
from tabnas.search import Evaluation, History, Search, SearchSettings, fit_additive_model
from tests.runs.helpers import make_started_run, make_table, write_table

SETTINGS = RunSettings(limits={"parameters": 800}, seed=5)
SHORT = {"search_epochs": 3, "epochs": 3, "candidates": 2}


def collect_bits(folder: Path) -> dict[str, Any]:
    """All that a run has left, but its settings and times."""
    result = json.loads((folder / "result.json").read_text())
    assert result.pop("timings")
    files = [*(folder / "model").iterdir(), folder / "history.jsonl"]
    assert len(files) == 3
    return {file.name: file.read_bytes() for file in files} | {"result": json.dumps(result)}


ROWS = {"folds": 300, "validation": 3_900}
RESUME = """
import sys
from tabnas.cli._main import run
sys.exit(max(run(["resume", folder, "--quiet"]) for folder in sys.argv[1:]))
"""


@pytest.mark.slow
def test_command_line_python_hashes_and_threads_make_no_difference(tmp_path: Path) -> None:
    tables = {name: write_table(tmp_path / f"{name}.parquet", rows) for name, rows in ROWS.items()}

    def folders(by: str) -> dict[str, Path]:
        """Runs of both tables that somebody has begun."""
        return {
            name: make_started_run(tmp_path / f"{name}-{by}", table, SETTINGS, SHORT)
            for name, table in tables.items()
        }

    processes = []
    for hashes, threads in (("1", "1"), ("2", "2")):
        counts = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        command = [sys.executable, "-c", RESUME, *map(str, folders(threads).values())]
        env = os.environ | counts | {"PYTHONHASHSEED": hashes}
        processes.append(subprocess.Popen(command, env=env))
    for name, folder in folders("python").items():
        run_in_folder(folder, LabelledTable.from_table(read_table(tables[name]), "kind"), SETTINGS)
    assert [process.wait() for process in processes] == [0, 0]
    for name in tables:
        one, two, python = (collect_bits(tmp_path / f"{name}-{by}") for by in ("1", "2", "python"))
        assert one == two == python
        assert json.loads(python["result"])["boosted_trees"]["trees"]


@pytest.mark.parametrize("target", ["kind", "value"])
def test_boosted_trees_do_not_depend_on_threads(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "MIN_ROWS_FOR_THREADS", 0)  # else one thread does it
    other = {"kind": "value", "value": "kind"}[target]
    settings = RunSettings(limits={"parameters": 800})
    prepared = prepare_data(
        LabelledTable.from_table(make_table(4_000).drop([other]), target), settings
    )
    trees = prepared.tree_data()
    assert trees is not None

    def predicted(threads: int) -> Any:
        with threadpool_limits(threads, user_api="openmp"):
            return fit_boosted_trees(
                prepared.target, trees.inputs.is_category, trees.train, [trees.test]
            ).predictions[0]

    assert np.array_equal(predicted(1), predicted(2))


def test_the_additive_model_does_not_depend_on_threads() -> None:
    """At this size, OpenBLAS left to itself solves in other bits with two threads."""
    space = SearchSpace.uniform(layers=10, inputs=9, outputs=1)
    rng = np.random.default_rng(0)
    history = History()
    for step in range(2_500):
        history.add(Evaluation(step, rng.integers(20, size=(8, 10)), rng.normal(size=8)))

    def worths(threads: int) -> Any:
        with threadpool_limits(threads, user_api="blas"):
            return fit_additive_model(space, history)

    assert np.array_equal(worths(1), worths(2))


# -- streams ---------------------------------------------------------------------------------------


class Watched(Search):
    """A search that remembers the rows of its steps."""

    def __init__(self, **changes: Any) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 3)).astype(np.float32)
        examples = Examples(
            Task(inputs=Inputs(numeric=3), loss="logistic"), numeric=x, target=x[:, 0] > 0
        )
        space = SearchSpace.uniform(layers=2, widths=[2, 4, 8], inputs=3, outputs=1)
        plain = SearchSettings(epochs=3, batch_size=16, seed=4)
        super().__init__(
            FeasibleSet(space, Budget(parameters=60)), examples, examples, replace(plain, **changes)
        )
        self.began: Mapping[str, Any] = {k: v.copy() for k, v in self.net.weights().items()}
        self.children_drawn: list[Any] = []
        self.rows_seen: list[Any] = []
        at, draw = self._batches.at, self.child_sampler.sample

        def batch(step: int) -> Any:
            found = at(step)
            self.rows_seen.append(np.concatenate(found.rows))
            return found

        def drawn(*given: Any) -> Any:
            self.children_drawn.append(draw(*given))
            return self.children_drawn[-1]

        self._batches.at = batch  # type: ignore[method-assign]
        self.child_sampler.sample = drawn  # type: ignore[method-assign]
        self.run()


@pytest.mark.parametrize(
    ("changes", "children_stay"),
    [
        ({"evaluations_per_step": 5}, True),  # draws more from the stream of the policy
        ({"validation_batch_size": 7}, True),  # and from that of the validation rows
        ({"child_sampler": "feasible"}, False),  # and from that of the children
        ({"warmup": 0.9}, True),
    ],
    ids=str,
)
def test_who_draws_more_shifts_nobody_else(changes: dict[str, Any], children_stay: bool) -> None:
    plain, changed = Watched(), Watched(**changes)
    assert plain.began.keys() == changed.began.keys()
    for name, weights in plain.began.items():
        assert np.array_equal(weights, changed.began[name])
    assert np.array_equal(np.concatenate(plain.rows_seen), np.concatenate(changed.rows_seen))
    same_children = np.array_equal(plain.children_drawn, changed.children_drawn)
    assert same_children == children_stay
    qualities = [search.history.flatten()[2].tolist() for search in (plain, changed)]
    assert qualities[0] != qualities[1]  # the change was one


def test_workers_make_the_same_bits_however_they_are_scheduled() -> None:
    once, again = (Watched(workers=3).net.weights() for _ in range(2))
    assert all(np.array_equal(weights, again[name]) for name, weights in once.items())


ROOMS = ("data", "nets", "search", "model", "runs")  # that a run goes through


def test_the_page_names_every_stream() -> None:
    page = (Path(__file__).parents[2] / "docs" / "determinism.md").read_text()
    root = Path(tabnas.__file__).parent
    sources = [file for room in ROOMS for file in (root / room).rglob("*.py")]
    calls = re.compile(r'\bstream\(.+?, f?"([a-z ]+)')
    names = {name for file in sources for name in calls.findall(file.read_text())}
    assert {"split", "trees", "weights", "policy"} <= names
    assert {name for name in names if f"`{name}" not in page} == set()
