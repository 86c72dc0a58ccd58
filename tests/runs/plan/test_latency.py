"""Limits on latency: resolved once, kept when measured, and never broken in silence."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.latency import Machine
from tabnas.model import load_model, save_model
from tabnas.runs import (
    LabelledTable,
    Outcome,
    PlannedRun,
    Progress,
    RunCheckpoint,
    RunStopped,
    build_run_result,
    plan_run,
)
from tabnas.runs.plan._latency import REFERENCE_NETWORKS, REPEATS
from tabnas.space import MEASURED_COSTS
from tests.latency.conftest import TERMS, made_latency_table
from tests.runs.helpers import (
    LATENCY_LIMITS,
    OVERHEAD,
    SHORT,
    FakeMachine,
    KilledError,
    SlowWhenTrained,
    StopsAt,
    True_us,
    bits,
    killed_at,
    made_table,
    settings_of,
)

CHOSEN = "the architecture of the model"


@pytest.fixture
def table_file(tmp_path: Path) -> str:
    path = tmp_path / "here.json"
    path.write_text(made_latency_table(machine=Machine.here()).to_json())
    return str(path)


def planned(
    machine: FakeMachine,
    table_file: str,
    limits: dict[str, float] = LATENCY_LIMITS,
    rows: int = 300,
    **said: object,
) -> PlannedRun:
    """A short run: planned, and planned again from what that resolved."""
    data = LabelledTable.from_table(made_table(rows).drop(["value"]), "kind")
    settings = settings_of(table_file, limits, **said)
    before = plan_run(data, settings, measure=machine).plan.resolved
    return plan_run(data, settings, measure=machine, resolved=before | SHORT)


def true_us(machine: FakeMachine, outcome: Outcome) -> float:
    return machine.made_of(outcome.model, machine.predicted_us(outcome.model))


# -- the plan --------------------------------------------------------------------------------------


def test_the_overhead_is_that_of_the_tables_own_file(table_file: str) -> None:
    limits = {"latency_us": 40, "batch_latency_us": 900}
    plan = planned(FakeMachine(), table_file, limits).plan
    assert plan.latency is not None
    for name, cost in plan.latency.costs.items():
        rows = MEASURED_COSTS[name]
        assert cost.overhead_us == pytest.approx(OVERHEAD[rows])
        assert cost.terms == TERMS[rows]
    assert plan.feasible.method == "chain"
    assert set(plan.costs) >= {"latency_us", "batch_latency_us", "parameters"}


def test_a_plan_that_is_gone_on_with_measures_nothing(table_file: str) -> None:
    machine = FakeMachine()
    run = planned(machine, table_file)
    asked = list(machine.asked)
    Path(table_file).unlink()
    again = plan_run(
        LabelledTable.from_table(made_table(300).drop(["value"]), "kind"),
        run.settings,
        measure=machine,
        resolved=run.plan.resolved,
    )
    assert machine.asked == asked
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
def test_a_plan_that_was_changed_is_refused(table_file: str, wrong: object) -> None:
    data = LabelledTable.from_table(made_table(300).drop(["value"]), "kind")
    with pytest.raises(TabNASError, match="start a new run"):
        plan_run(data, settings_of(table_file, LATENCY_LIMITS), resolved=SHORT | {"latency": wrong})


def test_a_limit_that_the_columns_alone_exceed_is_refused_before_training(table_file: str) -> None:
    with pytest.raises(
        InfeasibleError,
        match=r"the cheapest, linear, has 30\.\d, 30\.\d of it for the call and its columns;",
    ):
        planned(FakeMachine(), table_file, {"latency_us": 20})


def slow_for(calls: int, us: float) -> FakeMachine:
    """A machine that is busy at first: everything takes that much more."""
    machine = FakeMachine()
    machine.made_of = lambda model, own: (
        own + (us if len(machine.asked) <= calls * len(REFERENCE_NETWORKS) else 0)
    )
    return machine


def test_a_bad_moment_does_not_become_the_overhead(table_file: str) -> None:
    plan = planned(slow_for(REPEATS - 1, 12.0), table_file, {"latency_us": 60}).plan
    assert plan.latency.costs["latency_us"].overhead_us == pytest.approx(OVERHEAD[1])


def test_before_a_limit_is_refused_all_is_measured_again(table_file: str) -> None:
    machine = slow_for(REPEATS, 12.0)
    plan = planned(machine, table_file, {"latency_us": 35}).plan
    assert plan.latency.costs["latency_us"].overhead_us == pytest.approx(OVERHEAD[1])
    assert len(machine.asked) == 2 * REPEATS * len(REFERENCE_NETWORKS)


# -- the promise -----------------------------------------------------------------------------------


def test_what_is_returned_was_measured_and_keeps_the_limit(table_file: str) -> None:
    machine = FakeMachine()
    outcome = planned(machine, table_file).execute()
    asked = {architecture for architecture, _ in machine.asked}
    assert {str(one.architecture) for one in outcome.candidates} <= asked
    assert outcome.measured_us == {"latency_us": pytest.approx(true_us(machine, outcome))}
    assert outcome.measured_us["latency_us"] <= LATENCY_LIMITS["latency_us"]
    result = build_run_result(outcome)
    assert result.costs["latency_us"].limit == 35
    assert result.costs["latency_us"].value == pytest.approx(true_us(machine, outcome), rel=0.01)
    assert result.measured_latencies["latency_us"] <= 35
    assert not result.notes


def slower_in_layers(factor: float) -> True_us:
    """Layers take more than the table says; the references of the plan do not show it."""
    hidden = {"linear", "32", "32-32", "64-16"}
    return lambda model, us: us if str(model.architecture) in hidden else 30 + factor * (us - 30)


@pytest.mark.parametrize("factor", [1.5, 3.0])
def test_a_table_that_is_wrong_is_tightened_until_the_limit_is_kept(
    table_file: str, factor: float
) -> None:
    machine = FakeMachine(slower_in_layers(factor))
    outcome = planned(machine, table_file, {"latency_us": 35.0}).execute()
    assert true_us(machine, outcome) <= 35
    assert outcome.measured_us == {"latency_us": pytest.approx(true_us(machine, outcome))}
    assert any("took longer than the limit when measured" in note for note in outcome.notes)


def test_one_noisy_measurement_drops_nothing(table_file: str) -> None:
    calls = count()
    machine = FakeMachine(lambda model, us: us + (50 if next(calls) % 3 == 0 else 0))
    run = planned(FakeMachine(), table_file)
    object.__setattr__(run.plan.latency, "measure", machine)
    outcome = run.execute()
    assert outcome.measured_us["latency_us"] <= 35
    assert not outcome.notes


def test_where_nothing_keeps_the_limit_the_least_is_named(table_file: str) -> None:
    run = planned(FakeMachine(), table_file)
    object.__setattr__(run.plan.latency, "measure", FakeMachine(lambda model, us: us + 40))
    with pytest.raises(InfeasibleError, match=r"latency_us <= 35, .* least .* is 7\d\.\d; raise"):
        run.execute()


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
@pytest.mark.parametrize("refit", [False, True])
def test_a_model_over_the_limit_gives_way_to_the_next_candidate(
    table_file: str, rows: int, refit: bool
) -> None:
    machine = SlowWhenTrained()
    first = planned(machine, table_file, rows=rows, refit=refit).execute()
    machine.slow = (str(first.model.architecture),)
    second = planned(machine, table_file, rows=rows, refit=refit).execute()
    assert second.model.architecture == first.candidates[1].architecture
    assert second.chosen.architecture == second.model.architecture
    assert second.measured_us["latency_us"] <= 35
    assert any(f"{first.model.architecture} was left out" in note for note in second.notes)
    assert build_run_result(second).architecture == second.model.architecture


def test_no_candidate_left_is_an_error_that_can_be_gone_on_from(
    table_file: str, tmp_path: Path
) -> None:
    machine = SlowWhenTrained()
    run = planned(machine, table_file)
    machine.slow = tuple(str(one.architecture) for one in run.execute().candidates)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=run.identity())
    with pytest.raises(InfeasibleError, match="no network was measured to meet"):
        run.execute(checkpoint=checkpoint)
    machine.slow = ()  # the machine has less to do now
    again = run.execute(checkpoint=RunCheckpoint(tmp_path / "run", identity=run.identity()))
    assert again.measured_us["latency_us"] <= 35


# -- going on --------------------------------------------------------------------------------------


def test_a_run_that_is_gone_on_with_ends_with_the_same_bits(
    table_file: str, tmp_path: Path
) -> None:
    machine = FakeMachine(slower_in_layers(1.5))
    run = planned(machine, table_file, refit=True)
    whole = StopsAt(tmp_path / "whole", run, -1)
    expected = bits(run.execute(checkpoint=whole))
    for number, tick in enumerate((3, whole.ticks // 2, whole.ticks)):
        folder = tmp_path / str(number)
        with pytest.raises(RunStopped):
            run.execute(checkpoint=StopsAt(folder, run, tick))
        checkpoint = RunCheckpoint(folder, identity=run.identity())
        left = 0 if "latency" in checkpoint else 1  # of candidates nothing, but the finished model
        searched = "search" in checkpoint
        machine.asked.clear()
        assert bits(run.execute(checkpoint=checkpoint)) == expected
        if searched:
            assert len(machine.asked) == left


def test_a_finished_entry_is_not_measured_again(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine()
    run = planned(machine, table_file)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity())
    expected = bits(run.execute(checkpoint=checkpoint))
    checkpoint.save()
    machine.asked.clear()
    again = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert machine.asked == []
    assert bits(again) == expected


@pytest.mark.parametrize(
    ("architecture", "measured_us"),
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
def test_a_checkpoint_cannot_say_what_was_not_measured(
    table_file: str, tmp_path: Path, architecture: str, measured_us: object
) -> None:
    run = planned(FakeMachine(), table_file)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity())
    found = run.execute(checkpoint=checkpoint)
    said = str(found.model.architecture) if architecture == CHOSEN else architecture
    checkpoint.record("latency", {said: measured_us})
    checkpoint.save()
    with pytest.raises(TabNASError, match="the checkpoint must be one"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def measured_before(machine: FakeMachine, run: PlannedRun, folder: Path, phase: str) -> list[str]:
    """What a process has measured that is killed at a phase, its checkpoints never due."""
    machine.asked.clear()
    with pytest.raises(KilledError):
        run.execute(killed_at(phase), RunCheckpoint(folder, identity=run.identity(), every=1e9))
    return [architecture for architecture, _ in machine.asked]


def test_nothing_that_was_decided_is_measured_again(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine(slower_in_layers(1.5))
    run = planned(machine, table_file, refit=True)
    assert measured_before(machine, run, tmp_path, "candidates")  # is told after the search
    assert measured_before(machine, run, tmp_path, "comparison")  # the finished model alone
    assert len(machine.asked) == 1
    machine.asked.clear()
    run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert machine.asked == []


def elsewhere(run: PlannedRun) -> PlannedRun:
    """The same run on a machine that is not the one of its latencies."""
    latency = replace(run.plan.latency, is_local=False)
    return replace(run, plan=replace(run.plan, latency=latency))


def test_what_was_measured_holds_on_every_machine(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = planned(machine, table_file)
    best, second = (str(one.architecture) for one in run.execute().candidates[:2])
    machine.slow = (best,)
    measured_before(machine, run, tmp_path, "comparison")
    again = elsewhere(run).execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert str(again.model.architecture) == second
    assert again.measured_us["latency_us"] <= 35
    assert any(f"{best} was left out" in note for note in again.notes)
    assert not any("was not measured" in note for note in again.notes)


def test_a_condemned_candidate_is_never_taken_elsewhere(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = planned(machine, table_file)
    candidates = [str(one.architecture) for one in run.execute().candidates]
    machine.slow = (candidates[0],)
    checkpoint = RunCheckpoint(tmp_path, identity=run.identity(), every=1e9)
    with pytest.raises(KilledError):  # between the first measurement and the second
        run.execute(killed_at("measuring", skip=2), checkpoint)
    again = elsewhere(run).execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert str(again.model.architecture) == candidates[1]
    assert any("was not measured" in note for note in again.notes)


def test_where_all_were_condemned_another_machine_refuses(table_file: str, tmp_path: Path) -> None:
    machine = SlowWhenTrained()
    run = planned(machine, table_file)
    machine.slow = tuple(str(one.architecture) for one in run.execute().candidates)
    for attempt in (run, elsewhere(run)):
        with pytest.raises(InfeasibleError, match="no network was measured to meet"):
            attempt.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def test_a_refusal_after_the_search_can_be_gone_on_from(table_file: str, tmp_path: Path) -> None:
    machine = FakeMachine()
    run = planned(machine, table_file)
    expected = bits(run.execute())
    machine.made_of = lambda model, us: us + 40
    with pytest.raises(InfeasibleError, match="resume when the machine has less to do"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity(), every=1e9))
    machine.made_of = lambda model, us: us
    told: list[Progress] = []
    again = run.execute(told.append, RunCheckpoint(tmp_path, identity=run.identity()))
    assert bits(again) == expected
    assert "search" not in {progress.phase for progress in told}  # which was done


def test_nothing_is_waited_for_where_nothing_is_measured(table_file: str) -> None:
    latency = planned(FakeMachine(), table_file).plan.latency
    object.__setattr__(latency, "measure", None)  # would be called
    assert latency.measure_us([]) == []


# -- other machines --------------------------------------------------------------------------------


def test_a_table_of_another_machine_predicts_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(made_latency_table().to_json())
    machine = FakeMachine()
    outcome = planned(machine, str(path), {"latency_us": 60}).execute()
    assert machine.asked == []
    assert outcome.measured_us == {}
    (note,) = (note for note in outcome.notes if "was not measured" in note)
    assert "a processor, a system, onnxruntime 1.0, one thread, measured 2025-12-31" in note
    # 8 for the call, 1 for the answer; 2 numbers and a house make 10 + 3 * 2; a colour; a day
    assert outcome.plan.latency.costs["latency_us"].overhead_us == 8 + 1 + 16 + 3 + 24
    assert build_run_result(outcome).costs["latency_us"].value <= 60


def test_the_limit_stays_with_the_model(table_file: str, tmp_path: Path) -> None:
    outcome = planned(FakeMachine(), table_file).execute()
    save_model(outcome.model, tmp_path / "model")
    assert load_model(tmp_path / "model").limits == {"latency_us": 35, "parameters": 3_000}
