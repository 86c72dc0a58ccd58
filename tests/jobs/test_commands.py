"""Commands on real clusters."""

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


def test_an_experiment(dask_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    # pictures are drawn here, not on the cluster, and would take most of the time
    monkeypatch.setattr(ToyExperiment, "draw", lambda *details: None)
    there = ["--backend", "dask", "--address", dask_address]
    assert run(["paper", "toy", "--quick", "--out", str(tmp_path), *there]) == 0
    assert json.loads((tmp_path / "summary.json").read_text())["optimum"] == "4-2"
    jobs = ToyExperiment(read_definition("toy", quick=True)).jobs()
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    names = ("part", "title", "reward", "average")
    made, wanted = (
        {tuple(one.get(name) for name in names) for one in ones} for ones in (rows, jobs)
    )
    assert made == wanted


def test_a_tradeoff(ray_address: str, tmp_path: Path) -> None:
    table = str(write_csv(tmp_path / "table.csv", make_columns()))
    asked = [table, "--target", "kind", "--drop", "value,day", "--limits", "20,60"]
    small = ["--widths", "0,4,8", "--layers", "1", "--candidates", "1", "--quiet"]
    there = ["--backend", "ray", "--address", ray_address]
    for name, options in (("alone", []), ("ray", there)):
        assert run(["tradeoff", *asked, *small, "--out", str(tmp_path / name), *options]) == 0
    alone, together = (left(tmp_path / name) for name in ("alone", "ray"))
    assert alone == together


def left(folder: Path) -> dict[str, object]:
    """The curve and the weights of all its models."""
    told = json.loads((folder / "tradeoff.json").read_text())
    assert told.pop("timings")
    models = sorted(folder.glob("limit-*/model/weights.safetensors"))
    assert len(models) == 2
    return {"told": told, "weights": [model.read_bytes() for model in models]}
