from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tabnas.cli._main import run
from tabnas.data import read_table
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import BRIEF, ROWS, change, make_columns, write_csv

PROBABILITIES = ("probability of high", "probability of low")


def answers(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_classes_with_their_probabilities(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", "deep/er/answers.csv"]
    assert run(["predict", str(finished / "classes"), str(finished / "good.csv"), *out]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"{ROWS} predictions written to deep/er/answers.csv\n"
    rows = answers(here / "deep" / "er" / "answers.csv")
    assert len(rows) == ROWS
    assert list(rows[0]) == ["kind", "probability of high", "probability of low"]
    for row in rows:
        sure = float(row[f"probability of {row['kind']}"])
        assert 0.5 <= sure <= 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_every_format(ending: str, finished: Path, here: Path) -> None:
    out = here / f"answers.{ending}"
    arguments = ["predict", str(finished / "quantity"), str(finished / "good.csv")]
    assert run([*arguments, "--out", str(out)]) == 0
    if ending == "parquet":
        assert parquet.read_table(out).num_rows == ROWS
    elif ending == "feather":
        assert feather.read_table(out).num_rows == ROWS
    else:
        assert len(out.read_text(encoding="utf-8").splitlines()) == ROWS + 1
    assert [path.name for path in here.iterdir()] == [out.name]


def test_large_integers_as_labels_are_not_rounded(here: Path) -> None:
    labels = [7, 2**63 + 1]
    x = np.arange(60) % 2
    parquet.write_table(pa.table({"x": x, "y": np.array(labels, np.uint64)[x]}), "rows.parquet")
    search = ["search", "rows.parquet", "--target", "y", "--max-parameters", "200", *BRIEF]
    assert run([*search, "--out", "r"]) == 0
    assert run(["predict", "r", "rows.parquet", "--out", "p.parquet"]) == 0
    assert set(parquet.read_table("p.parquet")["y"].to_pylist()) <= set(labels)


def test_order_and_number_of_columns_do_not_matter(finished: Path, here: Path) -> None:
    columns = make_columns()
    del columns["kind"]
    turned = {"more": ["?"] * ROWS} | dict(reversed(columns.items()))
    write_csv(here / "turned.csv", turned)
    for file, out in ((finished / "good.csv", "a.csv"), (here / "turned.csv", "b.csv")):
        assert run(["predict", str(finished / "classes"), str(file), "--out", out]) == 0
    assert answers(here / "a.csv") == answers(here / "b.csv")


@pytest.mark.filterwarnings("default::tabnas.data.DataWarning")
@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("colour", "purple", "all 60 values of the column 'colour' are missing or unknown"),
        ("colour", "", "all 60 values of the column 'colour' are missing or unknown"),
        ("size", "NA", ""),
        ("day", "", ""),
    ],
)
def test_unseen_and_missing_values_are_predicted(
    name: str,
    text: str,
    note: str,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_csv(here / "new.csv", change(name, text)())
    assert run(["predict", str(finished / "classes"), "new.csv", "--out", "a.csv"]) == 0
    assert len(answers(here / "a.csv")) == ROWS
    said = capsys.readouterr().err
    assert note in said
    assert ("note:" in said) == bool(note)
    assert run(["evaluate", str(finished / "classes"), "new.csv"]) == 0
    assert note in capsys.readouterr().err
    some = dict.fromkeys(range(ROWS // 2), text)
    write_csv(here / "new.csv", change(name, some)())
    assert run(["predict", str(finished / "classes"), "new.csv", "--out", "a.csv"]) == 0
    assert "note:" not in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_no_rows_have_no_predictions(ending: str, finished: Path, here: Path) -> None:
    columns = make_columns()
    write_csv(here / "none.csv", {name: [] for name in columns})
    for name, header in (("classes", ["kind", *PROBABILITIES]), ("quantity", ["value"])):
        out = here / f"{name}.{ending}"
        assert run(["predict", str(finished / name), "none.csv", "--out", str(out)]) == 0
        assert read_table(out, empty=True).names == header
        assert len(read_table(out, empty=True)) == 0


def test_a_table_without_rows_is_refused_where_rows_are_needed(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "none.csv", {name: [] for name in make_columns()})
    asked = ["search", "none.csv", "--target", "kind", "--max-parameters", "300"]
    for command in (asked, ["evaluate", str(finished / "classes"), "none.csv"]):
        assert "must have rows, but it has column names only" in run_refused(command, capsys)
    write_csv(here / "bare.csv", {"size": [], "day": []})
    said = run_refused(["predict", str(finished / "classes"), "bare.csv"], capsys)
    assert "must have the column 'colour'" in said


def test_every_line_of_a_single_column_is_predicted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"x": [f"{i % 5}" for i in range(60)], "y": ["no", "yes", "no", "yes", "yes"] * 12}
    write_csv(here / "train.csv", rows)
    limit = ["--max-parameters", "100", "--layers", "1", "--quiet", "--out", "run"]
    assert run(["search", "train.csv", "--target", "y", *limit]) == 0
    (here / "new.csv").write_text("x\n1\n\n2\n\n3\n")
    capsys.readouterr()
    assert run(["predict", "run", "new.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 5


@pytest.mark.parametrize(
    ("file", "out", "sentence"),
    [
        ("bare.csv", "a.csv", "must have the column 'colour', as the training table had"),
        ("words.csv", "a.csv", "'size' must hold numbers, but row 3 is 'big'"),
        ("god.csv", "a.csv", "there is no file 'god.csv'; did you mean 'good.csv'?"),
        ("good.csv", "a.xlsx", "--out must end in one of .csv, .tsv, .parquet, .feather"),
        ("good.csv", "a", "--out must end in one of"),
        ("good.csv", "folder", "--out must be a file, but 'folder' is a folder"),
        ("good.csv", "good.csv", "--out must differ from the file of rows"),
        ("good.csv", "good.csv/a.csv", "cannot be written"),
    ],
)
def test_invalid_rows_and_paths_are_refused(
    file: str,
    out: str,
    sentence: str,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(finished / "good.csv", here)
    columns = make_columns()
    write_csv(here / "bare.csv", {name: columns[name] for name in ("size", "day", "house")})
    write_csv(here / "words.csv", change("size", {2: "big"})())
    (here / "folder").mkdir()
    said = run_refused(["predict", str(finished / "classes"), file, "--out", out], capsys)
    assert sentence in said


def test_folders_without_runs_are_refused(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(finished / "good.csv", here)
    for folder in ("empty", "begun", "several/limit-5", "runs/first"):
        (here / folder).mkdir(parents=True)
    (here / "begun" / "config.toml").touch()
    (here / "several" / "tradeoff.json").touch()
    for name in ("result.json", "config.toml"):
        (here / "several" / "limit-5" / name).touch()
        (here / "runs" / "first" / name).touch()
    for folder, sentence in (
        ("runs/frist", "but it does not exist; did you mean 'runs/first'?"),
        ("runs", "but it has no model; did you mean 'runs/first'?"),
        ("begun", "the run has not ended; follow it with: tabnas watch begun, or if it was"),
        ("several", "a trade-off, which has a run for each limit; name one like 'several/limit-5'"),
        ("nowhere", "must be the folder of a finished run, but it does not exist"),
        ("good.csv", "must be the folder of a finished run, but it is a file"),
        ("empty", "must be the folder of a finished run, but it has no model"),
    ):
        assert sentence in run_refused(["predict", folder, "good.csv"], capsys)


def test_commands_for_a_run_that_has_not_ended_can_be_copied(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = f"my runs/{'x' * 220}"
    (here / folder).mkdir(parents=True)
    (here / folder / "config.toml").touch()
    said = run_refused(["predict", folder, "new.csv"], capsys)
    assert f"follow it with: tabnas watch '{folder}', or if it was" in said
    assert said.endswith(f"continue with: tabnas resume '{folder}'\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("weights.safetensors", b"xx"),
        ("weights.safetensors", None),
        ("model.json", b"{"),
        ("model.json", b"[]"),
        ("model.json", None),
    ],
)
def test_damaged_models(
    name: str,
    content: bytes | None,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(finished / "good.csv", here)
    shutil.copytree(finished / "classes", here / "damaged")
    file = here / "damaged" / "model" / name
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    said = run_refused(["predict", "damaged", "good.csv"], capsys)
    assert "the model in 'damaged' is damaged or incomplete" in said


@pytest.mark.slow
def test_predictions_go_to_standard_output(finished: Path) -> None:
    arguments = ["predict", str(finished / "quantity"), str(finished / "good.csv")]
    done = subprocess.run(
        [sys.executable, "-m", "tabnas", *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == '"value"'
    assert len(done.stdout.splitlines()) == ROWS + 1
    assert done.stderr == ""


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(finished: Path) -> None:
    arguments = ["predict", str(finished / "quantity"), str(finished / "good.csv")]
    with subprocess.Popen(
        [sys.executable, "-m", "tabnas", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
