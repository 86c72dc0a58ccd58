"""The inputs of a file for each kind of column, and their missing values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pytest

from tabnas.data import ClassTarget, Kind, Table, TableEncoder
from tabnas.data.columns import CategoricalColumn, FittedColumn
from tabnas.errors import TabNASError
from tabnas.export import OnnxSession, export_onnx, onnx_inputs
from tabnas.export._inputs import MISSING_INTEGER, column_input, parse_integer, takes_integers
from tabnas.export._onnx_file import build_file
from tabnas.model import Model
from tests.export.strategies import make_untrained_model

YES_NO = ClassTarget(name="answer", classes=("no", "yes"))


def make_all_kinds() -> Table:
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


def make_model(table: Table, **options: object) -> Model:
    encoder = TableEncoder.fit(table, min_count=1, **options)  # type: ignore[arg-type]
    return make_untrained_model(encoder, YES_NO, [5])


def test_every_column_has_an_input_with_name_type_and_description(tmp_path: Path) -> None:
    model = make_model(make_all_kinds(), kinds={"zone": "categorical"})
    exported = export_onnx(model, tmp_path / "m.onnx", check=make_all_kinds())
    assert exported.inputs == {
        "age": "float64",
        "member": "float64",
        "city": "string",
        "zone": "int64",
        "since": "int64",
    }
    loaded = onnx.load(tmp_path / "m.onnx")
    doc_strings = {value.name: value.doc_string for value in loaded.graph.input}
    assert doc_strings["age"] == "numeric: a number; missing: NaN"
    assert doc_strings["city"].endswith("missing: the empty text")
    assert doc_strings["since"].endswith(f"missing: {MISSING_INTEGER}")
    for value in loaded.graph.input:
        rows, width = value.type.tensor_type.shape.dim
        assert (rows.dim_param, width.dim_value) == ("rows", 1)
    metadata = {prop.key: prop.value for prop in loaded.metadata_props}
    assert list(json.loads(metadata["tabnas.columns"])) == list(exported.inputs)
    assert json.loads(metadata["tabnas.columns_ignored"]) == ["same"]


def test_rows_of_a_table_are_converted_to_inputs() -> None:
    model = make_model(make_all_kinds(), kinds={"zone": "categorical"})
    inputs = onnx_inputs(model, make_all_kinds())
    assert inputs["zone"].tolist() == [[4], [8], [MISSING_INTEGER], [4]]
    assert inputs["since"].tolist() == [[0], [86_400], [MISSING_INTEGER], [10**9]]
    assert inputs["city"].tolist() == [["Bern"], [""], ["Zürich"], ["Bern"]]
    np.testing.assert_array_equal(inputs["member"][:, 0], [1, 0, np.nan, 1])
    assert all(array.shape == (4, 1) for array in inputs.values())


def test_arrays_are_matched_by_position() -> None:
    model = make_model(Table.from_data(np.array([[1.0, 2.0], [3.0, 5.0], [0.5, 4.0]])))
    assert onnx_inputs(model, np.array([[7.0, 8.0]]))["x1"].tolist() == [[8.0]]
    with pytest.raises(TabNASError, match="must have the 2 columns of the training table"):
        onnx_inputs(model, np.zeros((1, 3)))


def test_any_other_integer_or_text_is_an_unseen_category() -> None:
    model = make_model(make_all_kinds(), kinds={"zone": "categorical"})
    rows = {"age": [30], "member": [True], "city": ["Bern"], "zone": [4], "since": ["2001-01-01"]}
    as_table = Table.from_data(rows | {"city": ["Olten"], "zone": ["centre"]})
    for unseen in ("centre", MISSING_INTEGER):  # the integer that stands for a missing one, too
        inputs = onnx_inputs(
            model, as_table.arrow.drop_columns("zone").append_column("zone", [[unseen]])
        )
        assert inputs["zone"][0, 0] not in (4, 8, MISSING_INTEGER)
    expected = model.predict_proba(as_table)
    for zone in (inputs["zone"], np.array([[77]])):
        outputs = _probabilities(model, inputs | {"zone": zone, "city": np.array([["?!"]], object)})
        np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_marks_of_missing_texts_are_recognised_by_the_file() -> None:
    model = make_model(make_all_kinds())
    inputs = onnx_inputs(model, make_all_kinds())
    outputs = [
        _probabilities(model, inputs | {"city": np.array([[mark]] * 4, object)})
        for mark in ("", "?", "NA", "null")
    ]
    assert all((one == outputs[0]).all() for one in outputs)


def test_infinite_numbers_count_as_the_largest() -> None:
    model = make_model(make_all_kinds())
    inputs = onnx_inputs(model, make_all_kinds())
    largest, infinite = (
        _probabilities(model, inputs | {"age": np.full((4, 1), x)}) for x in (1.7e308, np.inf)
    )
    np.testing.assert_array_equal(largest, infinite)


def _probabilities(model: Model, inputs: dict[str, np.ndarray]) -> np.ndarray:
    file = build_file(model, model.weights, weights_only=False)
    return OnnxSession(file.data).run(inputs)["probabilities"]


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
def test_texts_that_are_not_integers(text: str) -> None:
    assert parse_integer(text) is None


def test_outputs_are_renamed_if_columns_have_their_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["label", "probabilities", "label_", "layer.1.weight", "sub", "日本", "a b/c:0"]
    table = Table.from_data({name: rng.normal(size=9) for name in names})
    exported = export_onnx(make_model(table), tmp_path / "m.onnx", check=table)
    assert list(exported.inputs) == names
    assert list(exported.outputs) == ["label__", "probabilities_"]
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    roles = {name: one["role"] for name, one in json.loads(metadata["tabnas.outputs"]).items()}
    assert roles == {"label__": "label", "probabilities_": "probabilities"}


def test_features_named_like_columns_are_kept_apart(tmp_path: Path) -> None:
    table = Table.from_data({"a is missing": [0.0, 1.0, 2.0, 9.0], "a": [1.0, None, 3.0, 4.0]})
    exported = export_onnx(make_model(table), tmp_path / "m.onnx", check=table)
    assert exported.parity.rows == 4


class OddColumn(FittedColumn):
    """A kind of column that cannot be exported."""

    kind = Kind.NUMERIC

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, column: object, numeric: np.ndarray, codes: np.ndarray) -> None:
        numeric[:] = 0

    def describe(self) -> str:
        return "odd"


def test_hashed_columns_have_no_input() -> None:
    table = Table.from_data({"user": ["a", "b", "c"], "x": [1.0, 2.0, 4.0]})
    model = make_model(table, kinds={"user": "hashed"})
    with pytest.raises(TabNASError, match="'user' is hashed, and ONNX has no such hash"):
        onnx_inputs(model, table)


def test_a_kind_that_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    encoder = TableEncoder((OddColumn(name="odd"),), (), (), ("odd",), True)
    model = make_untrained_model(encoder, YES_NO, [2])
    with pytest.raises(TabNASError, match="but 'odd' is numeric; export the weights only"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
