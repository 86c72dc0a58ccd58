"""Limits on the latency of exported C code: every precision has its own."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from tabnas.data import Table
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.latency import RUNTIMES, LatencyTerms, Machine, NetworkShape
from tabnas.model import Model
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunSettings,
    build_run_result,
    plan_run,
)
from tabnas.space import Precision
from tests.latency.conftest import (
    C_EMBEDDINGS,
    C_TERMS,
    make_c_table,
    make_latency_table,
    multiply,
)
from tests.runs.helpers import SHORT, FakeMachine, collect_bits, make_table

OVERHEAD = {Precision.FLOAT32: 0.3, Precision.INT8: 0.35}
LIMITS = {"latency_us": 0.55, "bytes": 6_000}
INT8, FLOAT32 = Precision.INT8, Precision.FLOAT32


class FakeC(FakeMachine):
    """Measures what the table predicts for the precision of each model."""

    def __call__(
        self, models: Sequence[Model], table: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        assert terms == multiply(C_TERMS[FLOAT32], rows)
        self.calls += [(f"{model.architecture}, {model.precision}", rows) for model in models]
        return [self.adjust(model, self.predicted_us(model, rows)) for model in models]

    def predicted_us(self, model: Model, rows: int = 1) -> float:
        inputs, terms = model.spec.inputs, C_TERMS[model.precision]
        columns, knots = len(inputs.embedded_numeric), sum(map(len, inputs.knots))
        shape = NetworkShape(inputs.width, model.architecture, model.spec.outputs, columns)
        embedding_us = C_EMBEDDINGS.predict_us(columns, knots, model.architecture.dimension)
        layers_us = terms.predict_us(shape) - terms.call_us
        return rows * (layers_us + embedding_us + OVERHEAD[model.precision])


@pytest.fixture
def table_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The table of this machine, for an invented compiler."""
    monkeypatch.setattr(type(RUNTIMES["c"]), "version", lambda runtime: "cc 1.0 -O2")
    path = tmp_path / "here.json"
    path.write_text(make_c_table(machine=Machine.here(RUNTIMES["c"])).to_json())
    return str(path)


def make_settings(table_file: str, limits: dict[str, float] = LIMITS, **options) -> RunSettings:
    defaults = {"candidates": 3, "reference_models": False, "knots": 6, "runtime": "c"}
    return RunSettings(limits=limits, latency_table=table_file, **(defaults | options))


def plan(machine: FakeC, settings: RunSettings, saved_plan: dict | None = None) -> PlannedRun:
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    return plan_run(data, settings, measure=machine, saved_plan=saved_plan)


def make_run(machine: FakeC, *arguments, **options) -> PlannedRun:
    """Plan once, and plan again with the saved numbers shortened."""
    settings = make_settings(*arguments, **options)
    return plan(machine, settings, plan(machine, settings).plan.saved_plan | SHORT)


def measured_us(machine: FakeC, finished: FinishedRun) -> float:
    return machine.adjust(finished.model, machine.predicted_us(finished.model))


def test_every_precision_is_measured_with_the_table(table_file: str) -> None:
    limits = LIMITS | {"batch_latency_us": 200}
    run = make_run(FakeC(), table_file, limits)
    assert run.plan.precisions == (INT8, FLOAT32)
    for name, rows in {"latency_us": 1, "batch_latency_us": 256}.items():
        cost = run.plan.latency.costs[name]
        for precision in (FLOAT32, INT8):
            known = cost.at_precision(precision)
            assert known.terms == multiply(C_TERMS[precision], rows)
            assert known.overhead_us == pytest.approx(rows * OVERHEAD[precision])
    assert run.plan.latency.costs["latency_us"].resolution == 2**-10
    (searched,) = (lim for lim in run.plan.feasible.budget.limits if lim.cost.name == "latency_us")
    assert searched.cost.terms == C_TERMS[INT8]


def test_without_another_precision_only_float32_is_measured(table_file: str) -> None:
    machine = FakeC()
    run = make_run(machine, table_file, {"latency_us": 0.5})
    assert all(name.endswith("float32") for name, _ in machine.calls)
    assert not run.plan.latency.depends_on_precision


@pytest.mark.parametrize("precision", ["auto", "int8", "float32"])
def test_the_returned_model_was_measured_in_its_precision(table_file: str, precision: str) -> None:
    machine = FakeC()
    finished = make_run(machine, table_file, precision=precision).execute()
    name = f"{finished.model.architecture}, {finished.model.precision}"
    assert machine.calls[-1] == (name, 1)
    assert finished.latencies_us == {"latency_us": pytest.approx(measured_us(machine, finished))}
    assert finished.latencies_us["latency_us"] <= LIMITS["latency_us"]
    result = build_run_result(finished)
    assert result.costs["latency_us"].value == pytest.approx(
        machine.predicted_us(finished.model), abs=0.01
    )
    assert "exported C code, cc 1.0 -O2" in result.plan.latency_machine


def test_candidates_are_measured_in_every_precision_they_may_have(table_file: str) -> None:
    machine = FakeC()
    run = make_run(machine, table_file)
    machine.calls.clear()
    finished = run.execute()
    names = {name for name, _ in machine.calls}
    for candidate in finished.candidates:
        for precision in run.plan.list_precisions(candidate.architecture):
            assert f"{candidate.architecture}, {precision}" in names


@pytest.mark.parametrize("slow", [INT8, FLOAT32], ids=str)
def test_a_precision_that_is_slower_than_predicted_exceeds_no_limit(
    table_file: str, slow: Precision
) -> None:
    run = make_run(FakeC(), table_file)
    overhead = OVERHEAD[slow]
    machine = FakeC(
        lambda model, us: overhead + 2 * (us - overhead) if model.precision == slow else us
    )
    object.__setattr__(run.plan.latency, "measure", machine)
    finished = run.execute()
    assert measured_us(machine, finished) <= LIMITS["latency_us"]
    assert finished.latencies_us == {"latency_us": pytest.approx(measured_us(machine, finished))}


def test_a_trained_model_is_left_out_in_the_precision_that_is_slow(
    table_file: str, tmp_path: Path
) -> None:
    machine = FakeC()
    run = make_run(machine, table_file)
    first = run.execute()
    slow = (first.model.architecture, first.model.precision)
    machine.adjust = lambda model, us: (
        us + 5 * bool(model.limits) * ((model.architecture, model.precision) == slow)
    )
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity())
    second = run.execute(checkpoint=checkpoint)
    checkpoint.save()
    assert (second.model.architecture, second.model.precision) != slow
    assert second.latencies_us["latency_us"] <= LIMITS["latency_us"]
    assert any(f"{slow[0]}, {slow[1]} was left out" in note for note in second.notes)
    machine.calls.clear()
    again = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert machine.calls == []
    assert collect_bits(again) == collect_bits(second)


def test_a_resumed_plan_measures_nothing(table_file: str) -> None:
    machine = FakeC()
    run = make_run(machine, table_file)
    saved = run.plan.saved_plan
    assert set(saved["latency"]["latency_us"]["by_precision"]) == {"int8"}
    machine.calls.clear()
    Path(table_file).unlink()
    again = plan(machine, run.settings, saved)
    assert machine.calls == []
    assert again.identity() == run.identity()
    assert again.plan.feasible.budget == run.plan.feasible.budget
    assert again.plan.latency.costs == run.plan.latency.costs
    assert again.plan.latency.is_local


@pytest.mark.parametrize(
    "missing",
    [("by_precision",), ("by_precision", "int8"), ("by_precision", "int8", "embedding_us", "2")],
    ids=".".join,
)
def test_a_plan_without_a_precision_is_refused(table_file: str, missing: tuple[str, ...]) -> None:
    run = make_run(FakeC(), table_file)
    saved = deepcopy(run.plan.saved_plan)
    holder = saved["latency"]["latency_us"]
    for key in missing[:-1]:
        holder = holder[key]
    del holder[missing[-1]]
    with pytest.raises(TabNASError, match=r"by_precision\.int8.* is missing; start a new run"):
        plan(FakeC(), run.settings, saved)


def test_a_busy_moment_is_measured_again_in_every_precision(table_file: str) -> None:
    run = make_run(FakeC(lambda model, us: us + 0.1), table_file, {"latency_us": 1, "bytes": 6_000})
    object.__setattr__(run.plan.latency, "measure", FakeC())
    again = run.plan.latency.remeasure(run.data)
    for precision in (FLOAT32, INT8):
        before, after = (
            each.costs["latency_us"].at_precision(precision) for each in (run.plan.latency, again)
        )
        assert before.overhead_us == pytest.approx(OVERHEAD[precision] + 0.1)
        assert after.overhead_us == pytest.approx(OVERHEAD[precision])


def test_the_error_for_int8_suggests_float32(table_file: str) -> None:
    with pytest.raises(
        InfeasibleError,
        match=r"the cheapest, .* has 0\.3\d+, 0\.35\d* of it .*; .*choose the precision float32",
    ):
        make_run(FakeC(), table_file, {"latency_us": 0.34, "bytes": 6_000})
    run = make_run(FakeC(), table_file, {"latency_us": 0.34, "bytes": 6_000}, precision="float32")
    assert run.plan.precisions == (FLOAT32,)


def test_on_another_machine_every_precision_is_predicted(table_file: str, tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(make_c_table().to_json())
    machine = FakeC()
    finished = make_run(machine, str(path), {"latency_us": 0.8, "bytes": 6_000}).execute()
    assert machine.calls == []
    assert any("was not measured" in note for note in finished.notes)
    assert build_run_result(finished).costs["latency_us"].value <= 0.8


def test_the_table_must_be_of_the_runtime(table_file: str, tmp_path: Path) -> None:
    path = tmp_path / "onnxruntime.json"
    path.write_text(make_latency_table().to_json())
    with pytest.raises(TabNASError, match=r"of the runtime c, .* is of onnxruntime; set runtime"):
        make_run(FakeC(), str(path))
    settings = replace(make_settings(table_file), runtime="onnxruntime")
    with pytest.raises(TabNASError, match=r"of the runtime onnxruntime, .* is of c; set runtime"):
        plan(FakeC(), settings)


def test_settings_that_contradict_the_runtime_are_refused() -> None:
    with pytest.raises(TabNASError, match="runtime c needs a limit on latency, got none"):
        RunSettings(limits={"bytes": 100}, runtime="c")
    with pytest.raises(TabNASError, match="float32 or int8 for the runtime c, got float16"):
        RunSettings(limits={"latency_us": 1}, runtime="c", precision="float16")
    with pytest.raises(TabNASError, match="runtime must be 'onnxruntime' or 'c', got 'C'"):
        RunSettings(limits={"latency_us": 1}, runtime="C")


def test_hashed_columns_take_as_long_as_categories(table_file: str, tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(make_c_table().to_json())
    overheads = [
        plan(FakeC(), make_settings(str(path), {"latency_us": 9.0}, kinds={"colour": kind}))
        .plan.latency.costs["latency_us"]
        .overhead_us
        for kind in ("categorical", "hashed")
    ]
    assert overheads[0] == overheads[1]
