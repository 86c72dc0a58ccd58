"""The learned curves of numeric embeddings: in the units of the columns, by importance."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tabnas.data import Table
from tabnas.decoding import to_builtins
from tabnas.model import Model
from tabnas.nets import NUMERIC_EMBEDDING
from tabnas.results import (
    MAX_CURVE_KNOTS,
    MAX_CURVES,
    Diagnostics,
    RunResult,
    decode_result,
)
from tabnas.runs import LabelledTable, RunSettings, build_run_result, plan_run
from tabnas.runs.evaluation._numeric_curves import read_numeric_curves, shortest_between
from tests.runs.helpers import make_table

SHORT = {"search_epochs": 2, "epochs": 4, "candidates": 1}


def run_with(
    table: Table, target: str, dimension: int, **options: object
) -> tuple[Model, RunResult]:
    settings = RunSettings(
        **{
            "limits": {"parameters": 20_000},
            "numeric_dimensions": (dimension,),
            "knots": 20,
            "reference_models": False,
            "candidates": 1,
        }
        | options
    )
    run = plan_run(LabelledTable.from_table(table, target), settings, saved_plan=SHORT)
    finished = run.execute()
    return finished.model, build_run_result(finished)


@cache
def embedded_run() -> tuple[Model, RunResult]:
    return run_with(make_table(400).drop(["kind"]), "value", 2)


def test_outputs_are_what_the_network_reads_at_the_knots() -> None:
    model, result = embedded_run()
    table = np.asarray(model.weights[NUMERIC_EMBEDDING])
    features = [f for column in model.encoder.columns for f in column.features]
    ends = np.cumsum([len(knots) for knots in model.knots])
    assert result.numeric_curves
    for curve in result.numeric_curves:
        place = features.index(curve.feature)
        expected = table[:, ends[place] - len(model.knots[place]) : ends[place]]
        assert np.array(curve.outputs) == pytest.approx(expected, rel=1e-5, abs=1e-9)
        assert len(curve.knots) == len(model.knots[place])


def test_knots_are_values_of_the_table() -> None:
    _, result = embedded_run()
    table = make_table(400)
    curves = {curve.feature: curve for curve in result.numeric_curves}
    for name in ("size", "house"):
        values = np.unique(table.column(name).to_numpy())
        knots = np.array(curves[name].knots)
        assert np.abs(knots[:, None] - values).min(axis=1) == pytest.approx(0, abs=1e-6)
        assert (np.diff(knots) > 0).all()
    assert all(knot == int(knot) for knot in curves["house"].knots)
    day = curves["day"]
    assert (day.unit, curves["size"].unit) == ("time", "number")
    days = table.column("day").to_numpy().astype("datetime64[s]").astype(np.int64)
    assert np.abs(np.array(day.knots)[:, None] - days).min(axis=1).max() <= 60


def test_columns_come_by_importance_and_waves_of_times_last() -> None:
    _, result = embedded_run()
    assert result.diagnostics is not None
    assert result.diagnostics.importance is not None
    ranks = [name for name, _ in result.diagnostics.importance.sorted_columns]
    names = [c.column for c in result.numeric_curves if c.feature == c.column]
    assert names == [name for name in ranks if name in names]
    assert set(names) == {"size", "warmth", "house", "day"}
    rest = result.numeric_curves[len(names) :]
    assert all(curve.column == "day" for curve in rest)
    assert all(curve.feature.endswith(("sine", "cosine")) for curve in rest)
    assert all(-1 <= knot <= 1 for curve in rest for knot in curve.knots)
    assert len(result.numeric_curves) <= MAX_CURVES


def test_without_importance_columns_stay_in_order() -> None:
    model, result = embedded_run()
    assert result.diagnostics is not None
    unmeasured = Diagnostics(split="test", rows=result.diagnostics.rows)
    for diagnostics in (None, unmeasured):
        names = [curve.feature for curve in read_numeric_curves(model, diagnostics)]
        assert names[:4] == ["size", "warmth", "day", "house"]


def test_a_result_with_curves_survives_json() -> None:
    _, result = embedded_run()
    assert decode_result(to_builtins(result)) == result


def test_a_network_that_embeds_nothing_has_no_curves() -> None:
    _, result = run_with(make_table(200).drop(["kind"]), "value", 0)
    assert result.numeric_curves == ()


def test_many_knots_dimensions_and_columns_are_bounded() -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(12_000) / 12_000
    columns = {f"x{k}": 2.0**k * x for k in range(8)}
    y = rng.integers(0, 2, size=200)[np.floor(200 * x).astype(int)]  # changes at about 100 places
    table = Table.from_data(columns | {"y": y})
    model, result = run_with(table, "y", 6, knots=300)
    assert len(result.numeric_curves) == MAX_CURVES
    for curve in result.numeric_curves:
        knots = model.knots[int(curve.column[1:])]
        assert len(knots) > MAX_CURVE_KNOTS == len(curve.knots)
        assert len(curve.outputs) == 4
        values = columns[curve.column]
        assert min(values) <= curve.knots[0] + 1e-6
        assert curve.knots[-1] <= max(values) + 1e-6


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_values_far_out_keep_their_units(scaling: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=500), [1e4, 1e30 if scaling == "robust" else 1e5]])
    table = Table.from_data({"x": rng.permutation(x), "y": rng.normal(size=502)})
    _, result = run_with(table, "y", 1, scaling=scaling)
    knots = result.numeric_curves[0].knots
    assert np.isfinite(knots).all()
    assert abs(knots[len(knots) // 2]) < 1
    assert 9e3 < knots[-1] <= 1e30


def test_texts_of_knots_are_short() -> None:
    assert shortest_between(0.4999999, 0.5000001) == 0.5
    assert shortest_between(-124.3500041, -124.3499964) == -124.35
    assert shortest_between(3.0, 3.0) == 3.0
    assert shortest_between(-1e-9, 3e-9) == 0.0
