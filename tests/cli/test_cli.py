from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tabnas.cli._main import run

COUNT = ["count", "--inputs", "10", "--outputs", "1", "--layers", "2"]


def test_count_prints_the_paper_number(capsys: pytest.CaptureFixture[str]) -> None:
    command = "count --inputs 1027 --outputs 1 --layers 5 --max-dense-parameters 75353"
    assert run(command.split()) == 0
    assert "340590" in capsys.readouterr().out


def test_count_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--widths", "0,4,8", "--max-parameters", "90", "--max-bytes", "320", "--json"]
    assert run([*COUNT, *arguments]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["feasible"] == 2
    assert facts["architectures"] == 7
    assert facts["limits"] == {"parameters": 90, "bytes": 320}
    assert facts["cheapest"]["architecture"] == "linear"
    assert facts["dearest"] == {
        "architecture": "4",
        "parameters": 57,
        "dense_parameters": 49,
        "flops": 120,
        "bytes": 228,
    }
    assert facts["unused_widths"] == [[8], [4, 8]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-parameters", "10"], "no architecture holds parameters <= 10: the cheapest, 8-8,"),
        ([], "give at least one limit"),
        (["--widths", "8,,16", "--max-flops", "99"], "--widths takes integers"),
        (["--widths", "8.5", "--max-flops", "99"], "'8.5' is none"),
        (["--widths", "8," + "9" * 5_000, "--max-flops", "99"], "is none"),
        (["--widths", "\N{FULLWIDTH DIGIT EIGHT}", "--max-flops", "99"], "is none"),
        (["--widths", "8,99999999", "--max-flops", "99"], "must be at most 1,000,000"),
        (["--widths", "-8", "--max-flops", "99"], "must be an integer of at least 0"),
        (["--widths", "8,8", "--max-flops", "99"], "lists the width 8 more than once"),
        (["--layers", "0", "--max-flops", "99"], "layers must be an integer of at least 1"),
        (["--inputs", "0", "--max-flops", "99"], "inputs must be an integer of at least 1"),
        (["--max-flops", "-1"], "the limit on flops must be a number of at least 0"),
        (["--max-flops", "many"], "--max-flops"),
        (["--max-flop", "5"], "--max-flops"),
    ],
)
def test_mistakes_get_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COUNT, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tabnas: ")
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["nonsense"], ["count"], ["paper", "nonsense"]])
def test_unknown_commands_and_missing_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_faults_of_ours_are_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabnas.cli._count.describe", lambda _: 1 / 0)
    assert run([*COUNT, "--max-flops", "999"]) == 1
    assert "a fault of tabnas" in capsys.readouterr().err


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tabnas", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("tabnas 0.")


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["count", "--help"]) == 0
    assert "tabnas count --inputs 1027" in capsys.readouterr().out
