from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tabnas.data import TableEncoder
from tabnas.runs import Progress, RunStopped, StatusFile, load_config, load_run_model
from tests.cli.conftest import BRIEF, ROWS, change, make_columns, write_csv
from tests.processes import TIMEOUT, started, wait_until

LIMIT = ["--max-parameters", "300"]
KIND = ["--target", "kind"]
MARKUP = "k[red]i\x1b[31mnd"


def run_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a refused command says: one sentence, and nothing is written."""
    before = sorted(Path().rglob("*"))
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tabnas: ")
    assert len(captured.err.splitlines()) == 1
    assert captured.err.isprintable() or captured.err[:-1].isprintable()
    assert sorted(Path().rglob("*")) == before
    return captured.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target", "knd", *LIMIT], "there is no column 'knd'; did you mean 'kind'?"),
        (LIMIT, "a file must come with --target NAME, the column to predict; it has size, co"),
        (KIND, "at least one limit must be given"),
        ([*KIND, "--max-parameters", "3"], "the cheapest, linear, has 10; raise the limit"),
        (
            [*KIND, "--max-flops", "3"],
            "no architecture meets flops <= 3: the cheapest, linear, has",
        ),
        ([*KIND, "--max-parameters", "-5"], "must be a finite number of at least 0, got -5"),
        ([*KIND, "--max-parameters", "0"], "raise the limit"),
        ([*KIND, *LIMIT, "--time-column", ""], "--time-column must name a column, got ''"),
        ([*KIND, *LIMIT, "--group-column", " "], "--group-column must name a column, got ' '"),
        ([*KIND, *LIMIT, "--teacher-columns", ","], "--teacher-columns must name columns"),
        ([*KIND, "--max-parameters", "many"], "must be an integer, like 20000 or 20k, got"),
        ([*KIND, "--max-parameters=2,000"], "got '2,000'; did you mean 2000?"),
        ([*KIND, "--max-parameters", "2.5"], "must be an integer, like 20000 or 20k, got"),
        ([*KIND, "--max-parameters"], "'--max-parameters' requires an argument"),
        ([*KIND, *LIMIT, "--quiet=1"], "'--quiet' does not take a value; see tabnas"),
        ([*KIND, *LIMIT, "-metric", "auc"], "no option '-metric'; did you mean '--metric'?"),
        ([*KIND, *LIMIT, "--memory", "lots"], "'--memory': must be a size, like 500MB or 2GB"),
        ([*KIND, "--max-paramters", "9"], "no option '--max-paramters'; did you mean '--max-param"),
        ([*KIND, *LIMIT, "--xyzzy", "9"], "no option '--xyzzy'; see tabnas search --help"),
        (["kind", *LIMIT], "unexpected extra argument(s) (kind); see tabnas search"),
        ([*KIND, *LIMIT, "--out", "full"], "must be new or empty, but it holds files"),
        ([*KIND, *LIMIT, "--out", "good.csv"], "must be a folder, but it is a file"),
        ([*KIND, *LIMIT, "--out", "good.csv/deep/run"], "cannot be written (Not a directory)"),
        ([*KIND, *LIMIT, "--metric", "acuracy"], "did you mean 'accuracy'?"),
        ([*KIND, *LIMIT, "--metric", "acc"], "did you mean 'accuracy'?"),
        (["--target", "KIND", *LIMIT], "did you mean 'kind'?"),
        ([*KIND, *LIMIT, "--metric", "rmse"], "must be one of accuracy, balanced_error"),
        (["--target", "value", *LIMIT, "--metric", "auc"], "must be one of rmse, mae, r2"),
        ([*KIND, *LIMIT, "--class-weight", "blanced"], "did you mean 'balanced'?"),
        (["--target", "value", *LIMIT, "--class-weight", "balanced"], "'value' is numeric"),
        ([*KIND, *LIMIT, "--validation", "god.csv"], "did you mean 'good.csv'?"),
        ([*KIND, *LIMIT, "--test", "none.csv"], "--test 'none.csv': there is no file"),
        ([*KIND, *LIMIT, "--validation", "aimless.csv"], "--validation 'aimless.csv': there is no"),
        (
            [*KIND, *LIMIT, "--test", "unseen.csv"],
            "'purple', which does not occur",
        ),
        ([*KIND, *LIMIT, "--validation", "150%"], "above 0 and below 1, or a file, got '150%'"),
        ([*KIND, *LIMIT, "--validation", "0"], "above 0 and below 1, or a file, got '0'"),
        ([*KIND, *LIMIT, "--validation", "0.9"], "leave rows for training"),
        ([*KIND, *LIMIT, "--time-column", "colour"], "must tell when each row was"),
        ([*KIND, *LIMIT, "--time-column", "dya"], "did you mean 'day'?"),
        ([*KIND, *LIMIT, "--group-column", "colour"], "at least 3 of them, one for each part"),
        ([*KIND, *LIMIT, "--group-column", "kind"], "must not name the target"),
        ([*KIND, *LIMIT, "--drop", "kind"], "--drop must not name the target"),
        ([*KIND, *LIMIT, "--time-column", "day", "--group-column", "house"], "split in one way"),
        ([*KIND, *LIMIT, "--numeric", "size", "--categorical", "size"], "must be of one kind"),
        ([*KIND, *LIMIT, "--numeric", "colour"], "'colour' must hold numbers, but row"),
        ([*KIND, *LIMIT, "--categorical", "colur"], "did you mean 'colour'?"),
        ([*KIND, *LIMIT, "--widths", "8,x"], "got 'x'"),
        (
            [*KIND, *LIMIT, "--widths", "900"],
            "raise the limit, allow narrower widths or fewer",
        ),
        ([*KIND, *LIMIT, "--widths", ""], "--widths must be integers"),
        ([*KIND, *LIMIT, "--numeric-dimensions", "x"], "--numeric-dimensions must be integers"),
        ([*KIND, *LIMIT, "--numeric-dimensions", ""], "--numeric-dimensions must be integers"),
        ([*KIND, *LIMIT, "--numeric-dimensions", "2,-1"], "must be an integer of at least 0"),
        ([*KIND, *LIMIT, "--numeric-dimensions", "65"], "embeddings must be at most 64, got 65"),
        (
            [*KIND, "--max-parameters", "20", "--numeric-dimensions", "64", "--knots", "5"],
            "no architecture meets parameters <= 20: the cheapest, d64-linear,",
        ),
        ([*KIND, *LIMIT, "--knots", "1"], "knots must be an integer of at least 3, got 1"),
        ([*KIND, *LIMIT, "--knots", "-4"], "knots must be an integer of at least 3, got -4"),
        ([*KIND, *LIMIT, "--knots", "some"], "'--knots': must be an integer"),
        ([*KIND, *LIMIT, "--knots", "1000"], "knots must be at most 512, got 1"),
        ([*KIND, *LIMIT, "--layers", "0"], "layers must be an integer of at least 1"),
        ([*KIND, *LIMIT, "--workers", "0"], "workers must be an integer of at least 1, got 0"),
        ([*KIND, *LIMIT, "--candidates", "0"], "candidates must be an integer of at least 1"),
        (
            [*KIND, *LIMIT, "--checkpoint-seconds", "0"],
            "'--checkpoint-seconds': must be greater than 0, got 0",
        ),
        ([*KIND, *LIMIT, "--seed", "-1"], "seed must be an integer of at least 0, got -1"),
        ([*KIND, *LIMIT, "--time", "0"], "must be a positive number of seconds"),
        ([*KIND, *LIMIT, "--time", "soon"], "must be a number of seconds, like 300 or 5m"),
        ([*KIND, *LIMIT, "--time", "nan"], "must be a positive number of seconds"),
        ([*KIND, *LIMIT, "--scaling", "robst"], "did you mean 'robust'?"),
        ([*KIND, *LIMIT, "--task", "clasification"], "did you mean 'classification'?"),
        (["--target", "nope\x1b[2J", *LIMIT], "there is no column 'nope"),
    ],
)
def test_invalid_options_are_refused(
    options: list[str], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "good.csv", make_columns())
    write_csv(here / "unseen.csv", change("kind", {4: "purple"})())
    without = make_columns()
    del without["kind"]
    write_csv(here / "aimless.csv", without)
    (here / "full").mkdir()
    (here / "full" / "letter.txt").touch()
    assert sentence in run_refused(["search", "good.csv", *options], capsys)


def raw(content: bytes) -> Callable[[], bytes]:
    return lambda: content


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (change("kind", ""), "'kind' must have values, but all are missing"),
        (change("kind", "high"), "at least two classes, but it has only 'high'"),
        (change("kind", {3: "odd"}), "the class 'odd' of the target 'kind' has only one row"),
        (raw(b""), "'table.csv' is empty"),
        (raw(b"\n\n"), "column 1 of 'table.csv' has no name"),
        (raw(b"a,kind\n"), "must have rows, but it has column names only"),
        (raw(b"a,kind\n1,x\n"), "must have at least two classes"),
        (raw(b"a,kind\n1,x\n2,y\n3,x\n4,y\n"), "at least 10 rows with a target, but it has 4"),
        (raw(b"a,b,kind\n" + 9 * b"1,2,x\n2,3,y\n" + b"1,2\n"), "but row 19 has 2"),
        (raw(b"a,a,kind\n" + 9 * b"1,2,x\n2,3,y\n"), "several columns called 'a'"),
        (raw(b"a,kind\n" + 9 * b"1,x\n1,y\n"), "all are constant or dropped"),
        (raw(b"gr\xf6sse,kind\n" + 9 * b"1,x\n2,y\n"), "must be UTF-8, but its first line"),
        (raw(b"a,kind\n" + 9 * b"gr\xfcn,x\nrot,y\n"), "must be UTF-8, but the column 'a'"),
        (change("size", {5: "about three"}), "but row 6 is 'about three'"),
        (change("size", {5: "inf"}), "must be finite, but row 6 is"),
        (change("size", {5: "1e999"}), "must be finite, but row 6 is"),
    ],
)
def test_invalid_tables_are_refused(
    made: Callable[[], dict[str, list[str]] | bytes],
    sentence: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = made()
    if isinstance(table, bytes):
        (here / "table.csv").write_bytes(table)
    else:
        write_csv(here / "table.csv", table)
    assert sentence in run_refused(["search", "table.csv", *KIND, *LIMIT], capsys)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("iriss", "there is no dataset 'iriss'; did you mean 'iris'?"),
        ("good", "there is no dataset 'good'; did you mean the file 'good.csv'?"),
        ("goood", "there is no dataset 'goood'; did you mean the file 'good.csv'?"),
        ("wholly.csv", "there is no file 'wholly.csv'; tables here: "),
        (
            "nowhere/good.csv",
            "there is no file 'nowhere/good.csv', for there is no folder",
        ),
        (
            "https://host/good.csv",
            "must be a file on this machine, got the address 'https://host/good.csv'",
        ),
        ("nameless.csv", "these look like values: the first line must hold the names"),
        ("god.csv", "there is no file 'god.csv'; did you mean 'good.csv'?"),
        ("folder", "there is no store in the folder 'folder'; name a file"),
        ("table.xlsx", "must end in one of .csv"),
        ("false.csv.gz", "cannot be read"),
    ],
)
def test_invalid_sources_are_refused(
    data: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "good.csv", make_columns())
    (here / "folder").mkdir()
    (here / "nameless.csv").write_text("0.5,low\n0.7,high\n", encoding="utf-8")
    (here / "table.xlsx").write_bytes(b"no table")
    (here / "false.csv.gz").write_bytes(b"a,b\n1,2\n")
    assert sentence in run_refused(["search", data, *KIND, *LIMIT], capsys)


def test_a_limit_too_small_for_many_columns_names_the_smallest(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = {f"c{i}": [str(i * 7 % 11 + row) for row in range(20)] for i in range(400)}
    write_csv(here / "wide.csv", wide | {"kind": ["a", "b"] * 10})
    said = run_refused(["search", "wide.csv", *KIND, *LIMIT], capsys)
    assert "the cheapest, linear, has 401; raise the limit" in said
    assert run(["search", "wide.csv", *KIND, "--max-parameters", "401", "--dry-run"]) == 0


def test_control_characters_and_markup_are_printed_as_text(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = make_columns()
    columns[MARKUP] = columns.pop("kind")
    write_csv(here / "odd.csv", columns)
    assert "k[red]i\N{REPLACEMENT CHARACTER}[31mnd" in run_refused(
        ["search", "odd.csv", "--target", "zzz", *LIMIT], capsys
    )
    assert run(["search", "odd.csv", "--target", MARKUP, *LIMIT, "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out
    assert "k[red]i" in captured.out


def test_large_numbers_work(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = make_columns()
    columns["size"] = [f"{float(text) / 4:.3f}e308" for text in columns["size"]]
    write_csv(here / "huge.csv", columns)
    assert run(["search", "huge.csv", *KIND, *LIMIT, *BRIEF, "--out", "run", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_search_without_a_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = make_columns()
    columns["größe"] = columns.pop("size")
    columns["kind"] = [{"high": "hoch ☀", "low": "tief"}[label] for label in columns["kind"]]
    write_csv(here / "good.csv", columns)
    assert run(["search", "good.csv", *KIND, *LIMIT, *BRIEF]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "tabnas: search", "tabnas: candidates", "tabnas: final training", "tabnas: comparison"
    ]  # fmt: skip
    assert "next: tabnas predict runs/good new.csv --out predictions.csv" in captured.out
    assert max(map(len, captured.out.splitlines())) <= 80
    written = {path.name for path in (here / "runs" / "good").iterdir()}
    pages = {"report.html", "MODEL_CARD.md"}
    assert written == {"model", "result.json", "history.jsonl", "config.toml"} | pages
    text = (here / "runs" / "good" / "result.json").read_text(encoding="utf-8")
    assert "größe" in text
    assert json.loads(text)["target"]["classes"] == ["hoch ☀", "tief"]
    config = tomllib.loads((here / "runs" / "good" / "config.toml").read_text(encoding="utf-8"))
    assert config["data"] == {"data": str(here / "good.csv"), "target": "kind"}
    assert config["settings"]["limits"] == {"parameters": 300}


def test_json_is_the_only_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(here / "good.csv", make_columns())
    assert run(["search", "good.csv", *KIND, *LIMIT, *BRIEF, "--out", "a/b", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    result = json.loads(captured.out)
    assert result["folder"] == "a/b"
    assert result["costs"]["parameters"]["value"] <= 300


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_dry_run_writes_and_trains_nothing(
    form: list[str],
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_csv(here / "good.csv", make_columns())
    monkeypatch.setattr("tabnas.runs.search._find_candidates.Search", None)
    teacher = ["--teacher", "network"]
    asked = ["search", "good.csv", *KIND, *LIMIT, "--knots", "6", *teacher, "--dry-run", *form]
    assert run(asked) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert [path.name for path in here.iterdir()] == ["good.csv"]
    if form:
        printed = json.loads(captured.out)
        assert printed["rows"] == {"training": 36, "validation": 12, "test": 12}
        assert 0 < printed["feasible"] < printed["architectures"]
        assert set(printed["seconds"]) == {"search", "teacher", "candidates", "comparison"}
        teacher = printed["teacher"]
        assert teacher["folds"] == 5
        assert teacher["fits"] == 15 * len(teacher["models"])  # one for each fold and pair of folds
        assert teacher["seconds"] == printed["seconds"]["teacher"] > 0
        embeddings = printed["numeric_embeddings"]
        assert embeddings["dimensions"][:3] == [0, 1, 2]
        assert 0 < 3 * embeddings["columns"] <= embeddings["knots"]
    else:
        assert "36 training, 12 validation, 12 test" in captured.out
        assert "3 numeric, 1 categorical, 1 datetime" in captured.out
        assert "to compare with boosted trees" in captured.out
        assert re.search(r"teacher +[a-z ]+, \d+ fits in 5 folds, about [\d.]+ s", captured.out)
        assert re.search(
            r"input +dimensions 0, 1, 2, [48, ]+ of \d+ numeric columns  \(\d+ knots\)",
            captured.out,
        )
        assert max(map(len, captured.out.splitlines())) <= 80


def test_a_dry_run_without_a_teacher(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(here / "good.csv", make_columns())
    dry = ["search", "good.csv", *KIND, *LIMIT, "--teacher", "none", "--dry-run"]
    assert run(dry) == 0
    assert re.search(r"teacher +none", capsys.readouterr().out)
    assert run([*dry, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["teacher"] is None
    assert printed["seconds"]["teacher"] == 0


@pytest.mark.parametrize(
    ("dimensions", "shown"),
    [("2", "dimensions 2 of"), ("0", None), ("0,1,2,3,4,5,6,7,8,9", "dimensions 0, 1, … 9")],
)
def test_a_dry_run_shows_the_input_layer(
    dimensions: str, shown: str | None, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "good.csv", make_columns())
    arguments = ["--numeric-dimensions", dimensions, "--knots", "6", "--max-parameters", "900"]
    assert run(["search", "good.csv", *KIND, *arguments, "--dry-run"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("input")]
    assert [shown in line for line in lines] == ([True] if shown else [])


def test_a_dry_run_with_one_feasible_network(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 3 else 'no'}" for i in range(200)]
    (here / "few.csv").write_text("\n".join(["a,c,y", *rows, ""]))
    arguments = ["search", "few.csv", "--target", "y", "--max-parameters", "20", "--dry-run"]
    assert run(arguments) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "layer 1 absent, or 2 (1 width)" in lines
    assert lines[lines.index("architectures 1 feasible of 2") + 1] == "only linear"
    assert "candidates 1 from the search" in lines
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == 1


def test_an_interrupted_run_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    write_csv(here / "good.csv", make_columns())
    monkeypatch.setattr(TableEncoder, "fit", interrupt)
    assert run(["search", "good.csv", *KIND, *LIMIT, "--out", "deep/er/run"]) == 130
    captured = capsys.readouterr()
    assert captured.err == "tabnas: interrupted, and nothing was written\n"
    assert [path.name for path in here.iterdir()] == ["good.csv"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_process_cleanly(sent: signal.Signals, code: int, here: Path) -> None:
    write_csv(here / "good.csv", make_columns())
    command = [sys.executable, "-m", "tabnas", "search", "good.csv", *KIND, *LIMIT, "--time", "600"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until((here / "runs").exists, process)  # taken before the work begins
        process.send_signal(sent)
        out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err
    assert [path.name for path in here.iterdir()] == ["good.csv"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_two_interruptions_keep_the_checkpoint(here: Path) -> None:
    write_csv(here / "good.csv", make_columns(1_000))
    command = [sys.executable, "-m", "tabnas", "search", "good.csv", *KIND, *LIMIT, "--time", "600"]
    options = ["--checkpoint-seconds", "0.1", "--out", "run"]
    with started([*command, *options], stderr=subprocess.PIPE) as process:
        wait_until(lambda: list(here.glob("run/checkpoint/*.checkpoint")), process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.15)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert err.endswith(b"tabnas: stopped; continue with: tabnas resume run\n")
    assert list(here.glob("run/checkpoint/*.checkpoint"))


@pytest.mark.slow
def test_errors_in_a_separate_process(here: Path) -> None:
    write_csv(here / "good.csv", change("kind", dict.fromkeys(range(ROWS), ""))())
    command = [sys.executable, "-m", "tabnas", "search", "good.csv", *KIND, *LIMIT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "tabnas: the target 'kind' must have values, but all are missing; name another column"
    ]


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--help"]) == 0
    said = capsys.readouterr().out
    for word in ("tabnas search train.csv", "--max-parameters", "--dry-run", "tabnas predict"):
        assert word in said


def test_validation_and_test_files_are_read_like_the_table(here: Path) -> None:
    """Codes like 007 are texts there because of others, and stay so in files without those."""
    rng = np.random.default_rng(0)
    label = {"007": "01", "012": "02", "A3": "02"}

    def made(rows: int, codes: list[str]) -> str:
        drawn = zip(rng.choice(codes, rows), rng.random(rows), strict=True)
        return "code,x,y\n" + "".join(f"{c},{x},{label[c]}\n" for c, x in drawn)

    (here / "codes.csv").write_text(made(400, list(label)) + "A3,0.5,A1\n" * 9)
    (here / "some.csv").write_text(made(200, ["007", "012"]))
    asked = ["search", "codes.csv", "--target", "y", *LIMIT, "--test", "some.csv", "--quiet"]
    (here / "y").mkdir()  # a folder of the target's name is no file of the run
    assert run([*asked, "--out", "found", "--candidates", "1"]) == 0
    result = json.loads((here / "found" / "result.json").read_text())
    assert result["scores"]["network"]["metrics"]["accuracy"]["value"] == 1.0
    assert load_config(here / "found")["data"]["target"] == "y"
    assert run(["evaluate", "found", "some.csv"]) == 0


def test_a_test_file_without_targets_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "good.csv", make_columns())
    columns = make_columns()
    columns["kind"] = [""] * len(columns["kind"])
    write_csv(here / "empty.csv", columns)
    assert run(["search", "good.csv", *KIND, *LIMIT, "--test", "empty.csv", "--out", "run"]) == 2
    assert "the test part must have rows with a target" in capsys.readouterr().err


# -- rows without a target -------------------------------------------------------------------------


@pytest.fixture
def unlabelled(here: Path) -> list[str]:
    """The command of a search with a file of rows without a target."""
    write_csv(here / "good.csv", make_columns())
    columns = make_columns(30)
    del columns["kind"]
    write_csv(here / "more.csv", columns)
    asked = ["search", "good.csv", *KIND, *LIMIT, "--drop", "value", "--candidates", "1"]
    return [*asked, "--teacher", "network", "--unlabelled", "more.csv"]


def test_rows_without_a_target_can_be_added(
    unlabelled: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*unlabelled, "--out", "run"]) == 0
    assert "note: 30 rows without a value of 'kind', the target: networks" in " ".join(
        capsys.readouterr().out.split()
    )
    assert load_config(here / "run")["data"]["unlabelled"] == str(here / "more.csv")
    result = json.loads((here / "run" / "result.json").read_text())
    assert any(candidate["uses_unlabelled"] for candidate in result["candidates"])
    again = (here / "run" / "report.html").read_text()
    assert f"--unlabelled {here / 'more.csv'}" in again


def test_a_stopped_search_reads_the_rows_without_a_target_again(
    unlabelled: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([*unlabelled, "--out", "run", "--quiet"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(StatusFile, "__call__", _stop_at_candidates)
        assert run([*unlabelled, "--out", "stopped", "--quiet"]) == 130
    rows = (here / "more.csv").read_text()
    (here / "more.csv").write_text(rows.replace("red", "blue"))
    assert run(["resume", "stopped", "--quiet"]) == 2
    (here / "more.csv").write_text(rows)
    assert run(["resume", "stopped", "--quiet"]) == 0
    models = [load_run_model(here / name) for name in ("run", "stopped")]
    for name, array in models[0].weights.items():
        assert np.array_equal(array, models[1].weights[name])


def _stop_at_candidates(status: StatusFile, progress: Progress) -> None:
    if progress.phase == "candidates":
        raise RunStopped(signal.SIGINT)


def test_the_target_of_rows_without_a_target_is_ignored(
    unlabelled: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "more.csv", change("kind", "unheard of")())
    assert run([*unlabelled, "--out", "run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "note: the column 'kind' of the rows without a target was ignored" in said


def test_the_test_rows_may_be_rows_without_a_target(unlabelled: list[str], here: Path) -> None:
    write_csv(here / "more.csv", make_columns(90))
    assert run([*unlabelled, "--test", "more.csv", "--dry-run", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--unlabelled", "more.csv", "--teacher", "none"],
            "--unlabelled must have a teacher, which answers these rows, got",
        ),
        (["--unlabelled", "good.csv"], "--unlabelled must be another file than the table, got"),
        (["--unlabelled", "none.csv"], "--unlabelled 'none.csv': there is no file 'none.csv'"),
        (
            ["--unlabelled", "empty.csv"],
            "--unlabelled 'empty.csv': 'empty.csv' must have rows, but",
        ),
        (
            ["--unlabelled", "other.csv"],
            "in the rows without a target, the table must have the column 'size'",
        ),
    ],
)
def test_wrong_rows_without_a_target_are_refused(
    options: list[str],
    sentence: str,
    unlabelled: list[str],
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "empty.csv").write_text("size,colour,day,house,value\n")
    (here / "other.csv").write_text("a,b\n1,2\n")
    assert sentence in run_refused([*unlabelled[:-4], *options, "--out", "run"], capsys)


def test_a_store_has_no_rows_without_a_target(
    unlabelled: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["encode", "good.csv", *KIND, "--drop", "value", "--out", "store", "--quiet"]) == 0
    asked = ["search", "store", *LIMIT, "--unlabelled", "more.csv", "--out", "run"]
    assert "there is no teacher for the rows of a store" in run_refused(asked, capsys)
