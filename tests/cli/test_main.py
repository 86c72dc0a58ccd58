from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer import TyperException
from typer.main import get_command

from tabnas.cli._errors import describe_usage_error
from tabnas.cli._main import app, run

COMMAND = get_command(app)
COUNT = ["count", "--inputs", "10", "--outputs", "1", "--layers", "2"]


def test_count_prints_the_paper_number(capsys: pytest.CaptureFixture[str]) -> None:
    command = "count --inputs 1027 --outputs 1 --layers 5 --max-dense-parameters 75353"
    assert run(command.split()) == 0
    printed = capsys.readouterr().out
    assert "340,590" in printed
    assert "3,200,000 in all" in printed


def test_count_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--widths", "0,4,8", "--max-parameters", "90", "--max-bytes", "320", "--json"]
    assert run([*COUNT, *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["feasible"] == 2
    assert printed["architectures"] == 7
    assert printed["limits"] == {"parameters": 90, "bytes": 320}
    assert printed["cheapest"]["architecture"] == "linear"
    by_hand = {"parameters": 57, "dense_parameters": 49, "flops": 120, "bytes": 228}
    assert printed["most_expensive"].items() >= ({"architecture": "4"} | by_hand).items()
    assert printed["unused_widths"] == [[8], [4, 8]]


def test_count_with_numeric_embeddings(capsys: pytest.CaptureFixture[str]) -> None:
    embedded = ["--embedded-columns", "3", "--knots", "12", "--numeric-dimensions", "0,1,9"]
    arguments = [*COUNT, "--widths", "0,4", *embedded, "--max-parameters", "90"]
    assert run([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["architectures"] == 3 * 3
    # linear: 11 and 26, 4: 10 * 4 + 12 + 5 = 57 and 57 + 3 * 4 + 12 = 81, 4-4: 57 + 28 = 85
    assert printed["feasible"] == 5
    assert printed["cheapest"]["architecture"] == "linear"
    assert printed["most_expensive"]["architecture"] == "4-4"
    assert printed["numeric_embeddings"] == {"columns": 3, "knots": 12, "dimensions": [0, 1, 9]}
    assert printed["unused_dimensions"] == [9]
    assert printed["unused_widths"] == [[], []]
    assert run(arguments) == 0
    assert "never 9" in capsys.readouterr().out


@pytest.mark.parametrize("limit", [["--max-ram-bytes", "0.06kB"], ["--max", "ram-bytes=60B"]])
def test_count_within_a_limit_on_ram(capsys: pytest.CaptureFixture[str], limit: list[str]) -> None:
    arguments = [*COUNT, "--widths", "0,4,8", *limit, "--max-bytes", "400", "--json"]
    assert run(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["limits"] == {"bytes": 400, "ram_bytes": 60}
    # ten inputs and one output: linear, 4, 4-4 have 44, 56 and 56 bytes; 4-8 has too many weights
    assert printed["feasible"] == 3
    assert printed["most_expensive"]["ram_bytes"] == 56
    assert printed["unused_widths"] == [[8], [8]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-ram-bytes", "1"], "no architecture meets ram_bytes <= 1: the cheapest, 8-8, has"),
        (["--max-parameters", "10"], "no architecture meets parameters <= 10: the cheapest, 8-8,"),
        ([], "at least one limit must be given"),
        (["--widths", "8,,16", "--max-flops", "99"], "must be integers"),
        (["--widths", "8.5", "--max-flops", "99"], "got '8.5'"),
        (["--widths", "8," + "9" * 5_000, "--max-flops", "99"], "got '99999999999999999999'"),
        (
            ["--widths", "\N{FULLWIDTH DIGIT EIGHT}", "--max-flops", "99"],
            "--widths must be integers",
        ),
        (["--widths", "8,99999999", "--max-flops", "99"], "must be at most 1,000,000"),
        (["--widths", "-8", "--max-flops", "99"], "must be an integer of at least 0"),
        (["--widths", "8,8", "--max-flops", "99"], "lists the width 8 more than once"),
        (
            ["--embedded-columns", "3", "--max-flops", "99"],
            "--knots must be given with --embedded-columns, but it is missing",
        ),
        (["--knots", "9", "--max-flops", "99"], "--embedded-columns must be given with --knots"),
        (
            ["--embedded-columns", "3", "--knots", "5", "--max-flops", "99"],
            "the knots of all columns must be an integer of at least 6, got 5",
        ),
        (
            [
                "--embedded-columns",
                "3",
                "--knots",
                "9",
                "--numeric-dimensions",
                "a",
                "--max-flops",
                "99",
            ],
            "--numeric-dimensions must be integers separated by commas",
        ),
        (
            [
                "--embedded-columns",
                "3",
                "--knots",
                "9",
                "--numeric-dimensions",
                "1,1",
                "--max-flops",
                "99",
            ],
            "each listed once, got [1, 1]",
        ),
        (
            ["--max-flops", "-1"],
            "the limit on flops must be a finite number of at least 0, got -1",
        ),
        (["--max-flops", "many"], "--max-flops"),
        (["--max-flop", "5"], "--max-flops"),
    ],
)
def test_errors_are_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COUNT, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tabnas: ")
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("option", ["inputs", "layers"])
def test_sizes_must_be_positive(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*COUNT, "--max-flops", "99"]
    arguments[arguments.index(f"--{option}") + 1] = "0"
    assert run(arguments) == 2
    assert f"{option} must be an integer of at least 1, got 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "no such command 'nonsense'; see tabnas --help"),
        (["serach"], "no such command 'serach'. Did you mean 'search'?"),
        (["help", "serach"], "no such command 'serach'. Did you mean 'search'?"),
        (["paper", "toi"], "no such command 'toi'. Did you mean 'toy'?"),
        (["count"], "missing option '--inputs'; see tabnas count --help"),
        (["search"], "missing argument 'DATA'; see tabnas search --help"),
        (
            ["paper", "ground-truth"],
            "argument 'TABLE'; see tabnas paper ground-truth --help",
        ),
        (
            ["datasets", "iris"],
            "unexpected extra argument(s) (iris); see tabnas datasets --help",
        ),
        (["predict", "a", "b", "c"], "unexpected extra argument(s) (c); see"),
        (["--vers"], "there is no option '--vers'; did you mean '--version'?"),
        (["-x"], "there is no option '-x'; see tabnas --help"),
        (
            [*COUNT, "--max-latency-us", "5"],
            "no option '--max-latency-us'; see tabnas count",
        ),
    ],
)
def test_unknown_commands_options_and_arguments(
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
def test_usage_errors_are_one_line_whatever_attributes_typer_gives_them(
    arguments: list[str], words: list[str]
) -> None:
    """Typer does not document the attributes of its errors, only their message."""
    with pytest.raises(TyperException) as caught:
        COMMAND.main(arguments, prog_name="tabnas", standalone_mode=False)
    bare = TyperException(caught.value.format_message())
    for attributes in ({}, {"option_name": None}, {"possibilities": None}):
        vars(bare).update(attributes)
        for error in (bare, caught.value):
            message = describe_usage_error(error, COMMAND, arguments)
            assert all(word in message for word in words), message
            assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            [*COUNT, "--max-parameters", "200", "--max-parameters", "300"],
            "--max-parameters must be given once, got it twice; keep one",
        ),
        (
            [*COUNT, "--max-flops=200", "--max-flops", "200", "--max-flops=200"],
            "--max-flops must be given once, got it 3 times; keep one",
        ),
        (
            ["search", "a.csv", "--threads", "1", "--max-bytes", "9", "--threads", "2"],
            "--threads must be given once, got it twice",
        ),
        (["predict", "a", "b.csv", "--out", "x", "--out", "y"], "--out must be given once"),
        (["paper", "claims", "--results", "x", "--results", "y"], "--results must be given once"),
    ],
)
def test_options_with_one_value_must_be_given_once(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"tabnas: {sentence}")


def test_flags_and_options_for_several_values_can_be_repeated() -> None:
    limits = ["--max", "flops=9k", "--max", "parameters=9k"]
    assert run([*COUNT, *limits, "--json", "--json"]) == 0


def test_bugs_have_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabnas.cli.commands._count.describe_feasible_set", lambda *_: 1 / 0)
    assert run([*COUNT, "--max-flops", "999"]) == 1
    assert "this is a bug of tabnas" in capsys.readouterr().err


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tabnas", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("tabnas 0.")


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert "<bool>" not in said
    assert not re.search("Usage:.*[{]", said)
    assert f"Usage: {' '.join(['tabnas', *path])} " in said
    lines = "\n".join(line.rstrip() for line in said.splitlines())
    examples = lines.partition("\n Examples\n")[2].replace("\\\n", " ").splitlines()
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
