from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from tabnas.cli._main import run
from tabnas.cli._run_rows import judged_rows
from tabnas.data import read_table
from tabnas.export import Engine, onnx_inputs
from tabnas.runs import load_result, load_run_model
from tests.cli.conftest import made_columns, write_csv
from tests.cli.test_search import refused


@pytest.mark.parametrize("kind", ["classes", "quantity"])
def test_a_file_of_a_run(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert run(["export", str(finished / kind), "m.onnx"]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "12 test rows of the run" in said
    assert "size (float64), colour (string), day (int64)" in " ".join(said.split())
    model = load_run_model(finished / kind)
    rows = read_table(finished / "good.csv", text=model.text_columns)
    given = onnx_inputs(model, rows)
    answers = Engine((here / "m.onnx").read_bytes()).run(given)
    if kind == "classes":
        assert answers["label"].tolist() == model.predict(rows).tolist()
    else:
        np.testing.assert_allclose(answers["value"][:, 0], model.predict(rows), atol=1e-4)


def test_the_rows_are_those_of_the_test(finished: Path) -> None:
    rows = judged_rows(finished / "classes")
    assert rows is not None
    assert len(rows) == load_result(finished / "classes")["rows"]["test"]
    assert "kind" in rows


def test_int8_for_machines(finished: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(finished / "classes"), "m.onnx", "--int8", "--margin", "0.5"]
    assert run([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bytes"] == (here / "m.onnx").stat().st_size
    assert facts["int8"]["rows"] == facts["parity"]["rows"] == 12
    assert facts["int8"]["metric"] == "log_loss"
    assert run(arguments) == 0
    assert "in float32, on 12 rows" in capsys.readouterr().out


def test_weights_only(finished: Path, here: Path) -> None:
    assert run(["export", str(finished / "classes"), "m.onnx", "--weights-only"]) == 0
    loaded = onnx.load(here / "m.onnx")
    assert [value.name for value in loaded.graph.output] == ["raw", "probabilities"]


def test_a_run_whose_table_is_gone(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished / "classes", here / "moved")
    config = (here / "moved" / "config.toml").read_text()
    (here / "moved" / "config.toml").write_text(config.replace("good.csv", "gone.csv"))
    assert run(["export", "moved", "m.onnx"]) == 0
    assert "name some with --check FILE" in capsys.readouterr().out
    said = refused(["export", "moved", "m.onnx", "--int8"], capsys)
    assert "int8 weights must be measured on rows with the target 'kind'" in said
    write_csv(here / "some.csv", made_columns())
    arguments = ["export", "moved", "m.onnx", "--int8", "--margin", "1", "--check", "some.csv"]
    assert run(arguments) == 0
    assert "on 60 rows of some.csv" in capsys.readouterr().out


def test_a_models_own_folder(finished: Path, here: Path) -> None:
    assert run(["export", str(finished / "classes" / "model"), "m.onnx"]) == 0
    assert (here / "m.onnx").exists()


def test_what_cannot_be(finished: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(finished / "classes")
    assert "must end in .onnx" in refused(["export", folder, "m.pb"], capsys)
    assert "must be the folder of a finished run" in refused(["export", "none", "m.onnx"], capsys)
    assert "gone.csv" in refused(["export", folder, "m.onnx", "--check", "gone.csv"], capsys)
    assert not list(here.iterdir())
