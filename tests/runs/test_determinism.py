"""A seed gives the same bits in Python and on the command line, with any number of threads."""

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
from tabnas.model import _reference_models as reference_models
from tabnas.model import fit_boosted_trees
from tabnas.nets import Examples, Inputs, NetworkSpec
from tabnas.runs import LabelledTable, RunSettings, prepare_data, run_in_folder
from tabnas.search import Evaluation, History, Search, SearchSettings, fit_additive_model
from tests.runs.helpers import make_started_run, make_table, write_table

SETTINGS = RunSettings(limits={"parameters": 800}, seed=5, teacher="network")
SHORT = {"search_epochs": 3, "epochs": 3, "candidates": 2}


def read_bits(folder: Path) -> dict[str, Any]:
    """Return the files of a finished run, without its settings and timings."""
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

    def make_folders(by: str) -> dict[str, Path]:
        """Make the folders of started runs of both tables."""
        return {
            name: make_started_run(tmp_path / f"{name}-{by}", table, SETTINGS, SHORT)
            for name, table in tables.items()
        }

    processes = []
    for hashes, threads in (("1", "1"), ("2", "2")):
        counts = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        command = [sys.executable, "-c", RESUME, *map(str, make_folders(threads).values())]
        env = os.environ | counts | {"PYTHONHASHSEED": hashes}
        processes.append(subprocess.Popen(command, env=env))
    for name, folder in make_folders("python").items():
        run_in_folder(folder, LabelledTable.from_table(read_table(tables[name]), "kind"), SETTINGS)
    assert [process.wait() for process in processes] == [0, 0]
    for name in tables:
        one, two, python = (read_bits(tmp_path / f"{name}-{by}") for by in ("1", "2", "python"))
        assert one == two == python
        assert json.loads(python["result"])["boosted_trees"]["trees"]


@pytest.mark.parametrize("target", ["kind", "value"])
def test_boosted_trees_do_not_depend_on_threads(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        reference_models, "MIN_ROWS_FOR_THREADS", 0
    )  # otherwise only one thread is used
    other = {"kind": "value", "value": "kind"}[target]
    settings = RunSettings(limits={"parameters": 800})
    prepared = prepare_data(
        LabelledTable.from_table(make_table(4_000).drop([other]), target), settings
    )
    trees = prepared.tree_data()
    assert trees is not None

    def predict(threads: int) -> Any:
        with threadpool_limits(threads, user_api="openmp"):
            return fit_boosted_trees(
                prepared.target, trees.inputs.is_category, trees.train, [trees.test]
            ).predictions[0]

    assert np.array_equal(predict(1), predict(2))


def test_the_additive_model_does_not_depend_on_threads() -> None:
    """At this size, OpenBLAS gives different bits with two threads unless it is limited."""
    space = SearchSpace.uniform(layers=10, inputs=9, outputs=1)
    rng = np.random.default_rng(0)
    history = History()
    for step in range(2_500):
        history.add(Evaluation(step, rng.integers(20, size=(8, 10)), rng.normal(size=8)))

    def fit(threads: int) -> Any:
        with threadpool_limits(threads, user_api="blas"):
            return fit_additive_model(space, history)

    assert np.array_equal(fit(1), fit(2))


# -- streams ---------------------------------------------------------------------------------------


class RecordedSearch(Search):
    """A search that records its children and the rows of its steps."""

    def __init__(self, **changes: Any) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 3)).astype(np.float32)
        examples = Examples(
            NetworkSpec(inputs=Inputs(numeric=3), loss="logistic"), numeric=x, target=x[:, 0] > 0
        )
        space = SearchSpace.uniform(layers=2, widths=[2, 4, 8], inputs=3, outputs=1)
        default = SearchSettings(epochs=3, batch_size=16, seed=4)
        super().__init__(
            FeasibleSet(space, Budget(parameters=60)),
            examples,
            examples,
            replace(default, **changes),
        )
        self.initial_weights: Mapping[str, Any] = {
            k: v.copy() for k, v in self.net.weights().items()
        }
        self.sampled_children: list[Any] = []
        self.batch_rows: list[Any] = []
        at, sample = self._batches.at, self.child_sampler.sample

        def batch_and_record(step: int) -> Any:
            batch = at(step)
            self.batch_rows.append(np.concatenate(batch.rows))
            return batch

        def sample_and_record(*args: Any) -> Any:
            self.sampled_children.append(sample(*args))
            return self.sampled_children[-1]

        self._batches.at = batch_and_record  # type: ignore[method-assign]
        self.child_sampler.sample = sample_and_record  # type: ignore[method-assign]
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
def test_drawing_more_from_one_stream_shifts_no_other(
    changes: dict[str, Any], children_stay: bool
) -> None:
    default, changed = RecordedSearch(), RecordedSearch(**changes)
    assert default.initial_weights.keys() == changed.initial_weights.keys()
    for name, weights in default.initial_weights.items():
        assert np.array_equal(weights, changed.initial_weights[name])
    assert np.array_equal(np.concatenate(default.batch_rows), np.concatenate(changed.batch_rows))
    same_children = np.array_equal(default.sampled_children, changed.sampled_children)
    assert same_children == children_stay
    qualities = [search.history.flatten()[2].tolist() for search in (default, changed)]
    assert qualities[0] != qualities[1]  # the change had an effect


def test_workers_give_the_same_bits_however_they_are_scheduled() -> None:
    once, again = (RecordedSearch(workers=3).net.weights() for _ in range(2))
    assert all(np.array_equal(weights, again[name]) for name, weights in once.items())


PACKAGES = ("data", "nets", "search", "model", "runs")  # which a run uses


def test_the_documentation_names_every_stream() -> None:
    page = (Path(__file__).parents[2] / "docs" / "determinism.md").read_text()
    root = Path(tabnas.__file__).parent
    sources = [file for package in PACKAGES for file in (root / package).rglob("*.py")]
    calls = re.compile(r'\bstream\(.+?, f?"([a-z ]+)')
    names = {name for file in sources for name in calls.findall(file.read_text())}
    assert {"split", "trees", "weights", "policy"} <= names
    assert {name for name in names if f"`{name}" not in page} == set()
