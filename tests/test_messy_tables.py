"""Every messy table through tables, stores, ONNX, estimators and the command line."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tabnas import TabNASClassifier
from tabnas.cli._main import run
from tabnas.data import ClassTarget, DataWarning, EncodedTable, Table, TableEncoder, read_table
from tabnas.export import export_c, export_onnx, onnx_inputs
from tabnas.stores import encode_store
from tests.conftest import BRIEF, patch_plan_constants
from tests.export.strategies import make_untrained_model
from tests.messy_tables import MESSY_TABLES, NEW, MessyTable, write_table

QUICK = ("codes with leading zeros, declared", "dollars", "thousands in a file of decimal commas")
"""Tables that go all the way in every run of the tests."""


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    with patch_plan_constants(BRIEF):
        yield


def all_the_way(messy_table: MessyTable) -> Any:
    marks = [] if messy_table.name in QUICK else [pytest.mark.slow]
    return pytest.param(messy_table, id=messy_table.name, marks=marks)


each = pytest.mark.parametrize(
    "messy_table", MESSY_TABLES, ids=[messy_table.name for messy_table in MESSY_TABLES]
)
each_all_the_way = pytest.mark.parametrize("messy_table", list(map(all_the_way, MESSY_TABLES)))


def declared(messy_table: MessyTable) -> dict[str, str]:
    return {"x": "categorical"} if "--categorical" in messy_table.options else {}


def fitted(messy_table: MessyTable, folder: Path) -> TableEncoder:
    path = write_table(folder / "train.csv", messy_table.train(), messy_table.separator)
    table = read_table(path, text=declared(messy_table)).drop(["y"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = TableEncoder.fit(table, kinds=declared(messy_table))
    assert [str(one.message) for one in caught] == list(encoder.notes)
    return encoder


def new_tables(messy_table: MessyTable, folder: Path, encoder: TableEncoder) -> dict[str, Table]:
    tables = {}
    for number, (way, columns) in enumerate(messy_table.new().items()):
        path = write_table(folder / f"new-{number}.csv", columns, messy_table.separator)
        tables[f"a file, {way}"] = read_table(path, text=encoder.text_columns)
        tables[f"a file, types guessed, {way}"] = read_table(path)
        tables[f"a frame, {way}"] = Table.from_data(columns)
    return tables


def same(one: EncodedTable, other: EncodedTable, messy_table: MessyTable) -> bool:
    rows = NEW - (messy_table.odd is not None)
    return bool(
        (one.numeric[:rows] == other.numeric[:rows]).all()
        and (one.categorical[:rows] == other.categorical[:rows]).all()
    )


@each
def test_new_rows_mean_the_same_however_they_are_written(
    messy_table: MessyTable, tmp_path: Path
) -> None:
    encoder = fitted(messy_table, tmp_path)
    assert encoder.describe()["x"].startswith(messy_table.kind)
    assert any(messy_table.note in note for note in encoder.notes) or not messy_table.note
    assert bool(encoder.notes) == bool(messy_table.note)
    tables = new_tables(messy_table, tmp_path, encoder)
    first = encoder.encode(next(iter(tables.values())))
    assert (first.categorical != 0).all()
    for way, table in tables.items():
        assert same(encoder.encode(table), first, messy_table), way
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert same(again.encode(table), first, messy_table)


@each
def test_stores_see_what_tables_see(messy_table: MessyTable, tmp_path: Path) -> None:
    encoder = fitted(messy_table, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        store = encode_store(
            tmp_path / "train.csv", tmp_path / "store", target="y", kinds=declared(messy_table)
        )
    assert store.encoder.describe()["x"].startswith(messy_table.kind)
    assert [
        note for note in store.metadata["notes"] if messy_table.note in note
    ] or not messy_table.note
    assert store.encoder.text_columns == encoder.text_columns
    tables = new_tables(messy_table, tmp_path, store.encoder)
    first = store.encoder.encode(next(iter(tables.values())))
    for way, table in tables.items():
        assert same(store.encoder.encode(table), first, messy_table), way


@each
def test_exported_files_answer_alike(messy_table: MessyTable, tmp_path: Path) -> None:
    target = ClassTarget(name="y", classes=("no", "yes"))
    model = make_untrained_model(fitted(messy_table, tmp_path), target, [4])
    tables = new_tables(messy_table, tmp_path, model.encoder)
    rows = pa.concat_tables([_texts(t) for way, t in tables.items() if "frame" in way])
    export_onnx(model, tmp_path / "model.onnx", check=rows)
    export_c(model, tmp_path, check=rows)
    fed = [onnx_inputs(model, table) for table in tables.values()]
    kept = NEW - (messy_table.odd is not None)
    for inputs in fed:
        for name, values in inputs.items():
            np.testing.assert_array_equal(values[:kept], fed[0][name][:kept])


def _texts(table: Table) -> pa.Table:
    return table.drop(["y"]).arrow


@each_all_the_way
def test_estimators(messy_table: MessyTable) -> None:
    pd = pytest.importorskip("pandas")
    train = pd.DataFrame(messy_table.train())
    model = TabNASClassifier(
        max_parameters=300,
        layers=1,
        candidates=1,
        random_state=0,
        categorical_features=list(declared(messy_table)) or None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(train[["x", "n"]], train["y"])
    assert any(messy_table.note in note for note in model.result_.notes) or not messy_table.note
    if messy_table.kind != "boolean":  # texts of a frame are no truth values
        assert model.result_.columns["x"].startswith(messy_table.kind)
    new = [pd.DataFrame(columns)[["x", "n"]] for columns in messy_table.new().values()]
    kept = NEW - (messy_table.odd is not None)
    answers = [model.predict_proba(rows)[:kept] for rows in new]
    for rows in answers:
        np.testing.assert_array_equal(rows, answers[0])


@pytest.mark.filterwarnings("default::tabnas.data.DataWarning")
@each_all_the_way
def test_command_line(
    messy_table: MessyTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    train = write_table(tmp_path / "train.csv", messy_table.train(), messy_table.separator)
    ways = [
        write_table(tmp_path / f"{number}.csv", columns, messy_table.separator)
        for number, columns in enumerate(messy_table.new().values())
    ]
    limit = ["--max-parameters", "300", "--layers", "1", "--candidates", "1", "--out", str(folder)]
    asked = ["search", str(train), "--target", "y", *messy_table.options, *limit]
    assert run([*asked, "--test", str(ways[-1])]) == 0
    said = capsys.readouterr()
    assert messy_table.note in " ".join(said.err.split())
    result = json.loads((folder / "result.json").read_text())
    assert any(messy_table.note in note for note in result["notes"]) or not messy_table.note
    kept = NEW - (messy_table.odd is not None)
    answers = []
    for path in ways:
        assert run(["predict", str(folder), str(path)]) == 0
        answers.append(capsys.readouterr().out.splitlines()[: kept + 1])
        assert answers[-1] == answers[0], path
