from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from tabnas.cli._main import run
from tabnas.cli._tables import is_local
from tabnas.cli._test_rows import load_test_rows
from tabnas.data import DATASETS, read_table
from tabnas.export import OnnxSession, onnx_inputs
from tabnas.runs import load_result, load_run_model
from tabnas.stores import open_store
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import BRIEF, make_columns, write_csv


@pytest.mark.parametrize("kind", ["classes", "quantity"])
def test_export_of_a_run(
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
    answers = OnnxSession((here / "m.onnx").read_bytes()).run(given)
    if kind == "classes":
        assert answers["label"].tolist() == model.predict(rows).tolist()
    else:
        np.testing.assert_allclose(answers["value"][:, 0], model.predict(rows), atol=1e-4)


def test_the_file_is_checked_on_the_test_rows(finished: Path) -> None:
    judged = load_test_rows(finished / "classes")
    assert judged.rows is not None
    assert len(judged.rows) == load_result(finished / "classes").rows.test
    assert "kind" in judged.rows
    assert not judged.caution


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `good.csv` and its finished runs of a wide network: `test` and `refit`."""
    folder = tmp_path_factory.mktemp("wide")
    good = write_csv(folder / "good.csv", make_columns())
    asked = ["search", str(good), "--target", "kind", "--drop", "value", "--quiet", *BRIEF]
    asked += ["--max-parameters", "9999", "--widths", "64", "--layers", "2"]
    assert run([*asked, "--out", str(folder / "test")]) == 0
    assert run([*asked, "--out", str(folder / "refit"), "--refit"]) == 0
    return folder


def test_int8_as_json(wide: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(wide / "test"), "m.onnx", "--int8", "--margin", "0.5"]
    assert run([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["bytes"] == (here / "m.onnx").stat().st_size
    assert printed["int8"]["rows"] == printed["parity"]["rows"] == 12
    assert printed["int8"]["metric"] == "log_loss"
    assert run(arguments) == 0
    said = capsys.readouterr().out
    assert "without int8, on 12 rows" in said
    assert "was trained on these rows" not in said
    assert printed["bytes"] < printed["int8"]["bytes_before"]
    assert printed["checked_on"] == "test rows of the run"
    assert printed["caution"] is None


def test_a_score_on_training_rows_has_a_caution(
    wide: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(wide / "refit"), "m.onnx", "--int8", "--margin", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "test rows of the run" in said
    assert "was trained on these rows" in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_int8_of_a_small_network_is_refused_with_both_sizes(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(finished / "classes"), "float.onnx"]) == 0
    size = (here / "float.onnx").stat().st_size
    capsys.readouterr()
    said = run_refused(["export", str(finished / "classes"), "m.onnx", "--int8"], capsys)
    assert f"bytes instead of {size:,}" in said
    assert not (here / "m.onnx").exists()


def test_a_table_that_has_changed_has_no_test_rows(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished / "classes", here / "moved")
    columns = make_columns()
    write_csv(here / "good.csv", columns)
    config = (here / "moved" / "config.toml").read_text()
    config = config.replace(str(finished / "good.csv"), str(here / "good.csv"))
    (here / "moved" / "config.toml").write_text(config)
    assert load_test_rows(here / "moved").rows is not None  # elsewhere, and the same
    columns["size"][0] = "3.25"
    write_csv(here / "good.csv", columns)
    assert run(["export", "moved", "m.onnx"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "on no real rows: the run's table has changed since" in said
    assert "test rows" not in said
    said = run_refused(["export", "moved", "m.onnx", "--int8"], capsys)
    assert "has changed since; name some with --check" in said


def test_test_rows_of_a_run_of_a_tradeoff(here: Path) -> None:
    write_csv(here / "good.csv", make_columns())
    asked = ["tradeoff", "good.csv", "--target", "kind", "--drop", "value", "--quiet"]
    asked += ["--limits", "20,2000", "--widths", "0,4", "--layers", "1", "--candidates", "1"]
    assert run([*asked, "--out", "curve"]) == 0
    for name in ("limit-20", "limit-2000"):
        assert load_test_rows(here / "curve" / name).description == "test rows of the run"


@pytest.mark.parametrize("name", ["adult", "iris"])
def test_a_run_on_a_dataset_that_needs_no_download_is_checked_on_its_rows(
    name: str,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = replace(DATASETS["iris"].load(), table=read_table(finished / "good.csv"), target="kind")
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], load=lambda: small))
    asked = ["search", name, "--drop", "value", "--max-parameters", "300", "--quiet", *BRIEF]
    assert run([*asked, "--out", "run"]) == 0
    assert run(["export", "run", "m.onnx"]) == 0
    assert "on 12 test rows of the run and " in capsys.readouterr().out


def test_only_datasets_of_openml_need_a_download() -> None:
    for name, dataset in DATASETS.items():
        assert is_local(name) is not dataset.source.startswith("OpenML"), name


# -- rows of a store -------------------------------------------------------------------------------

STORED_ROWS = 400


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a run of a wide network on it, and a trade-off."""
    folder = tmp_path_factory.mktemp("stored")
    table = write_csv(folder / "good.csv", make_columns(STORED_ROWS))
    store = str(folder / "store")
    encode = ["encode", str(table), "--target", "kind", "--drop", "value", "--quiet"]
    assert run([*encode, "--out", store]) == 0
    widths = ["--widths", "64", "--layers", "2", "--quiet"]
    asked = ["search", store, "--max-parameters", "9999", *widths, *BRIEF]
    assert run([*asked, "--out", str(folder / "run")]) == 0
    small = ["--limits", "20,2000", "--widths", "0,4", "--layers", "1", "--candidates", "1"]
    assert run(["tradeoff", store, *small, "--quiet", "--out", str(folder / "curve")]) == 0
    return folder


def test_a_run_on_a_store_is_checked_on_its_rows(
    stored: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = open_store(stored / "store").rows["test"]
    assert run(["export", str(stored / "run"), "m.onnx"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"on {rows} encoded test rows of the run's store and " in said
    assert "encoded rows check only the network" in said
    assert "no longer on this machine" not in said
    assert run(["export", str(stored / "run"), "m.onnx", "--weights-only"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"on {rows} encoded test rows of the run's store and " in said
    assert "encoded rows check only the network" not in said  # there is nothing else in the file
    assert run(["export", str(stored / "run"), "m.onnx", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["parity"]["rows"] == rows
    assert printed["checked_on"] == "encoded test rows of the run's store"


def test_c_files_are_not_checked_on_encoded_rows(
    stored: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(stored / "run"), "--c", "firmware"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "on no real rows: they are encoded; name some with --check FILE" in said
    assert "test rows of the run" not in said
    assert run(["export", str(stored / "run"), "--c", "firmware", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["parity"]["rows"] == 0 < printed["parity"]["probe_rows"]
    assert printed["checked_on"] == "generated rows"


def test_int8_is_measured_on_the_rows_of_a_store(
    stored: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(stored / "run"), "exact.onnx"]) == 0
    capsys.readouterr()
    asked = ["export", str(stored / "run"), "m.onnx", "--int8", "--margin", "0.5", "--json"]
    assert run(asked) == 0
    printed = json.loads(capsys.readouterr().out)["int8"]
    assert printed["rows"] == open_store(stored / "store").rows["test"]
    assert printed["bytes_before"] == (here / "exact.onnx").stat().st_size
    judged = load_result(stored / "run").scores["network"]["log_loss"].value
    assert printed["score_before"] == pytest.approx(judged, abs=1e-5)
    assert printed["score_after"] != printed["score_before"]


def test_test_rows_of_a_tradeoff_on_a_store(stored: Path) -> None:
    for name in ("limit-20", "limit-2000"):
        judged = load_test_rows(stored / "curve" / name)
        assert judged.description == "encoded test rows of the run's store"


@pytest.mark.parametrize("how", ["other rows", "no store", "gone"])
def test_a_changed_store_is_reported(
    how: str, stored: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(stored / "run", here / "moved")
    config = (here / "moved" / "config.toml").read_text()
    (here / "moved" / "config.toml").write_text(
        config.replace(str(stored / "store"), str(here / "store"))
    )
    if how == "other rows":
        table = write_csv(here / "other.csv", make_columns(STORED_ROWS + 1))
        encode = ["encode", str(table), "--target", "kind", "--drop", "value", "--out", "store"]
        assert run([*encode, "--quiet"]) == 0
    elif how == "no store":
        (here / "store").mkdir()
    assert run(["export", "moved", "m.onnx"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    missing, changed = "is no longer on this machine", "store has changed since, or is no longer"
    why = missing if how == "gone" else changed
    assert f"on no real rows: the run's {'table ' if how == 'gone' else ''}{why}" in said


@pytest.mark.parametrize("name", ["higgs", "23512", "none", "gone.csv", "/dev/zero"])
def test_nothing_is_downloaded(
    finished: Path,
    here: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("it asks the network"))
    shutil.copytree(finished / "classes", here / "moved")
    config = (here / "moved" / "config.toml").read_text()
    config = config.replace(str(finished / "good.csv"), name)
    (here / "moved" / "config.toml").write_text(config)
    assert run(["export", "moved", "m.onnx"]) == 0
    assert "no longer on this machine" in " ".join(capsys.readouterr().out.split())


def test_weights_only(finished: Path, here: Path) -> None:
    assert run(["export", str(finished / "classes"), "m.onnx", "--weights-only"]) == 0
    loaded = onnx.load(here / "m.onnx")
    assert [value.name for value in loaded.graph.output] == ["raw", "probabilities"]


def test_a_run_whose_table_is_missing(
    wide: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(wide / "test", here / "moved")
    config = (here / "moved" / "config.toml").read_text()
    (here / "moved" / "config.toml").write_text(config.replace("good.csv", "gone.csv"))
    assert run(["export", "moved", "m.onnx"]) == 0
    assert "name some with --check FILE" in " ".join(capsys.readouterr().out.split())
    said = run_refused(["export", "moved", "m.onnx", "--int8"], capsys)
    assert "--int8 must have rows with the target 'kind'" in said
    assert "no longer on this machine; name some with --check FILE" in said
    write_csv(here / "some.csv", make_columns())
    arguments = ["export", "moved", "m.onnx", "--int8", "--margin", "1", "--check", "some.csv"]
    assert run(arguments) == 0
    assert "on 60 rows of some.csv" in capsys.readouterr().out


def test_the_folder_of_a_model(finished: Path, here: Path) -> None:
    assert run(["export", str(finished / "classes" / "model"), "m.onnx"]) == 0
    assert (here / "m.onnx").exists()


def test_the_file_can_be_given_with_out(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(finished / "classes")
    assert run(["export", folder, "--out", "m.onnx", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "m.onnx"
    assert (here / "m.onnx").exists()
    assert "one file must be given" in run_refused(
        ["export", folder, "a.onnx", "--out", "b.onnx"], capsys
    )
    assert "tabnas export RUN model.onnx" in run_refused(["export", folder], capsys)


def test_invalid_arguments_are_refused(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(finished / "classes")
    assert "must end in .onnx" in run_refused(["export", folder, "m.pb"], capsys)
    assert "must be the folder of a finished run" in run_refused(
        ["export", "none", "m.onnx"], capsys
    )
    assert "gone.csv" in run_refused(["export", folder, "m.onnx", "--check", "gone.csv"], capsys)
    assert not list(here.iterdir())
