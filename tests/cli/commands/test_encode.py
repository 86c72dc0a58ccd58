"""`tabnas encode`: from files to a store, on the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from tabnas.cli._main import USAGE_ERROR, run
from tabnas.data import _table, read_table
from tabnas.stores import _readers, _settings, describe_continuation, open_store
from tests import processes
from tests.cli.conftest import make_columns, write_csv

ROWS = 400


@pytest.fixture
def table(here: Path) -> Path:
    return write_csv(here / "train.csv", make_columns(ROWS))


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    found = capsys.readouterr()
    return found.out, found.err


def test_a_store_is_written_and_summarized(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = ["--drop", "value", "--hashed", "house", "--buckets", "16", "--memory", "500MB"]
    assert run(["encode", "train.csv", "--target", "kind", "--out", "store", *options]) == 0
    out, err = said(capsys)
    store = open_store("store")
    rows = store.rows
    assert sum(rows.values()) == ROWS
    assert f"{rows['train']} training, {rows['validation']} validation" in out
    assert re.search(r"columns +1 numeric, 1 categorical, 1 datetime, 1 hashed, 1 dropped", out)
    assert re.search(r"hashed +1 column, 16 buckets", out)
    assert "next: tabnas search store --max-parameters" in out
    assert max(map(len, out.splitlines())) <= 80
    assert err == "tabnas: reading\ntabnas: fitting\ntabnas: encoding\n"
    assert store.settings["memory"] == 500_000_000


def test_the_next_command_can_be_copied(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"my stores/{'x' * 220}"
    assert run(["encode", "train.csv", "--target", "kind", "--out", out]) == 0
    last = said(capsys)[0].splitlines()[-1]
    command = shlex.split(last.removeprefix("next: "))
    assert command == ["tabnas", "search", out, "--max-parameters", "20000"]


def test_json_is_the_only_output(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["encode", "train.csv", "--target", "value", "--drop", "kind", "--out", "store"]
    assert run([*arguments, "--json"]) == 0
    out, err = said(capsys)
    printed = json.loads(out)
    assert err == ""
    assert printed["task"] == "regression"
    assert printed["digest"] == open_store("store").digest
    assert printed["categories"] == {"colour": 3}
    assert printed["rows_read"] == sum(printed["rows"].values()) == ROWS
    assert run([*arguments, "--quiet"]) == 0  # which is there already
    assert said(capsys) == ("", "")


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
def test_threads_do_not_change_the_files_of_a_store(
    name: str, table: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_settings, "MAX_CHUNK_BYTES", 2_000)
    monkeypatch.setattr(_readers, "MIN_ROWS", 10)
    monkeypatch.setattr(_table, "MIN_SHARED_ROWS", 1)
    parquet.write_table(read_table(table).arrow, here / "train.parquet", row_group_size=50)
    files = []
    for threads in ("1", "2", "5"):
        out = here / threads
        asked = ["encode", name, "--target", "kind", "--hashed", "house", "--quiet"]
        assert run([*asked, "--threads", threads, "--out", str(out)]) == 0
        arrays = (path for path in sorted(out.rglob("*")) if path.suffix not in ("", ".json"))
        files.append({str(path.relative_to(out)): path.read_bytes() for path in arrays})
        files[-1]["digest"] = open_store(out).digest.encode()
    assert len(files[0]) > 9
    assert files[0] == files[1] == files[2]


def test_files_and_shares(table: Path, here: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write_csv(here / name, make_columns(50))
    common = ["encode", "train.csv", "--target", "kind", "--quiet"]
    test = ["--test", "a.csv", "--test", "b.csv", "--validation", "0.1"]
    assert run([*common, "--out", "store", *test]) == 0
    store = open_store("store")
    assert store.rows["test"] == 100
    assert store.shares == (0.1, 0.0)
    assert run([*common, "--out", "store", "--validation", "0.1", *test[:2]]) == USAGE_ERROR
    assert run([*common, "--out", "other", "--test", "a.csv", "--test", "0.1"]) == USAGE_ERROR
    assert not (here / "other").exists()


def test_check_verifies_a_store(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["encode", "train.csv", "--target", "kind", "--out", "store", "--quiet"]) == 0
    assert run(["encode", "--check", "store"]) == 0
    assert re.fullmatch(r"store: .* kB, all as it was written\n", said(capsys)[0])
    assert run(["encode", "--check", "store", "--json"]) == 0
    assert json.loads(said(capsys)[0])["sound"] is True
    assert run(["encode", "--check", "store", "--quiet"]) == 0
    assert said(capsys) == ("", "")
    path = Path("store/pieces/000000/train.categorical")
    path.write_bytes(bytes(path.stat().st_size))
    assert run(["encode", "--check", "store"]) == USAGE_ERROR
    assert "pieces/000000/train.categorical must be as it was written" in said(capsys)[1]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--out", "other"], "--out"),
        (["--hashed", "house", "--buckets", "16"], "--hashed and --buckets"),
        (["--buckets", "65536"], "--buckets"),  # its default
        (["--seed", "0", "--quiet"], "--seed"),
        (["--threads", "1"], "--threads"),
        (["train.csv", "--test", "0.1", "--memory", "1GB"], "FILE, --memory and --test"),
    ],
)
def test_check_refuses_options_of_encoding(
    arguments: list[str], names: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["encode", "--check", "store", *arguments]) == USAGE_ERROR
    assert f"got also {names}; check and encode in two commands" in said(capsys)[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "files, target and output folder must be given"),
        (["train.csv", "--out", "store"], "but --target is missing"),
        (
            ["train.csv", "--target", "kind", "--check", "store"],
            "--check STORE must be the only argument",
        ),
        (["none.csv", "--target", "kind", "--out", "s"], "there is no file 'none.csv'"),
        (["train.csv", "--target", "kin", "--out", "s"], "did you mean 'kind'?"),
        (
            ["train.csv", "--target", "kind", "--out", "s", "--memory", "lots"],
            "'--memory': must be a size, like 500MB or 2GB, got 'lots'",
        ),
        (
            ["train.csv", "--target", "kind", "--out", "s", "--memory", "10MB"],
            "--memory must be at least 300MB",
        ),
        (
            ["train.csv", "--target", "kind", "--out", "s", "--buckets", "1000", "--hashed", "day"],
            "buckets must be a power of two",
        ),
        (
            ["train.csv", "--target", "kind", "--out", "s", "--hashed", "day", "--numeric", "day"],
            "the column 'day' must be of one kind, but both --numeric and --hashed name it",
        ),
        (
            ["train.csv", "--target", "kind", "--out", "s", "--drop", "kind"],
            "the column 'kind' cannot be both the target and dropped",
        ),
    ],
)
def test_errors_are_one_sentence(
    arguments: list[str], sentence: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["encode", *arguments]) == USAGE_ERROR
    out, err = said(capsys)
    assert out == ""
    assert err.startswith("tabnas: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert not Path("s").exists()


INTERRUPTED = """
import os, signal, sys
from tabnas.cli.commands import _encode
from tabnas.cli import main
from tabnas.stores import _first_pass, _settings

_settings.MAX_CHUNK_BYTES, _first_pass.PIECE_BYTES = 2_000, 4_000


def encoding_progress(console, *, quiet):
    told = 0
    def tell(progress):
        nonlocal told
        told += 1
        if told == 6:
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    from contextlib import nullcontext
    return nullcontext(tell)

_encode.encoding_progress = encoding_progress
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_prints_how_to_continue(number: int, code: int, table: Path) -> None:
    arguments = ["train.csv", "--target", "kind", "--out", "store", "--seed", "3", "--drop", "day"]
    done = processes.run(
        [sys.executable, "-c", INTERRUPTED, "encode", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"SIGNAL": str(int(number))},
        check=False,
    )
    assert done.returncode == code, done.stderr
    go_on = "tabnas encode train.csv --target kind --out store --seed 3 --drop day"
    assert done.stderr == f"tabnas: stopped; continue with: {go_on}\n"
    assert run([*go_on.split()[1:], "--quiet"]) == 0
    whole = ["encode", *arguments[:4], "whole", *arguments[5:], "--quiet"]
    assert run(whole) == 0
    assert open_store("store").encoder.to_dict() == open_store("whole").encoder.to_dict()


def test_the_command_to_continue_has_all_options(table: Path, here: Path) -> None:
    write_csv(here / "own rows.csv", make_columns(50))
    typed = [
        *("encode", "train.csv", "--target", "kind", "--out", "a store", "--test", "own rows.csv"),
        *("--validation", "0.3", "--task", "classification", "--scaling", "standard"),
        *("--min-count", "1", "--max-categories", "9", "--buckets", "8", "--seed", "5"),
        *("--memory", "400MB", "--categorical", "day", "--numeric", "size", "--hashed", "house"),
        *("--drop", "value"),
    ]
    assert run([*typed, "--quiet"]) == 0
    text = describe_continuation(Path("a store"))
    command, *arguments = shlex.split(text.removeprefix("continue with: "))
    assert command == "tabnas"
    before = Path("a store/store.json").stat().st_mtime_ns
    assert run([*arguments, "--quiet"]) == 0  # another one would be refused
    assert Path("a store/store.json").stat().st_mtime_ns == before
