"""The summary of a run fits 80 columns, with a teacher and the size as C."""

from __future__ import annotations

import io
import shlex
from typing import Any

import pytest
from rich.console import Console

from tabnas.cli.display._run_summary import print_run
from tabnas.cli.display._tradeoff_summary import print_tradeoff
from tabnas.results import decode_result, decode_tradeoff
from tests.report.conftest import (
    UNCOMPILED,
    make_c_size,
    make_result,
    make_taught_result,
    make_tradeoff,
)


def show_run(result: dict[str, Any], folder: str = "runs/x") -> str:
    stream = io.StringIO()
    print_run(Console(file=stream, width=80), decode_result(result), folder)
    return stream.getvalue()


def show_tradeoff(result: dict[str, Any], folder: str = "runs/x") -> str:
    stream = io.StringIO()
    print_tradeoff(Console(file=stream, width=80), decode_tradeoff(result), folder)
    return stream.getvalue()


@pytest.mark.parametrize("folder", ["runs/x", "runs/my table", "it's/$HOME", f"runs/{'x' * 250}"])
def test_the_next_command_is_one_line_that_can_be_copied(folder: str) -> None:
    for text, run in (
        (show_run(make_result(), folder), folder),
        (show_tradeoff(make_tradeoff(), folder), f"{folder}/limit-1000"),
    ):
        command = shlex.split(text.splitlines()[-1].removeprefix("next: "))
        assert command == ["tabnas", "predict", run, "new.csv", "--out", "predictions.csv"]


def test_safe_folders_are_not_quoted() -> None:
    assert "\nnext: tabnas predict runs/x new.csv " in show_run(make_result())
    assert "\nnext: tabnas predict runs/x/limit-1000 new.csv " in show_tradeoff(make_tradeoff())


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("factor", [1.0, 1e5, 1e-4])
def test_five_models_fit_80_columns(task: str, factor: float) -> None:
    result = make_taught_result(task)
    for scores in result["scores"].values():
        for score in scores["metrics"].values():
            score |= {name: factor * score[name] for name in ("value", "low", "high")}
    text = show_run(result)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "on 90 test rows, with 95 % intervals of the network" in text
    assert text.count(" (") >= len(result["scores"]["network"]["metrics"])


def test_the_network_has_intervals_and_the_others_have_values() -> None:
    lines = [" ".join(line.split()) for line in show_run(make_taught_result()).splitlines()]
    assert "log_loss 0.520 (0.470-0.570) 0.300 0.820 0.500 0.600" in lines
    assert "network trivial trees teacher teacher" in lines


def test_three_models_have_intervals() -> None:
    text = show_run(make_result())
    assert "with 95 % intervals\n" in text
    assert "0.300 (0.250-0.340)" in text
    assert "teacher" not in text


def test_a_line_is_about_the_teacher() -> None:
    text = show_run(make_taught_result())
    assert "trees 66 %, network 34 %; covers 80 % of the distance to it" in text
    text = show_run(make_taught_result(share=0.0))
    assert "trees 66 %, network 34 %; labels alone were better" in text


def test_candidates_of_one_architecture_differ_by_what_they_learned_from() -> None:
    lines = [" ".join(line.split()) for line in show_run(make_taught_result()).splitlines()]
    assert "16-8 70 % teacher 0.2000 480 12 of 40" in lines
    assert "16-8 labels alone 0.2500 480 12 of 40" in lines


def test_a_candidate_that_was_trained_longer_has_more_epochs() -> None:
    result = make_result()
    result["plan"]["longer_epochs"] = 160
    result["candidates"][0] |= {"is_longer": True, "epochs": 90}
    lines = [" ".join(line.split()) for line in show_run(result).splitlines()]
    assert any(line.startswith("16-8 ") and line.endswith(" 90 of 160") for line in lines)
    assert any(line.endswith(" 12 of 40") for line in lines)


def test_a_tradeoff_has_one_teacher() -> None:
    tradeoff = make_tradeoff(teacher=make_taught_result()["teacher"]["models"])
    tradeoff["models"][2]["teacher_share"] = 0.7
    text = " ".join(show_tradeoff(tradeoff).split())
    assert (
        "teacher: trees 66 %, network 34 %, for all limits; 1 of 3 networks learned from it" in text
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "compiled C 4,811 of at most 5,680 bytes"),
        (UNCOMPILED, "compiled C at most 5,680 bytes"),
        (
            {"compiled_bytes": 9_999_999, "weight_bytes": 7_000_000},
            "compiled C 9,999,999 bytes, more than the 7,003,760 of gcc -O2 on x86-64",
        ),
    ],
)
def test_a_line_is_about_the_size_as_c(changes: dict[str, Any], expected: str) -> None:
    result = make_taught_result(c_size=make_c_size(**changes))
    result["costs"]["dense_parameters"] = {"value": 480, "limit": None}  # the longest name
    text = show_run(result)
    assert expected in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert "compiled C" not in show_run(make_result())
