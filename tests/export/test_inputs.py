"""The inputs of a file for each kind of column, and how missing values are written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pytest

from tabnas.data import ClassTarget, Kind, Table, TableEncoder
from tabnas.data.columns import CategoricalColumn, EncodedColumn
from tabnas.errors import TabNASError
from tabnas.export import OnnxSession, export_onnx, onnx_inputs
from tabnas.export._inputs import MISSING_INTEGER, column_input, parse_integer, takes_integers
from tabnas.export._onnx_file import build_file
from tabnas.model import Model
from tests.export.strategies import untrained

YES_NO = ClassTarget(name="answer", classes=("no", "yes"))


def everything() -> Table:
    return Table(
        pa.table(
            {
                "age": pa.array([31, None, 44, 27], pa.int64()),
                "member": [True, False, None, True],
                "city": ["Bern", None, "Zürich", "Bern"],
                "zone": pa.array([4, 8, None, 4], pa.int64()),
                "since": pa.array([0, 86_400, None, 10**9], pa.timestamp("s")),
                "same": ["x"] * 4,
            }
        )
    )


def model_of(table: Table, **options: object) -> Model:
    encoder = TableEncoder.fit(table, min_count=1, **options)  # type: ignore[arg-type]
    return untrained(encoder, YES_NO, [5])


def test_one_input_a_column_with_its_name_type_and_words(tmp_path: Path) -> None:
    model = model_of(everything(), kinds={"zone": "categorical"})
    exported = export_onnx(model, tmp_path / "m.onnx", check=everything())
    assert exported.inputs == {
        "age": "float64",
        "member": "float64",
        "city": "string",
        "zone": "int64",
        "since": "int64",
    }
    loaded = onnx.load(tmp_path / "m.onnx")
    words = {value.name: value.doc_string for value in loaded.graph.input}
    assert words["age"] == "numeric: a number; missing: NaN"
    assert words["city"].endswith("missing: the empty text")
    assert words["since"].endswith(f"missing: {MISSING_INTEGER}")
    for value in loaded.graph.input:
        rows, width = value.type.tensor_type.shape.dim
        assert (rows.dim_param, width.dim_value) == ("rows", 1)
    metadata = {prop.key: prop.value for prop in loaded.metadata_props}
    assert list(json.loads(metadata["tabnas.columns"])) == list(exported.inputs)
    assert json.loads(metadata["tabnas.columns_ignored"]) == ["same"]


def test_rows_of_a_table_as_a_file_takes_them() -> None:
    model = model_of(everything(), kinds={"zone": "categorical"})
    given = onnx_inputs(model, everything())
    assert given["zone"].tolist() == [[4], [8], [MISSING_INTEGER], [4]]
    assert given["since"].tolist() == [[0], [86_400], [MISSING_INTEGER], [10**9]]
    assert given["city"].tolist() == [["Bern"], [""], ["Zürich"], ["Bern"]]
    np.testing.assert_array_equal(given["member"][:, 0], [1, 0, np.nan, 1])
    assert all(array.shape == (4, 1) for array in given.values())


def test_arrays_are_taken_by_position() -> None:
    model = model_of(Table.from_data(np.array([[1.0, 2.0], [3.0, 5.0], [0.5, 4.0]])))
    assert onnx_inputs(model, np.array([[7.0, 8.0]]))["x1"].tolist() == [[8.0]]
    with pytest.raises(TabNASError, match="must have the 2 columns of the training table"):
        onnx_inputs(model, np.zeros((1, 3)))


def test_an_unseen_category_is_any_other_integer_or_text() -> None:
    model = model_of(everything(), kinds={"zone": "categorical"})
    rows = {"age": [30], "member": [True], "city": ["Bern"], "zone": [4], "since": ["2001-01-01"]}
    as_table = Table.from_data(rows | {"city": ["Olten"], "zone": ["centre"]})
    given = onnx_inputs(model, as_table)
    assert given["zone"][0, 0] not in (4, 8, MISSING_INTEGER)
    expected = model.predict_proba(as_table)
    for zone in (given["zone"], np.array([[77]])):
        outputs = _probabilities(model, given | {"zone": zone, "city": np.array([["?!"]], object)})
        np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_marks_of_missing_texts_are_known_to_the_file() -> None:
    model = model_of(everything())
    given = onnx_inputs(model, everything())
    outputs = [
        _probabilities(model, given | {"city": np.array([[mark]] * 4, object)})
        for mark in ("", "?", "NA", "null")
    ]
    assert all((one == outputs[0]).all() for one in outputs)


def test_infinite_numbers_act_as_the_largest() -> None:
    model = model_of(everything())
    given = onnx_inputs(model, everything())
    largest, infinite = (
        _probabilities(model, given | {"age": np.full((4, 1), x)}) for x in (1.7e308, np.inf)
    )
    np.testing.assert_array_equal(largest, infinite)


def _probabilities(model: Model, given: dict[str, np.ndarray]) -> np.ndarray:
    file = build_file(model, model.weights, weights_only=False)
    return OnnxSession(file.data).run(given)["probabilities"]


@pytest.mark.parametrize(
    ("vocabulary", "integers"),
    [
        (("1", "-7"), True),
        (("1", "x"), False),
        (("1", "007"), False),
        (("1.5",), False),
        (("false", "true"), False),
        ((str(2**63 - 1),), True),
        ((str(2**63),), False),
        ((str(MISSING_INTEGER),), False),
        ((), False),
    ],
)
def test_categories_are_integers_if_all_are(vocabulary: tuple[str, ...], integers: bool) -> None:
    column = CategoricalColumn(name="c", vocabulary=vocabulary, has_missing=False, pooled=0)
    assert takes_integers(column) == integers
    assert column_input(column).dtype == ("int64" if integers else "string")


@pytest.mark.parametrize("text", ["", "-", "+1", "1_0", "٣", "1e3", "-0", "9" * 30])
def test_no_integers(text: str) -> None:
    assert parse_integer(text) is None


def test_names_of_columns_and_outputs_may_clash(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["label", "probabilities", "label_", "layer.1.weight", "sub", "日本", "a b/c:0"]
    table = Table.from_data({name: rng.normal(size=9) for name in names})
    exported = export_onnx(model_of(table), tmp_path / "m.onnx", check=table)
    assert list(exported.inputs) == names
    assert list(exported.outputs) == ["label__", "probabilities_"]
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    roles = {name: one["role"] for name, one in json.loads(metadata["tabnas.outputs"]).items()}
    assert roles == {"label__": "label", "probabilities_": "probabilities"}


def test_features_named_like_columns_stay_apart(tmp_path: Path) -> None:
    table = Table.from_data({"a is missing": [0.0, 1.0, 2.0, 9.0], "a": [1.0, None, 3.0, 4.0]})
    exported = export_onnx(model_of(table), tmp_path / "m.onnx", check=table)
    assert exported.parity.rows == 4


class Odd(EncodedColumn):
    """A kind of column that no file knows."""

    kind = Kind.NUMERIC

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, column: object, numeric: np.ndarray, codes: np.ndarray) -> None:
        numeric[:] = 0

    def describe(self) -> str:
        return "odd"


def test_a_kind_that_no_file_takes_is_refused_by_name(tmp_path: Path) -> None:
    encoder = TableEncoder((Odd(name="odd"),), (), (), ("odd",), True)
    model = untrained(encoder, YES_NO, [2])
    with pytest.raises(TabNASError, match="but 'odd' is numeric; export the weights only"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
