"""Collectives of the processes of one run: broadcast, gather and shared checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.latency import Machine
from tabnas.runs import (
    SINGLE_PROCESS,
    LabelledTable,
    PlannedRun,
    ProcessGroup,
    RunCheckpoint,
    plan_run,
)
from tests.latency.conftest import make_latency_table
from tests.ranks import run_in_ranks
from tests.runs.helpers import (
    LATENCY_LIMITS,
    SHORT,
    FakeMachine,
    connect_process_group,
    make_latency_settings,
    make_table,
)

pytest.importorskip("torch")


def call_collectives(rank: int) -> list[Any]:
    process_group = connect_process_group()
    arrays = {"x": np.full((2, 3), rank, np.float32), "empty": np.zeros((0, 2))}
    value, received = process_group.broadcast({"by": rank, "number": 0.1 + 0.2}, arrays)
    shapes = {name: array.shape for name, array in received.items()}
    maximum = process_group.all_reduce_max(10 * rank)
    return [value, shapes, received["x"].max(), process_group.all_gather("x" * rank), maximum]


@pytest.mark.slow
def test_collectives_give_the_same_values_to_all_processes(tmp_path: Path) -> None:
    for value, shapes, broadcast_value, gathered, maximum in run_in_ranks(
        3, tmp_path, call_collectives
    ):
        assert value == {"by": 0, "number": 0.1 + 0.2}  # to the bit
        assert shapes == {"x": (2, 3), "empty": (0, 2)}
        assert broadcast_value == 0
        assert gathered == ["", "x", "xx"]
        assert maximum == 20


def test_collectives_of_a_single_process_are_trivial() -> None:
    arrays = {"x": np.zeros(2)}
    assert SINGLE_PROCESS.broadcast("value", arrays) == ("value", arrays)
    assert SINGLE_PROCESS.all_gather(1) == [1]
    assert SINGLE_PROCESS.is_first
    assert SINGLE_PROCESS.elect_reporter()
    SINGLE_PROCESS.check_same({"the table": "x"})


def read_search_result(rank: int, folder: Path | None) -> list[Any]:
    checkpoint = RunCheckpoint(
        None if rank else folder, identity={"the table": "x"}, process_group=connect_process_group()
    )
    if "search" not in checkpoint:
        return []
    return [checkpoint.result("search"), checkpoint.arrays("search")["weights"].tolist()]


@pytest.mark.slow
def test_the_first_process_reads_the_checkpoint_for_all(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    assert run_in_ranks(2, tmp_path, read_search_result, folder) == [[], []]
    checkpoint = RunCheckpoint(folder, identity={"the table": "x"})
    checkpoint.record("search", {"best": "8-4"}, {"weights": np.arange(3)})
    checkpoint.save()
    assert (
        run_in_ranks(2, tmp_path, read_search_result, folder) == [[{"best": "8-4"}, [0, 1, 2]]] * 2
    )


def make_run(machine: FakeMachine, table_file: str, process_group: ProcessGroup) -> PlannedRun:
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    # without a teacher: tests of this package leave it out, processes that they start do not
    settings = make_latency_settings(
        table_file, LATENCY_LIMITS, engine="torch", workers=2, teacher="none"
    )
    before = plan_run(data, settings, measure=machine, process_group=process_group).plan.saved_plan
    return plan_run(
        data, settings, measure=machine, process_group=process_group, saved_plan=before | SHORT
    )


def run_and_measure(rank: int, table_file: str) -> list[Any]:
    machine = FakeMachine(lambda model, us: 1e9 if rank else us)
    process_group = connect_process_group()
    run = make_run(machine, table_file, process_group)
    checkpoint = RunCheckpoint(identity=run.identity(), process_group=process_group)
    if rank:
        run.assist(checkpoint)
        return machine.calls
    finished = run.execute(checkpoint=checkpoint)
    return [str(finished.model.architecture), finished.latencies_us]


@pytest.mark.slow
def test_only_the_first_process_measures(tmp_path: Path) -> None:
    table_file = tmp_path / "here.json"
    table_file.write_text(make_latency_table(machine=Machine.here()).to_json())
    (architecture, latencies_us), calls = run_in_ranks(
        2, tmp_path, run_and_measure, str(table_file)
    )
    expected = make_run(FakeMachine(), str(table_file), SINGLE_PROCESS).execute()
    assert architecture == str(expected.model.architecture)
    assert latencies_us == expected.latencies_us
    assert calls == []
