from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from tabnas.cli import _mistakes
from tabnas.cli._main import app, run

COMMAND = get_command(app)
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
    by_hand = {"parameters": 57, "dense_parameters": 49, "flops": 120, "bytes": 228}
    assert facts["dearest"].items() >= ({"architecture": "4"} | by_hand).items()
    assert facts["unused_widths"] == [[8], [4, 8]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-parameters", "10"], "no architecture meets parameters <= 10: the cheapest, 8-8,"),
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
        (["--max-flops", "-1"], "the limit on flops must be a finite number of at least 0"),
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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "no such command 'nonsense'; see tabnas --help"),
        (["serach"], "no such command 'serach'; did you mean 'search'?"),
        (["help", "serach"], "no such command 'serach'; did you mean 'search'?"),
        (["paper", "toi"], "no such command 'toi'; did you mean 'toy'?"),
        (["count"], "--inputs is missing; see tabnas count --help"),
        (["search"], "DATA is missing; see tabnas search --help"),
        (["paper", "ground-truth"], "TABLE is missing; see tabnas paper ground-truth --help"),
        (
            ["datasets", "iris"],
            "datasets takes no arguments, got 'iris'",
        ),
        (["predict", "a", "b", "c"], "predict takes RUN and FILE, got 'c' besides"),
        (["--vers"], "there is no option '--vers'; did you mean '--version'?"),
        (["-x"], "there is no option '-x'; see tabnas --help"),
        (
            [*COUNT, "--max-latency-us", "5"],
            "no option '--max-latency-us'; see tabnas count",
        ),
    ],
)
def test_commands_options_and_arguments_that_there_are_not(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count"], ["--inputs", "see tabnas count --help"]),
        (["predict", "a", "b", "c"], ["c", "see tabnas predict --help"]),
        ([*COUNT, "--max-flops", "many"], ["--max-flops", "see tabnas count --help"]),
        ([*COUNT, "--max-flops"], ["--max-flops", "see tabnas count --help"]),
        (["-x"], ["-x", "see tabnas --help"]),
    ],
)
def test_mistakes_are_told_also_with_a_typer_whose_errors_are_others(
    arguments: list[str],
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Typer's own words, if they do not have the attributes that are expected."""
    for facts in ({}, {"param": None}, {"param": object()}, {"possibilities": None}):
        monkeypatch.setattr(_mistakes, "vars", lambda error, facts=facts: facts, raising=False)
        assert run(arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith("tabnas: ")
        assert all(word in said for word in words), said
        assert len(said.splitlines()) == 1


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


def test_no_arguments_are_a_question_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    alone = capsys.readouterr()
    assert run(["--help"]) == 0
    assert alone.out.rstrip() == capsys.readouterr().out.rstrip()
    assert alone.err == ""


def every_command(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*path, name))


@pytest.mark.parametrize("path", list(every_command(COMMAND)), ids=" ".join)
def test_every_help_fits_80_columns_and_ends_in_examples_that_can_be_typed(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*path, "--help"]) == 0
    said = capsys.readouterr().out
    assert run(["help", *path]) == 0
    assert capsys.readouterr().out == said
    assert max(map(len, said.splitlines())) <= 80
    assert "bool" not in said
    assert f"Usage: {' '.join(['tabnas', *path])} " in said
    examples = said.partition("\n Examples\n")[2].replace("\\\n", " ").splitlines()
    typed = [line.strip() for line in examples if not line.strip().startswith("#")]
    piped = [part.strip() for line in typed for part in line.split(" | ")]
    commands = [shlex.split(part) for part in piped if part.startswith(("tabnas", "torchrun"))]
    assert any(words[1 : 1 + len(path)] == list(path) for words in commands)
    for words in commands:
        parsed(words[words.index("tabnas") + 1 :])


def parsed(arguments: list[str]) -> None:
    """Whether a command line has a command, options and values that there are."""
    command: Any = COMMAND
    context = None
    while hasattr(command, "commands"):
        context = command.make_context("tabnas", arguments[:1], parent=context)
        name, command, arguments = command.resolve_command(context, arguments)
    if "--help" not in arguments:
        command.make_context(name, arguments, parent=context)
