"""Rows from standard input and to standard output: a file, a pipe, a terminal, a full device."""

from __future__ import annotations

import csv
import io
import json
import signal
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tabnas.cli._main import USAGE_ERROR, run
from tabnas.cli._predictions import (
    Chunk,
    column_names,
    find_format,
    print_predictions,
    sanitize_table,
)
from tabnas.runs import RunCheckpoint
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import BRIEF, ROWS, make_columns, write_csv

SEARCH = ["--target", "kind", "--drop", "value", "--max-parameters", "300", "--quiet"]


def feed(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put something on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture
def rows(finished: Path) -> bytes:
    return (finished / "good.csv").read_bytes()


# -- `-` -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", [[], ["--out", "-"]])
def test_predict_from_stdin_to_stdout(
    out: list[str],
    rows: bytes,
    finished: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    model, file = str(finished / "classes"), str(finished / "good.csv")
    assert run(["predict", model, file, "--out", "a.csv"]) == 0
    capfdbinary.readouterr()
    feed(rows, monkeypatch)
    assert run(["predict", model, "-", *out]) == 0
    assert capfdbinary.readouterr().out == (here / "a.csv").read_bytes()
    assert [path.name for path in here.iterdir()] == ["a.csv"]


def test_evaluate_and_export_read_stdin(
    rows: bytes,
    finished: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed(rows, monkeypatch)
    assert run(["evaluate", str(finished / "classes"), "-"]) == 0
    assert f"{ROWS} rows of standard input" in capsys.readouterr().out
    feed(rows, monkeypatch)
    assert run(["export", str(finished / "classes"), "a.onnx", "--check", "-"]) == 0
    assert f"{ROWS} rows of standard input" in capsys.readouterr().out


def test_a_search_from_stdin_is_resumed_from_stdin(
    rows: bytes, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, ticks = RunCheckpoint.save_if_due, 0

    def stop(checkpoint: RunCheckpoint) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 20:
            checkpoint.signals.received = signal.SIGTERM
        own(checkpoint)

    feed(rows, monkeypatch)
    assert run(["search", "-", *SEARCH, "--out", "whole"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "save_if_due", stop)
        feed(rows, patched)
        assert run(["search", "-", *SEARCH]) == 143
    feed(b"\n".join(rows.splitlines()[:-1]) + b"\n", monkeypatch)
    assert run(["resume", "runs/stdin"]) == USAGE_ERROR
    assert "only as it began, but the table was" in capsys.readouterr().err
    feed(rows, monkeypatch)
    assert run(["resume", "runs/stdin", "--quiet"]) == 0
    results = [
        json.loads((here / path / "result.json").read_text()) for path in ("whole", "runs/stdin")
    ]
    for result in results:
        result.pop("timings")
    assert results[0] == results[1]
    card = (here / "whole" / "MODEL_CARD.md").read_text()
    assert "The table standard input." in card
    assert "tabnas search - " in card
    capsys.readouterr()
    assert run(["export", "whole", "a.onnx"]) == 0
    assert "no longer on this machine" in capsys.readouterr().out


def test_test_rows_from_stdin(
    rows: bytes, finished: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = rows.splitlines(keepends=True)
    (here / "train.csv").write_bytes(b"".join(lines[:-20]))
    feed(lines[0] + b"".join(lines[-20:]), monkeypatch)
    assert run(["search", "train.csv", "--test", "-", *SEARCH, "--out", "a"]) == 0
    assert json.loads((here / "a" / "result.json").read_text())["rows"]["test"] == 20


def test_invalid_stdin_is_refused(
    finished: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = str(finished / "classes")
    feed(b"", monkeypatch)
    assert "tabnas: standard input is empty" in run_refused(["predict", model, "-"], capsys)
    feed(b"a,kind\n1,2,3\n", monkeypatch)
    asked = ["search", "-", *SEARCH]
    assert "tabnas: standard input must have 2 values" in run_refused(asked, capsys)
    both = ["search", "-", "--test", "-", *SEARCH]
    assert "only one table can be standard input" in run_refused(both, capsys)
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input must be open" in run_refused(["predict", model, "-"], capsys)


# -- names and labels ----------------------------------------------------------------------------


def test_predicted_columns_have_distinct_names(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = make_columns()
    target = "probability of high"
    write_csv(here / "t.csv", {"size": columns["size"], target: columns["kind"]})
    limit = ["--max-parameters", "100", "--out", "run", "--quiet", *BRIEF]
    assert run(["search", "t.csv", "--target", target, *limit]) == 0
    assert run(["predict", "run", "t.csv", "--out", "a.csv"]) == 0
    with (here / "a.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == [target, f"{target}_", "probability of low"]
    assert {row[target] for row in found} <= {"high", "low"}
    assert all(
        abs(float(row[f"{target}_"]) + float(row["probability of low"]) - 1) < 1e-6 for row in found
    )


def test_underscores_are_added_until_a_name_is_new() -> None:
    names = column_names("probability of a", ["a", "a_"])
    assert names == ["probability of a", "probability of a_", "probability of a__"]


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters_and_a_pipe_the_exact_data() -> None:
    label, name = "a\x1b]0;x\x07b", "probability of a\x1b[2J"
    chunk = pa.table({"kind": [label, "c"], name: [0.25, 0.5]})
    seen, piped = Terminal(), io.BytesIO()
    output = find_format(None)
    for out, table in ((seen, sanitize_table(chunk)), (piped, chunk)):
        print_predictions(iter([Chunk(table, output.prepare(table))]), out, output)
    assert not {0x1B, 0x07} & set(seen.getvalue())
    assert len(seen.getvalue().splitlines()) == 3
    assert b"0.25" in seen.getvalue()
    assert label.encode() in piped.getvalue()
    assert name.encode() in piped.getvalue()


# -- places that cannot be written to or read ----------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("command", ["predict", "evaluate", "evaluate --json", "datasets"])
def test_a_full_disk_is_a_one_line_error(
    command: str,
    finished: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, *options = command.split()
    files = [] if name == "datasets" else [str(finished / "classes"), str(finished / "good.csv")]
    with open("/dev/full", "wb", buffering=0) as device, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(device, write_through=True))
        assert run([name, *files, *options]) == USAGE_ERROR
        sys.stdout.write("what is left")  # raises no second error
        sys.stdout.detach()
    said = capsys.readouterr().err
    assert "the output cannot be written (No space left on device)" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "LONG.csv", "--target", "a", "--max-parameters", "9"],
        ["search", "good.csv", "--target", "kind", "--max-parameters", "300", "--out", "LONG"],
        ["predict", "RUN", "LONG.csv"],
        ["predict", "RUN", "good.csv", "--out", "LONG.csv"],
        ["predict", "LONG", "good.csv"],
        ["evaluate", "RUN", "LONG.csv"],
        ["export", "RUN", "LONG.onnx"],
        ["resume", "LONG"],
        ["watch", "LONG"],
        ["report", "LONG"],
    ],
)
def test_too_long_names_are_a_one_line_error(
    arguments: list[str],
    rows: bytes,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "good.csv").write_bytes(rows)
    named = [one.replace("LONG", "a" * 256) for one in arguments]
    said = run_refused(
        [str(finished / "classes") if one == "RUN" else one for one in named], capsys
    )
    assert "too long" in said or "must have at most 255 bytes" in said


def test_the_longest_possible_name_is_written(rows: bytes, finished: Path, here: Path) -> None:
    out = "a" * 251 + ".csv"
    file = here / ("b" * 251 + ".csv")
    file.write_bytes(rows)
    assert run(["predict", str(finished / "classes"), file.name, "--out", out]) == 0
    assert (here / out).exists()
    limits = ["--limits", "100,200", "--target", "kind", "--drop", "value", "--quiet"]
    assert run(["tradeoff", file.name, *limits, "--candidates", "1", "--dry-run"]) == 0
    assert run(["search", file.name, *SEARCH]) == 0


@pytest.mark.parametrize("place", ["file", "folder"])
def test_names_that_are_not_utf8_are_a_one_line_error(
    place: str,
    rows: bytes,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = "caf\udce9"  # what Python makes of a byte that is none of UTF-8
    file = here / (f"{other}.csv" if place == "file" else f"{other}/t.csv")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(rows)
    monkeypatch.chdir(file.parent)
    said = run_refused(["search", file.name, *SEARCH], capsys)
    assert "must be UTF-8" in said
    assert list(file.parent.iterdir()) == [file]
