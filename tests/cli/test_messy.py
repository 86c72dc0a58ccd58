"""What the command line says of messy tables, in its output and in its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tabnas.runs import load_config
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import make_columns, write_csv

pytestmark = pytest.mark.filterwarnings("default::tabnas.data.DataWarning")
LIMIT = ["--max-parameters", "300", "--layers", "1", "--candidates", "1"]
ROWS = 200


def messy_columns() -> dict[str, list[str]]:
    columns = make_columns(ROWS)
    return {
        "user": [f"u{i:04d}x" for i in range(ROWS)],
        "size": columns["size"],
        "colour": columns["colour"],
        "kind": columns["kind"],
    }


def test_notes_of_identifiers_are_in_the_result(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "train.csv", messy_columns())
    note = "the column 'user' looks like an identifier"
    assert run(["search", "train.csv", "--target", "kind", *LIMIT, "--out", "run"]) == 0
    assert f"note: {note}" in capsys.readouterr().err
    assert run(["encode", "train.csv", "--target", "kind", "--out", "store"]) == 0
    assert f"note: {note}" in capsys.readouterr().err
    assert run(["search", "store", *LIMIT, "--out", "stored"]) == 0
    for folder in ("run", "stored"):
        notes = json.loads((here / folder / "result.json").read_text())["notes"]
        assert any(one.startswith(note) for one in notes), folder
        assert "looks like an identifier" in (here / folder / "report.html").read_text()
        assert "looks like an identifier" in (here / folder / "MODEL_CARD.md").read_text()


@pytest.mark.parametrize("part", ["validation", "test"])
def test_other_spellings_in_a_test_file_are_a_note(
    part: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = make_columns(ROWS)
    write_csv(here / "train.csv", columns)
    write_csv(here / "own.csv", columns | {"colour": [c.upper() for c in columns["colour"]]})
    asked = ["search", "train.csv", "--target", "kind", "--drop", "value", *LIMIT]
    assert run([*asked, f"--{part}", "own.csv", "--out", "run"]) == 0
    note = f"in the {part} rows, all 200 values of the column 'colour' are missing or unknown"
    assert f"note: {note}" in capsys.readouterr().err
    notes = json.loads((here / "run" / "result.json").read_text())["notes"]
    assert any(one.startswith(note) for one in notes)


def test_the_decimal_mark_is_kept_with_the_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = [1_000 + 37 * i for i in range(ROWS)]
    lines = [f"{p:,};{i % 3};{'yes' if p > 4_000 else 'no'}" for i, p in enumerate(prices)]
    (here / "train.csv").write_text("\n".join(["price;n;y", *lines]).replace(",", ".") + "\n")
    asked = ["search", "train.csv", "--target", "y", *LIMIT]
    said = run_refused(asked, capsys)
    assert "is '1.000', which is 1.000 or 1000; set the decimal mark with --decimal" in said
    assert "must be '.' or ',', got ';'" in run_refused([*asked, "--decimal", ";"], capsys)
    assert run([*asked, "--decimal", ",", "--out", "run"]) == 0
    assert load_config("run")["settings"]["decimal"] == ","
    assert "--decimal ," in (here / "run" / "report.html").read_text()
    columns = json.loads((here / "run" / "result.json").read_text())["columns"]
    assert columns["price"].startswith("numeric: centred on the median 47")
    # new rows that show no mark are read by that of the run
    (here / "new.csv").write_text("price;n\n1.500;0\n7.500;0\n")
    capsys.readouterr()
    assert run(["predict", "run", "new.csv"]) == 0
    low, high = capsys.readouterr().out.splitlines()[1:]
    assert low.startswith('"no"')
    assert high.startswith('"yes"')
    assert run(["encode", "train.csv", "--target", "y", "--decimal", ",", "--out", "store"]) == 0
    assert run(["search", "store", *LIMIT, "--out", "stored"]) == 0
    assert run(["predict", "stored", "new.csv"]) == 0


def test_labels_that_look_missing_are_labels_with_a_note(here: Path) -> None:
    columns = make_columns(ROWS)
    columns["kind"] = ["none" if kind == "low" else "some" for kind in columns["kind"]]
    columns["kind"][:3] = ["?", "", "null"]
    write_csv(here / "train.csv", columns)
    asked = ["search", "train.csv", "--target", "kind", "--drop", "value", *LIMIT]
    assert run([*asked, "--out", "run"]) == 0
    result = json.loads((here / "run" / "result.json").read_text())
    assert any("'none' is a class of the target 'kind'" in note for note in result["notes"])
    assert any("3 rows without a value of 'kind'" in note for note in result["notes"])
    assert run(["evaluate", "run", "train.csv"]) == 0


def test_a_text_among_numbers_is_refused_in_every_split(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = make_columns(ROWS)
    asked = ["search", "train.csv", "--target", "kind", "--drop", "value", *LIMIT]
    for row in (0, 1, 2, 3, 4):
        house = [str(1 + i % 4) for i in range(ROWS)]
        house[row] = "foo"
        write_csv(here / "train.csv", columns | {"house": house})
        said = run_refused(asked, capsys)
        assert f"row {row + 1} is 'foo'" in said
        assert "declare the column categorical" in said
