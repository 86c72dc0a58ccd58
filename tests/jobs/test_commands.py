"""Commands on real clusters give the same results as on one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tabnas.cli._main import run
from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments.toy import ToyExperiment
from tests.cli.conftest import make_columns, write_csv

pytestmark = pytest.mark.slow


def test_an_experiment_on_dask_gives_the_same_result(
    dask_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    # figures are drawn here, not on the cluster, and would take most of the time
    monkeypatch.setattr(ToyExperiment, "plot", lambda *details: None)
    there = ["--backend", "dask", "--address", dask_address]
    assert run(["paper", "toy", "--quick", "--out", str(tmp_path), *there]) == 0
    assert json.loads((tmp_path / "summary.json").read_text())["optimum"] == "4-2"
    jobs = ToyExperiment(read_definition("toy", quick=True)).jobs()
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    names = ("part", "title", "reward", "baseline_update")
    on_cluster, expected = (
        {tuple(one.get(name) for name in names) for one in ones} for ones in (rows, jobs)
    )
    assert on_cluster == expected


def test_a_tradeoff_on_ray_gives_the_same_result(ray_address: str, tmp_path: Path) -> None:
    table = str(write_csv(tmp_path / "table.csv", make_columns()))
    arguments = [table, "--target", "kind", "--drop", "value,day", "--limits", "20,60"]
    small = ["--widths", "0,4,8", "--layers", "1", "--candidates", "1", "--quiet"]
    there = ["--backend", "ray", "--address", ray_address]
    for name, options in (("alone", []), ("ray", there)):
        assert run(["tradeoff", *arguments, *small, "--out", str(tmp_path / name), *options]) == 0
    local, on_ray = (read_tradeoff(tmp_path / name) for name in ("alone", "ray"))
    assert local == on_ray


def read_tradeoff(folder: Path) -> dict[str, object]:
    """Return the trade-off and the weights of all its models."""
    tradeoff = json.loads((folder / "tradeoff.json").read_text())
    assert tradeoff.pop("timings")
    models = sorted(folder.glob("limit-*/model/weights.safetensors"))
    assert len(models) == 2
    return {"tradeoff": tradeoff, "weights": [model.read_bytes() for model in models]}
