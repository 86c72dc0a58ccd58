"""Files are read and answered in chunks, and nothing shows where one ends."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from rich.console import Console

from tabnas.cli._main import run
from tabnas.cli.display import _progress
from tabnas.data import TableEncoder, _arrow_files, _spool, read_table
from tabnas.data.csv_files import _reader
from tabnas.model import _model
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import ROWS, change, make_columns, write_csv

PIECE = 7


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large, and every chunk small."""
    monkeypatch.setattr(_arrow_files, "MIN_LARGE_BYTES", 1)
    monkeypatch.setattr(_spool, "MIN_LARGE_BYTES", 1)
    monkeypatch.setattr(_spool, "GROUP_BYTES", 200)
    monkeypatch.setattr(_reader, "SAMPLE_BYTES", 100)
    monkeypatch.setattr(_reader, "BLOCK_BYTES", 100)
    monkeypatch.setattr(_model, "MAX_CHUNK_ROWS", PIECE)


def messy_columns() -> dict[str, list[str]]:
    """Rows whose early columns look like other types than their late ones."""
    columns = make_columns()
    columns["size"] = ["", *["1"] * 20, *columns["size"][21:]]  # missing, whole, then fractions
    columns["house"] = [*["1"] * 30, "NA", "2.5", *columns["house"][32:]]
    columns["colour"] = [*["7"] * 20, "purple", "?", *columns["colour"][22:]]  # codes, then texts
    columns["day"] = [*[""] * 10, *columns["day"][10:50], *["2024-02-03 10:00:00"] * 5, *[""] * 5]
    columns["kind"][3] = ""
    columns["value"][50] = "NA"
    return columns


def write_as(path: Path, columns: dict[str, list[str]]) -> Path:
    """Write in the format that the name ends with."""
    plain = write_csv(path.with_name("plain.csv"), columns)
    if path.name.endswith("csv.gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif path.suffix == ".tsv":
        path.write_text(plain.read_text().replace(",", "\t"))
    elif path.name == "semicolons.csv":
        path.write_text(plain.read_text().replace(",", ";").replace(".", ","))
    elif path.suffix == ".csv":
        path.write_bytes(plain.read_bytes())
    else:
        table = read_table(plain).arrow
        if path.suffix == ".parquet":
            parquet.write_table(table, path, row_group_size=11)
        else:
            feather.write_feather(table, path, chunksize=11)
    return path


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were encoded at a time."""
    rows: list[int] = []
    encode = TableEncoder.encode

    def counted(encoder: TableEncoder, table: object, *given: object) -> object:
        rows.append(len(table))  # type: ignore[arg-type]
        return encode(encoder, table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(TableEncoder, "encode", counted)
    return rows


@pytest.mark.parametrize("model", ["classes", "quantity"])
@pytest.mark.parametrize(
    "name", ["a.csv", "semicolons.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.feather"]
)
def test_chunks_do_not_change_predictions_and_scores(
    name: str,
    model: str,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    path = write_as(here / name, messy_columns())
    run_folder = str(finished / model)

    def answered(out: str) -> tuple[pa.Table, dict[str, object]]:
        assert run(["predict", run_folder, str(path), "--out", out]) == 0
        capsys.readouterr()
        assert run(["evaluate", run_folder, str(path), "--json"]) == 0
        return parquet.read_table(out), json.loads(capsys.readouterr().out)

    whole = answered("whole.parquet")
    request.getfixturevalue("in_chunks")
    rows = request.getfixturevalue("watched")
    in_chunks = answered("chunks.parquet")
    assert in_chunks[0].equals(whole[0])
    assert in_chunks[1] == whole[1]
    assert in_chunks[0].num_rows == ROWS
    assert in_chunks[1]["rows"] == ROWS - 1
    assert max(rows) == PIECE
    assert len(rows) == 2 * -(-ROWS // PIECE)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_chunks_do_not_change_written_files(
    ending: str, finished: Path, here: Path, request: pytest.FixtureRequest
) -> None:
    arguments = ["predict", str(finished / "classes"), str(finished / "good.csv"), "--out"]
    assert run([*arguments, f"whole.{ending}"]) == 0
    request.getfixturevalue("in_chunks")
    assert run([*arguments, f"chunks.{ending}"]) == 0
    if ending in ("csv", "tsv"):
        assert (here / f"chunks.{ending}").read_bytes() == (here / f"whole.{ending}").read_bytes()
    else:
        read: Callable[[Path], pa.Table] = {
            "parquet": parquet.read_table,
            "feather": feather.read_table,
        }[ending]
        assert read(here / f"chunks.{ending}").equals(read(here / f"whole.{ending}"))
    assert sorted(path.name for path in here.iterdir()) == [f"chunks.{ending}", f"whole.{ending}"]


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.feather"])
def test_threads_do_not_change_written_files_and_scores(
    name: str, ending: str, finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = str(write_as(here / name, messy_columns())), str(finished / "classes")
    written, scores = [], []
    for threads in ("1", "2", "5"):
        out = here / f"{threads}.{ending}"
        assert run(["predict", model, path, "--out", str(out), "--threads", threads]) == 0
        written.append(out.read_bytes())
        capsys.readouterr()
        assert run(["evaluate", model, path, "--json", "--threads", threads]) == 0
        scores.append(capsys.readouterr().out)
    assert written[0] == written[1] == written[2]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.usefixtures("in_chunks")
def test_one_thread_is_one_thread(
    finished: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(thread: Thread) -> None:
        raise AssertionError(f"a thread was started: {thread.name}")

    monkeypatch.setattr(Thread, "start", refuse)
    model, rows = str(finished / "classes"), str(finished / "good.csv")
    assert run(["predict", model, rows, "--out", "a.csv", "--threads", "1"]) == 0
    assert run(["evaluate", model, rows, "--threads", "1"]) == 0
    assert pa.cpu_count() == 1


@pytest.mark.usefixtures("in_chunks")
def test_every_line_of_a_single_column_is_predicted(here: Path) -> None:
    rows = 40
    rng = np.random.default_rng(0)
    size = rng.normal(size=rows)
    made = pa.table({"size": size, "value": 3 * size})
    csv.write_csv(made, here / "train.csv")
    search = ["search", "train.csv", "--target", "value", "--max-parameters", "100", "--out", "run"]
    assert run([*search, "--quiet", "--time", "0.1", "--candidates", "1"]) == 0
    (here / "new.csv").write_text("size\n1\n\n0.5\n\n2\n")
    assert run(["predict", "run", "new.csv", "--out", "answers.csv"]) == 0
    answers = (here / "answers.csv").read_text().splitlines()[1:]
    assert len(answers) == 5
    assert answers[1] == answers[3]
    assert len(set(answers)) == 4


@pytest.mark.usefixtures("in_chunks")
def test_an_invalid_late_row_is_named_and_nothing_is_written(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = change("size", {40: "big"})()
    columns["kind"][:5] = [""] * 5
    write_csv(here / "words.csv", columns)
    model = str(finished / "classes")
    sentence = "'size' must hold numbers, but row 41 is 'big'"
    assert sentence in run_refused(["predict", model, "words.csv", "--out", "new/er/a.csv"], capsys)
    assert sentence in run_refused(["evaluate", model, "words.csv"], capsys)
    columns = make_columns()
    columns["kind"][:5] = [""] * 5
    columns["kind"][40] = "purple"
    write_csv(here / "unseen.csv", columns)
    said = run_refused(["evaluate", model, "unseen.csv"], capsys)
    assert "'kind' in row 41 is 'purple', which does not occur in the training rows" in said


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch, in_chunks: None) -> Callable[..., None]:
    """Something comes in between, at the fourth chunk."""

    def interrupt(error: BaseException) -> None:
        encode, count = TableEncoder.encode, iter(range(100))

        def interrupted(*given: object) -> object:
            if next(count) == 3:
                raise error
            return encode(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(TableEncoder, "encode", interrupted)

    return interrupt


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), OSError(28, "No room")])
def test_an_interrupted_prediction_leaves_no_file(
    error: BaseException,
    finished: Path,
    here: Path,
    interrupting: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    interrupting(error)
    (here / "a.csv").write_text("as it was")
    for out in ("a.csv", "new/a.csv"):
        arguments = ["predict", str(finished / "classes"), str(finished / "good.csv")]
        if isinstance(error, SystemExit):
            with pytest.raises(SystemExit):
                run([*arguments, "--out", out])
        else:
            expected = 130 if isinstance(error, KeyboardInterrupt) else 2
            assert run([*arguments, "--out", out]) == expected
        interrupting(error)
    assert (here / "a.csv").read_text() == "as it was"
    assert [path.name for path in here.iterdir()] == ["a.csv"]
    assert capsys.readouterr().out == ""


def test_an_interruption_prints_that_predictions_are_missing(
    finished: Path, interrupting: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    interrupting(KeyboardInterrupt())
    asked = ["predict", str(finished / "classes"), str(finished / "good.csv"), "--threads", "1"]
    assert run(asked) == 130
    said = capsys.readouterr()
    assert said.err == "tabnas: interrupted before all predictions were written\n"
    assert len(said.out.splitlines()) == 1 + 3 * PIECE


def test_row_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    console = Console(
        file=stream, force_terminal=True, width=80, color_system=None, legacy_windows=False
    )
    monkeypatch.setattr(_progress, "make_console", lambda *, stderr: console)
    with _progress.row_progress("predicting") as progress:
        progress.on_read(0.25)
        progress.on_rows(0, 4_000_000)
        progress.on_rows(3_000_000, 4_000_000)
        assert progress._bars is not None
        progress._bars.refresh()
    said = stream.getvalue()
    for words in ("reading", "25 %", "predicting", "75 %", "3,000,000 rows"):
        assert words in said
    assert said.endswith("\x1b[1A\x1b[2K")  # and vanishes
    with _progress.row_progress("predicting", hidden=True) as progress:
        progress.on_rows(1, 2)
    assert stream.getvalue() == said
