"""Limits on latency: planned once, checked by measurements, kept by every result."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import tomli_w

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.latency import Machine
from tabnas.model import Model, load_model, save_model
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    PlannedRun,
    Progress,
    RunCheckpoint,
    RunStopped,
    build_run_result,
    plan_run,
)
from tabnas.runs.plan._latency import EMBEDDED_NETWORKS, REFERENCE_NETWORKS, REPEATS
from tabnas.space import LATENCY_ROWS, Architecture
from tests.latency.conftest import EMBEDDINGS, TERMS, make_latency_table
from tests.runs.helpers import (
    LATENCY_LIMITS,
    OVERHEAD,
    SHORT,
    Adjustment,
    FakeMachine,
    KilledError,
    SlowWhenTrained,
    StopsAt,
    collect_bits,
    kill_at,
    make_latency_settings,
    make_table,
)

CHOSEN = "the architecture of the model"
DIMENSIONS = (1, 2, 4, 8)
PLAN_NETWORKS = [
    *REFERENCE_NETWORKS,
    *(Architecture(network.widths, d) for d in DIMENSIONS for network in EMBEDDED_NETWORKS),
]


@pytest.fixture
def table_file(tmp_path: Path) -> str:
    path = tmp_path / "here.json"
    path.write_text(make_latency_table(machine=Machine.here()).to_json())
    return str(path)


def make_run(
    machine: FakeMachine,
    table_file: str,
    limits: dict[str, float] = LATENCY_LIMITS,
    rows: int = 300,
    **options: object,
) -> PlannedRun:
    """Plan a short run: plan once, and plan again with the saved numbers shortened."""
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = make_latency_settings(table_file, limits, **({"knots": 6} | options))
    before = plan_run(data, settings, measure=machine).plan.saved_plan
    return plan_run(data, settings, measure=machine, saved_plan=before | SHORT)


def true_us(machine: FakeMachine, finished: FinishedRun) -> float:
    return machine.adjust(finished.model, machine.predicted_us(finished.model))


# -- the plan --------------------------------------------------------------------------------------


def test_the_overhead_is_measured_with_files_of_the_table(table_file: str) -> None:
    limits = {"latency_us": 40, "batch_latency_us": 900}
    plan = make_run(FakeMachine(), table_file, limits).plan
    assert plan.latency is not None
    for name, cost in plan.latency.costs.items():
        rows = LATENCY_ROWS[name]
        assert cost.overhead_us == pytest.approx(OVERHEAD[rows])
        assert cost.terms == TERMS[rows]
    assert plan.feasible.method == "chain"
    assert set(plan.costs) >= {"latency_us", "batch_latency_us", "parameters"}


def test_a_resumed_plan_measures_nothing(table_file: str) -> None:
    machine = FakeMachine()
    run = make_run(machine, table_file)
    calls = list(machine.calls)
    Path(table_file).unlink()
    again = plan_run(
        LabelledTable.from_table(make_table(300).drop(["value"]), "kind"),
        run.settings,
        measure=machine,
        saved_plan=run.plan.saved_plan,
    )
    assert machine.calls == calls
    assert again.identity() == run.identity()
    assert again.plan.feasible.budget == run.plan.feasible.budget


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"machine": "x", "measured": "y"},
        {"machine": 1, "measured": "y", "latency_us": {}},
        {"machine": "x", "measured": "y", "latency_us": {"call_us": 1.0}},
        {"machine": "x", "measured": "y", "latency_us": {"call_us": -1.0}},
        {"machine": "x", "measured": "y", "latency_us": {"call_us": "1"}},
        {"machine": "x", "measured": "y", "latency_us": 3},
    ],
)
def test_a_changed_plan_is_refused(table_file: str, wrong: object) -> None:
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    with pytest.raises(TabNASError, match="start a new run"):
        plan_run(
            data,
            make_latency_settings(table_file, LATENCY_LIMITS),
            saved_plan=SHORT | {"latency": wrong},
        )


def test_a_limit_that_the_columns_alone_exceed_is_refused_before_training(table_file: str) -> None:
    with pytest.raises(
        InfeasibleError,
        match=r"the cheapest, linear, has 30\.\d, 30\.\d of it for the call and its columns;",
    ):
        make_run(FakeMachine(), table_file, {"latency_us": 20})


def make_busy_machine(calls: int, us: float) -> FakeMachine:
    """Return a machine whose first calls take longer."""
    machine = FakeMachine()
    machine.adjust = lambda model, predicted_us: (
        predicted_us + (us if len(machine.calls) <= calls * len(PLAN_NETWORKS) else 0)
    )
    return machine


def test_a_busy_moment_does_not_raise_the_overhead(table_file: str) -> None:
    plan = make_run(make_busy_machine(REPEATS - 1, 12.0), table_file, {"latency_us": 60}).plan
    assert plan.latency.costs["latency_us"].overhead_us == pytest.approx(OVERHEAD[1])


def test_everything_is_measured_again_before_a_limit_is_refused(table_file: str) -> None:
    machine = make_busy_machine(REPEATS, 12.0)
    plan = make_run(machine, table_file, {"latency_us": 35}).plan
    assert plan.latency.costs["latency_us"].overhead_us == pytest.approx(OVERHEAD[1])
    assert len(machine.calls) == 2 * REPEATS * len(PLAN_NETWORKS)


# -- measurements ----------------------------------------------------------------------------------


def test_the_returned_model_was_measured_and_keeps_the_limit(table_file: str) -> None:
    machine = FakeMachine()
    finished = make_run(machine, table_file).execute()
    calls = {architecture for architecture, _ in machine.calls}
    assert {str(one.architecture) for one in finished.candidates} <= calls
    assert finished.latencies_us == {"latency_us": pytest.approx(true_us(machine, finished))}
    assert finished.latencies_us["latency_us"] <= LATENCY_LIMITS["latency_us"]
    result = build_run_result(finished)
    assert result.costs["latency_us"].limit == 35
    assert result.costs["latency_us"].value == pytest.approx(true_us(machine, finished), rel=0.01)
    assert result.measured_latencies["latency_us"] <= 35
    assert not result.notes


def slower_in_layers(factor: float) -> Adjustment:
    """Make layers slower than the table says, except those of the plan's reference networks."""
    hidden = set(map(str, PLAN_NETWORKS))
    return lambda model, us: us if str(model.architecture) in hidden else 30 + factor * (us - 30)


@pytest.mark.parametrize("factor", [1.5, 3.0])
def test_a_wrong_table_is_corrected_until_the_limit_is_kept(table_file: str, factor: float) -> None:
    machine = FakeMachine(slower_in_layers(factor))
    finished = make_run(machine, table_file, {"latency_us": 35.0}).execute()
    assert true_us(machine, finished) <= 35
    assert finished.latencies_us == {"latency_us": pytest.approx(true_us(machine, finished))}
    assert any("took longer than the limit when measured" in note for note in finished.notes)


def test_one_noisy_measurement_drops_no_candidate(table_file: str) -> None:
    calls = count()
    machine = FakeMachine(lambda model, us: us + (50 if next(calls) % 3 == 0 else 0))
    run = make_run(FakeMachine(), table_file)
    object.__setattr__(run.plan.latency, "measure", machine)
    finished = run.execute()
    assert finished.latencies_us["latency_us"] <= 35
    assert not finished.notes


def test_if_no_network_keeps_the_limit_the_error_names_the_lowest_latency(table_file: str) -> None:
    run = make_run(FakeMachine(), table_file)
    object.__setattr__(run.plan.latency, "measure", FakeMachine(lambda model, us: us + 40))
    with pytest.raises(InfeasibleError, match=r"latency_us <= 35, .* lowest .* is 7\d\.\d; raise"):
        run.execute()


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
@pytest.mark.parametrize("refit", [False, True])
def test_a_model_over_the_limit_is_replaced_by_the_next_candidate(
    table_file: str, rows: int, refit: bool
) -> None:
    machine = SlowWhenTrained()
    first = make_run(machine, table_file, rows=rows, refit=refit).execute()
    machine.slow = (str(first.model.architecture),)
    second = make_run(machine, table_file, rows=rows, refit=refit).execute()
    others = [one.architecture for one in first.candidates]
    assert second.model.architecture == next(one for one in others if one != others[0])
    assert second.chosen.architecture == second.model.architecture
    assert second.latencies_us["latency_us"] <= 35
    assert sum(f"{first.model.architecture} was left out" in note for note in second.notes) == 1
    assert build_run_result(second).architecture == second.model.architecture


def test_a_run_without_candidates_left_can_be_resumed(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = make_run(machine, table_file)
    machine.slow = tuple(str(one.architecture) for one in run.execute().candidates)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=run.identity())
    with pytest.raises(InfeasibleError, match="no network was measured to meet"):
        run.execute(checkpoint=checkpoint)
    machine.slow = ()  # the machine is less busy now
    again = run.execute(checkpoint=RunCheckpoint(tmp_path / "run", identity=run.identity()))
    assert again.latencies_us["latency_us"] <= 35


# -- resuming --------------------------------------------------------------------------------------


def test_a_resumed_run_ends_with_the_same_bits(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine(slower_in_layers(1.5))
    run = make_run(machine, table_file, refit=True)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", run, -1)
    expected = collect_bits(run.execute(checkpoint=uninterrupted))
    for number, step in enumerate((3, uninterrupted.steps // 2, uninterrupted.steps)):
        folder = tmp_path / str(number)
        with pytest.raises(RunStopped):
            run.execute(checkpoint=StopsAt(folder, run, step))
        checkpoint = RunCheckpoint(folder, identity=run.identity())
        expected_calls = (
            0 if "latency" in checkpoint else 1
        )  # only the finished model is left to measure
        has_searched = "search" in checkpoint
        machine.calls.clear()
        assert collect_bits(run.execute(checkpoint=checkpoint)) == expected
        if has_searched:
            assert len(machine.calls) == expected_calls


def test_a_finished_model_is_not_measured_again(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine()
    run = make_run(machine, table_file)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity())
    expected = collect_bits(run.execute(checkpoint=checkpoint))
    checkpoint.save()
    machine.calls.clear()
    again = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert machine.calls == []
    assert collect_bits(again) == expected


@pytest.mark.parametrize(
    ("architecture", "latencies_us"),
    [
        ("999", {"latency_us": 1.0}),
        (CHOSEN, {"latency_us": "1"}),
        (CHOSEN, {"latency_us": True}),
        (CHOSEN, {"latency_us": float("inf")}),
        (CHOSEN, {"latency_us": -1.0}),
        (CHOSEN, {"other": 1.0}),
        (CHOSEN, {}),
        (CHOSEN, 3),
    ],
)
def test_a_checkpoint_with_forged_latencies_is_refused(
    table_file: str, tmp_path: Path, architecture: str, latencies_us: object
) -> None:
    run = make_run(FakeMachine(), table_file)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity())
    finished = run.execute(checkpoint=checkpoint)
    options = str(finished.model.architecture) if architecture == CHOSEN else architecture
    checkpoint.record("latency", {options: latencies_us})
    checkpoint.save()
    with pytest.raises(TabNASError, match="the checkpoint must be one"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def run_until(machine: FakeMachine, run: PlannedRun, folder: Path, phase: str) -> list[str]:
    """Run until a phase, kill the process, and return what it has measured."""
    machine.calls.clear()
    with pytest.raises(KilledError):
        run.execute(kill_at(phase), RunCheckpoint(folder, identity=run.identity(), every=1e9))
    return [architecture for architecture, _ in machine.calls]


def test_decided_candidates_are_not_measured_again(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine(slower_in_layers(1.5))
    run = make_run(machine, table_file, refit=True)
    assert run_until(machine, run, tmp_path, "candidates")  # reported after the search
    assert run_until(machine, run, tmp_path, "comparison")  # the finished model only
    assert len(machine.calls) == 1
    machine.calls.clear()
    run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert machine.calls == []


def on_another_machine(run: PlannedRun) -> PlannedRun:
    """Return the same run on a machine other than that of its latency table."""
    latency = replace(run.plan.latency, is_local=False)
    return replace(run, plan=replace(run.plan, latency=latency))


def test_measurements_hold_on_every_machine(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = make_run(machine, table_file)
    best, second = (str(one.architecture) for one in run.execute().candidates[:2])
    machine.slow = (best,)
    run_until(machine, run, tmp_path, "comparison")
    again = on_another_machine(run).execute(
        checkpoint=RunCheckpoint(tmp_path, identity=run.identity())
    )
    assert str(again.model.architecture) == second
    assert again.latencies_us["latency_us"] <= 35
    assert any(f"{best} was left out" in note for note in again.notes)
    assert not any("was not measured" in note for note in again.notes)


def test_a_rejected_candidate_is_not_taken_on_another_machine(
    table_file: str, tmp_path: Path
) -> None:
    machine = SlowWhenTrained()
    run = make_run(machine, table_file)
    candidates = [str(one.architecture) for one in run.execute().candidates]
    machine.slow = (candidates[0],)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity(), every=1e9)
    with pytest.raises(KilledError):  # between the first measurement and the second
        run.execute(kill_at("measuring", skip=2), checkpoint)
    again = on_another_machine(run).execute(
        checkpoint=RunCheckpoint(tmp_path, identity=run.identity())
    )
    assert str(again.model.architecture) == candidates[1]
    assert any("was not measured" in note for note in again.notes)


def test_if_all_were_rejected_another_machine_refuses_too(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = make_run(machine, table_file)
    machine.slow = tuple(str(one.architecture) for one in run.execute().candidates)
    for attempt in (run, on_another_machine(run)):
        with pytest.raises(InfeasibleError, match="no network was measured to meet"):
            attempt.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def test_a_run_refused_after_the_search_can_be_resumed(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine()
    run = make_run(machine, table_file)
    expected = collect_bits(run.execute())
    machine.adjust = lambda model, us: us + 40
    with pytest.raises(InfeasibleError, match="resume when the machine has less to do"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity(), every=1e9))
    machine.adjust = lambda model, us: us
    reports: list[Progress] = []
    again = run.execute(reports.append, RunCheckpoint(tmp_path, identity=run.identity()))
    assert collect_bits(again) == expected
    assert "search" not in {progress.phase for progress in reports}  # which was done


def test_an_empty_list_is_not_measured(table_file: str) -> None:
    latency = make_run(FakeMachine(), table_file).plan.latency
    object.__setattr__(latency, "measure", None)  # would be called
    assert latency.measure_us([]) == []


# -- other machines --------------------------------------------------------------------------------


def test_hashed_columns_have_no_latency_in_onnxruntime(table_file: str) -> None:
    machine = FakeMachine()
    with pytest.raises(TabNASError, match=r"'colour' is hashed, .*limit that of C with --runtime"):
        make_run(machine, table_file, kinds={"colour": "hashed"})
    assert machine.calls == []


def test_a_table_of_another_machine_predicts_and_leaves_a_note(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(make_latency_table().to_json())
    machine = FakeMachine()
    finished = make_run(machine, str(path), {"latency_us": 60}).execute()
    assert machine.calls == []
    assert finished.latencies_us == {}
    (note,) = (note for note in finished.notes if "was not measured" in note)
    assert "a processor, a system, onnxruntime 1.0, one thread, measured 2025-12-31" in note
    # 8 for the call, 1 for the answer; 2 numbers and a house make 10 + 3 * 2; a colour; a day
    assert finished.plan.latency.costs["latency_us"].overhead_us == 8 + 1 + 16 + 3 + 24
    assert build_run_result(finished).costs["latency_us"].value <= 60


def test_the_limit_stays_with_the_model(table_file: str, tmp_path: Path) -> None:
    finished = make_run(FakeMachine(), table_file).execute()
    save_model(finished.model, tmp_path / "model")
    assert load_model(tmp_path / "model").limits == {"latency_us": 35, "parameters": 3_000}


# -- numeric embeddings ----------------------------------------------------------------------------


def test_embeddings_are_measured_with_files_of_the_table(table_file: str) -> None:
    limits = {"latency_us": 60, "batch_latency_us": 2_000}
    run = make_run(FakeMachine(), table_file, limits)
    inputs = run.data.spec.inputs
    columns, knots = len(inputs.embedded_numeric), sum(map(len, inputs.knots))
    assert columns > 1
    for name, cost in run.plan.latency.costs.items():
        terms = EMBEDDINGS[LATENCY_ROWS[name]]
        expected = {d: pytest.approx(terms.predict_us(columns, knots, d)) for d in DIMENSIONS}
        assert cost.embedding_us == expected


def test_no_network_is_measured_with_embeddings_that_the_user_excludes(table_file: str) -> None:
    machine = FakeMachine()
    run = make_run(machine, table_file, numeric_dimensions=(0,))
    assert {architecture for architecture, _ in machine.calls} == set(map(str, REFERENCE_NETWORKS))
    assert run.plan.latency.costs["latency_us"].embedding_us == {}


def test_a_limit_decides_which_dimensions_are_in_the_space(table_file: str) -> None:
    def dimensions(limit: float) -> tuple[int, ...]:
        run = make_run(FakeMachine(), table_file, {"latency_us": limit})
        return run.plan.feasible.space.numeric_embeddings.dimensions

    costs = make_run(FakeMachine(), table_file).plan.latency.costs
    term = costs["latency_us"].embedding_us
    assert dimensions(OVERHEAD[1] + 0.9 * term[1]) == (0,)
    assert dimensions(OVERHEAD[1] + term[2] + 0.1) == (0, 1, 2)
    assert dimensions(OVERHEAD[1] + term[8] + 2.0) == (0, 1, 2, 4, 8)


def test_a_run_chooses_among_dimensions_within_the_limit(table_file: str) -> None:
    machine = FakeMachine()
    finished = make_run(machine, table_file, {"latency_us": 40}, candidates=5).execute()
    assert len({one.architecture.dimension for one in finished.candidates}) > 1
    for candidate in finished.candidates:
        assert str(candidate.architecture) in {architecture for architecture, _ in machine.calls}
        cost = finished.plan.latency.costs["latency_us"]
        assert cost(finished.plan.feasible.space, candidate.architecture) <= 40
    assert finished.latencies_us["latency_us"] == pytest.approx(true_us(machine, finished))


def slower_with_embeddings(factor: float) -> Adjustment:
    """Make embeddings slower than in the plan's reference networks."""
    hidden = set(map(str, PLAN_NETWORKS))

    def adjust(model: Model, us: float) -> float:
        name = str(model.architecture)
        return us if name in hidden or not model.architecture.dimension else 30 + factor * (us - 30)

    return adjust


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_networks_with_slow_embeddings_are_not_returned(table_file: str, factor: float) -> None:
    machine = FakeMachine(slower_with_embeddings(factor))
    options = {"numeric_dimensions": (2, 4), "candidates": 2}
    finished = make_run(machine, table_file, {"latency_us": 45.0}, **options).execute()
    assert finished.model.architecture.dimension > 0
    assert true_us(machine, finished) <= 45
    assert finished.latencies_us == {"latency_us": pytest.approx(true_us(machine, finished))}


def test_a_trained_network_with_embeddings_over_the_limit_is_replaced(table_file: str) -> None:
    machine = SlowWhenTrained()
    options = {"numeric_dimensions": (1, 2), "limits": {"latency_us": 45.0}}
    first = make_run(machine, table_file, **options).execute()
    assert first.model.architecture.dimension > 0
    machine.slow = (str(first.model.architecture),)
    second = make_run(machine, table_file, **options).execute()
    assert second.model.architecture == first.candidates[1].architecture
    assert second.latencies_us["latency_us"] <= 45


def test_a_resumed_run_with_embeddings_ends_with_the_same_bits(
    table_file: str, tmp_path: Path
) -> None:
    machine = FakeMachine(slower_with_embeddings(1.5))
    options = {"numeric_dimensions": (2, 4), "limits": {"latency_us": 45.0}}
    run = make_run(machine, table_file, **options)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", run, -1)
    expected = collect_bits(run.execute(checkpoint=uninterrupted))
    saved = tomllib.loads(tomli_w.dumps(run.plan.saved_plan))
    assert set(saved["latency"]["latency_us"]["embedding_us"]) == {"2", "4"}
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    for number, step in enumerate((3, uninterrupted.steps)):
        with pytest.raises(RunStopped):
            run.execute(checkpoint=StopsAt(tmp_path / str(number), run, step))
        machine.calls.clear()
        again = plan_run(data, run.settings, measure=machine, saved_plan=saved)
        assert machine.calls == []
        checkpoint = RunCheckpoint(tmp_path / str(number), identity=again.identity())
        assert collect_bits(again.execute(checkpoint=checkpoint)) == expected


def test_a_saved_plan_without_a_dimension_is_refused(table_file: str) -> None:
    run = make_run(FakeMachine(), table_file)
    saved = deepcopy(run.plan.saved_plan)
    del saved["latency"]["latency_us"]["embedding_us"]["4"]
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    with pytest.raises(TabNASError, match=r"embedding_us\.4 is missing; start a new run"):
        plan_run(data, run.settings, saved_plan=saved)


def test_a_table_of_another_machine_predicts_embeddings(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(make_latency_table().to_json())
    run = make_run(FakeMachine(), str(path), {"latency_us": 90})
    inputs = run.data.spec.inputs
    columns = len(inputs.embedded_numeric)
    most = max(map(len, inputs.knots))  # to which the file fills up the knots of every column
    assert run.plan.latency.costs["latency_us"].embedding_us == {
        d: EMBEDDINGS[1].predict_us(columns, columns * most, d) for d in DIMENSIONS
    }
