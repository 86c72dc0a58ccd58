"""Compiled files predict the same as their models, for any table, network and row."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, fit_target, load_dataset
from tabnas.data.columns import HashedColumn
from tabnas.errors import TabNASError
from tabnas.export.c._compiler import write_files
from tabnas.export.c._parity import check_compiled
from tabnas.export.c._program import make_program
from tabnas.export.c._row import make_rows
from tabnas.model import Model, round_network
from tabnas.nets import plain_forward
from tabnas.space import Precision
from tests.export.c.builds import build, encode, get_compiler
from tests.export.strategies import (
    RandomModel,
    can_predict,
    choose_all_knots,
    make_untrained_model,
    models,
)

TARGETS = {
    "binary": ClassTarget(name="y", classes=("no", "yes")),
    "multiclass": ClassTarget(name="y", classes=(0.5, 1.5, 2.5, 7.0, 9.0)),
    "regression": NumberTarget(name="y", center=1e6, scale=250.0),
}
DRIVER_CODE = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    tabnas_row row;
    while (fread(&row, sizeof row, 1, stdin) == 1) { {predict} }
    return 0;
}
"""


def make_table(rows: int, seed: int = 0, *, odd: bool = False) -> Table:
    """Return a column of every kind; with odd values of which most were not in training."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(40, 9, rows)
    zones, cities = rng.integers(-3, 4, rows), rng.choice(["Bern", "Zürich", "東京", "a b"], rows)
    seconds = rng.integers(0, 10**9, rows)
    if odd:
        values = [np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 1e38, 2.0**53 + 1]
        strange = rng.choice(values, rows)
        numbers = np.where(rng.random(rows) < 0.5, strange, numbers)
        zones = np.where(rng.random(rows) < 0.3, rng.integers(-(2**62), 2**62, rows), zones)
        cities = np.where(rng.random(rows) < 0.3, "elsewhere", cities)
        seconds = np.where(rng.random(rows) < 0.5, rng.integers(-(2**61), 2**61, rows), seconds)
    gaps = rng.random((4, rows)) < 0.1
    return Table(
        pa.table(
            {
                "size": pa.array(np.where(gaps[0], np.nan, numbers), from_pandas=True),
                "weight": pa.array(rng.gamma(2, 3, rows)),
                "member": pa.array(rng.random(rows) < 0.3, mask=gaps[1]),
                "city": pa.array(cities.tolist(), mask=gaps[2]),
                "zone": pa.array(zones),
                "since": pa.array(seconds, pa.timestamp("s"), mask=gaps[3]),
            }
        )
    )


def make_model(
    task: str,
    kinds: str,
    dimension: int,
    widths: list[int],
    scaling: str = "robust",
    precision: Precision = Precision.FLOAT32,
) -> tuple[Model, Table]:
    table = make_table(600)
    dropped = {"all": [], "numeric": ["member", "city", "zone", "since"]}
    dropped["categorical"] = ["size", "weight", "member", "since"]
    encoder = TableEncoder.fit(
        table,
        drop=dropped[kinds],
        kinds={"zone": "categorical"} if kinds != "numeric" else {},
        scaling=scaling,  # type: ignore[arg-type]
    )
    knots = choose_all_knots(encoder, table, 16)
    model = make_untrained_model(
        encoder, TARGETS[task], widths, numeric_dimension=dimension, knots=knots
    )
    weights = round_network(model.weights, precision)
    return replace(model, weights=weights, precision=precision), table


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8])
@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize(
    ("kinds", "dimension", "widths", "scaling"),
    [
        ("all", 3, [20, 9], "robust"),
        ("all", 0, [33], "standard"),
        ("numeric", 2, [16, 8, 3], "robust"),
        ("numeric", 0, [], "standard"),
        ("categorical", 0, [7, 12], "robust"),
    ],
)
def test_thousands_of_rows(
    task: str,
    kinds: str,
    dimension: int,
    widths: list[int],
    scaling: str,
    precision: Precision,
    tmp_path: Path,
) -> None:
    model, _ = make_model(task, kinds, dimension, widths, scaling, precision)
    assert model.architecture.dimension == dimension
    program, compiled = build(model, tmp_path)
    for odd in (False, True):
        table = make_table(3_000, seed=1, odd=odd)
        check_compiled(program, compiled, table, "cc")
        y_pred, labels = compiled.predict(make_rows(model.encoder, program.fields, table))
        if labels is None:
            off = np.abs(y_pred - model.predict(table)) / 250.0
        else:
            off = np.abs(y_pred - model.predict_proba(table)).max(axis=1)
            best = np.sort(model.predict_proba(table), axis=1)
            clear = best[:, -1] - best[:, -2] > 1e-5
            assert clear.mean() > 0.99
            predicted = np.array(model.classes)[labels]
            assert (predicted == model.predict(table))[clear].all()
        # ten units in the last place of float32; standard scaling lets odd numbers be huge
        usual = np.abs(model.encoder.encode(table).numeric).max(axis=1, initial=0) < 20
        assert off[usual].max() < 5e-6


@pytest.mark.parametrize("widths", [[17, 24, 5], [64, 32], [3, 3]], ids=str)
def test_rounding_is_no_worse_than_the_models(widths: list[int], tmp_path: Path) -> None:
    """Compared with the same network in float64."""
    model, _ = make_model("regression", "all", 2, widths)
    program, compiled = build(model, tmp_path)
    table = make_table(5_000, seed=3, odd=True)
    rows = model.encoder.encode(table)
    weights = {name: array.astype(np.float64) for name, array in model.weights.items()}
    raw, _, _ = plain_forward(
        weights, model.spec.inputs, rows.numeric, rows.categorical, len(widths)
    )
    exact = raw[:, 0] * 250.0 + 1e6
    values, _ = compiled.predict(make_rows(model.encoder, program.fields, table))
    for summarize in (np.median, np.mean, np.max):
        off, model_off = (summarize(np.abs(y - exact)) for y in (values, model.predict(table)))
        assert off < 1.5 * model_off


@pytest.mark.filterwarnings("ignore::tabnas.data.DataWarning")
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(case=models())
def test_any_model(case: RandomModel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, compiled = build(case.model, Path(folder), "-O0")
        for rows in (case.training_rows, case.other):
            known = rows if can_predict(case.model, rows) else None
            check_compiled(program, compiled, known, "cc")


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_encoded_inputs_have_the_same_bits(scaling: str, tmp_path: Path) -> None:
    """Numbers, booleans and categories; sines may differ by the last bit."""
    model, _ = make_model("binary", "all", 2, [4], scaling)
    program = make_program(model, "tabnas")
    table = make_table(500, seed=2, odd=True)
    found = encode(program, tmp_path, table)
    encoded = model.encoder.encode(table)
    numeric = encoded.numeric.shape[1]
    waves = [("sine" in name or "cosine" in name) for name in model.encoder.features]
    assert any(waves)
    np.testing.assert_array_equal(
        found[:, :numeric][:, ~np.array(waves)], encoded.numeric[:, ~np.array(waves)]
    )
    np.testing.assert_allclose(found[:, :numeric], encoded.numeric, rtol=0, atol=2e-7)
    weights = {name: array.astype(np.float64) for name, array in model.weights.items()}
    _, layers, _ = plain_forward(
        weights, model.spec.inputs, encoded.numeric, encoded.categorical, 1
    )
    np.testing.assert_allclose(found, layers[0].inputs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "diabetes", "wine"])
def test_real_tables(name: str, tmp_path: Path) -> None:
    data = load_dataset(name)
    table = data.table.drop([data.target])
    encoder = TableEncoder.fit(table)
    target = fit_target(data.target, data.table.column(data.target))
    knots = choose_all_knots(encoder, table, 16)
    # other numbers of knots, and some features that are not embedded
    ragged = tuple(() if i % 5 == 4 else own[: len(own) - i % 5] for i, own in enumerate(knots))
    model = make_untrained_model(encoder, target, [16, 8], numeric_dimension=2, knots=ragged)
    program, compiled = build(model, tmp_path)
    assert check_compiled(program, compiled, table, "cc").difference < 1e-5


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8])
@pytest.mark.parametrize("task", TARGETS)
def test_sanitizers_find_nothing(task: str, precision: Precision, tmp_path: Path) -> None:
    """Nothing is read or written beside an array, overflows, or is not aligned."""
    model, _ = make_model(task, "all", 2, [17, 24, 5], precision=precision)
    program = make_program(model, "tabnas")
    write_files(program, tmp_path)
    if model.classes:
        n = len(model.classes)
        predict = f"float p[{n}]; tabnas_predict(&row, p); fwrite(p, sizeof p, 1, stdout);"
    else:
        predict = "double p = tabnas_predict(&row); fwrite(&p, sizeof p, 1, stdout);"
    (tmp_path / "driver.c").write_text(DRIVER_CODE.replace("{predict}", predict))
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    get_compiler().run(tmp_path, *flags, "model.c", "driver.c", "-lm", "-o", "driver")
    table = make_table(2_000, seed=3, odd=True)
    rows = make_rows(model.encoder, program.fields, table)
    done = subprocess.run([tmp_path / "driver"], input=rows.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    if model.classes:
        found = np.frombuffer(done.stdout, np.float32).reshape(-1, len(model.classes))
        np.testing.assert_allclose(found, model.predict_proba(table), atol=2e-5)
    else:
        found = np.frombuffer(done.stdout, np.float64)
        np.testing.assert_allclose(found, model.predict(table), rtol=0, atol=2e-5 * 250)
    # codes beyond all categories, infinite numbers and dates, any boolean
    rows["city"], rows["zone"] = 2**31 - 1, -(2**31)
    rows["size"], rows["since"], rows["member"] = np.inf, -np.inf, 127
    strange = subprocess.run([tmp_path / "driver"], input=rows.tobytes(), capture_output=True)
    assert strange.returncode == 0, strange.stderr.decode()
    found = np.frombuffer(strange.stdout, np.float32 if model.classes else np.float64)
    assert np.isfinite(found).all()


def test_values_that_no_table_has(tmp_path: Path) -> None:
    """Infinite numbers act like the largest, unknown codes like others, infinite dates are none."""
    model, _ = make_model("multiclass", "all", 2, [9])
    program, compiled = build(model, tmp_path)
    rows = make_rows(model.encoder, program.fields, make_table(50))

    def predict(**values: float) -> np.ndarray:
        changed = rows.copy()
        for name, value in values.items():
            changed[name] = value
        return compiled.predict(changed)[0]

    np.testing.assert_array_equal(predict(size=np.inf), predict(size=1.7e308))
    np.testing.assert_array_equal(predict(size=-np.inf), predict(size=-1.7e308))
    np.testing.assert_array_equal(predict(since=np.inf), predict(since=np.nan))
    np.testing.assert_array_equal(predict(since=1e9 + 0.75), predict(since=1e9))
    np.testing.assert_array_equal(predict(member=2), predict(member=1))
    np.testing.assert_array_equal(predict(member=-128), predict(member=-1))
    for name, count in zip(("city", "zone"), model.encoder.n_categories, strict=True):
        for code in (-1, count, count + 1, 2**31 - 1, -(2**31)):
            np.testing.assert_array_equal(predict(**{name: code}), predict(**{name: 0}))
    assert (predict(city=0) != predict(city=1)).any()


def test_numbers_beyond_float32_are_exact(tmp_path: Path) -> None:
    table = Table.from_data({"account": [2**40 + i for i in range(8)]})
    target = NumberTarget(name="y", center=1e12, scale=5.0)
    model = make_untrained_model(TableEncoder.fit(table), target, [])
    program, compiled = build(model, tmp_path)
    values, _ = compiled.predict(make_rows(model.encoder, program.fields, table))
    assert len(np.unique(values)) == 8
    np.testing.assert_allclose(values, model.predict(table), rtol=0, atol=1e-3)


def test_knots_further_apart_than_float32_can_tell(tmp_path: Path) -> None:
    """The gap of these knots overflows."""
    table = Table.from_data({"x": [-3e38, -1.0, 0.0, 1.0, 3e38] * 4})
    encoder = TableEncoder.fit(table, scaling="none")
    target = NumberTarget(name="y", center=0.0, scale=1.0)
    knots = ((-3e38, 3e38),)
    model = make_untrained_model(encoder, target, [], numeric_dimension=1, knots=knots)
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["head.0.weight"][0] = 0.0
    model = replace(model, weights=weights)
    program, compiled = build(model, tmp_path)
    values, _ = compiled.predict(make_rows(encoder, program.fields, table))
    expected = [model.weights["numeric_embedding"][0] @ [a, 1 - a] for a in (1, 0.5, 0.5, 0.5, 0)]
    head = model.weights["head.0.weight"][1, 0], model.weights["head.0.bias"][0]
    np.testing.assert_allclose(values[:5], np.array(expected) * head[0] + head[1], rtol=1e-5)


def test_hashed_columns(tmp_path: Path) -> None:
    texts = ["Bern", "Basel", None, "Zürich", "7", ""]
    table = Table(pa.table({"city": texts * 3, "x": np.arange(18.0)}))
    column = HashedColumn.fit("city", table.column("city"), buckets=64)
    encoder = TableEncoder.fit(table, kinds={"city": "hashed"})
    columns = tuple(column if own.name == "city" else own for own in encoder.columns)
    encoder = replace(encoder, columns=columns)
    model = make_untrained_model(encoder, TARGETS["binary"], [5])
    program, compiled = build(model, tmp_path)
    check_compiled(program, compiled, table, "cc")
    [lookup] = program.lookups
    codes = encoder.encode(table).categorical[:6, 0].tolist()
    found = [compiled.look_up(lookup, None if t is None else t.encode()) for t in texts]
    assert found == codes
    assert len(set(codes)) > 3


def test_a_compiled_model_that_differs_is_an_error(tmp_path: Path) -> None:
    model, table = make_model("binary", "all", 2, [8])
    other = replace(model, weights={n: 1.01 * w for n, w in model.weights.items()})
    _, compiled = build(other, tmp_path)
    with pytest.raises(TabNASError, match="of the synthetic rows differs by"):
        check_compiled(make_program(model, "tabnas"), compiled, table, "cc")


def test_a_lookup_that_differs_is_an_error(tmp_path: Path) -> None:
    model, _ = make_model("binary", "categorical", 0, [8])
    columns = [
        replace(c, vocabulary=c.vocabulary[::-1]) if c.name == "zone" else c  # type: ignore[attr-defined]
        for c in model.encoder.columns
    ]
    other = replace(model, encoder=replace(model.encoder, columns=tuple(columns)))
    _, compiled = build(other, tmp_path)
    with pytest.raises(TabNASError, match=r"the code of the category .* of 'zone' must be"):
        check_compiled(make_program(model, "tabnas"), compiled, None, "cc")
