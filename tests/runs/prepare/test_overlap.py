"""Validation and test rows that are also training rows are refused or noted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import concat_tables, parquet

from tabnas.cli import _main as cli
from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.runs import (
    EncodedRows,
    LabelledTable,
    RunSettings,
    load_result,
    plan_tradeoff,
    prepare_data,
)
from tabnas.runs.prepare._overlap import hash_rows
from tabnas.stores import encode_store, open_store
from tests.runs.helpers import make_table

SETTINGS = RunSettings(limits={"parameters": 800})
OPTIONS = ["--target", "kind", "--max-parameters", "800", "--quiet", "--candidates", "1"]
NOTE = "rows are training rows, too"


def make_labelled(table: Table) -> LabelledTable:
    return LabelledTable.from_table(table.drop(["value"]), "kind")


def make_overlapping(
    n_known: int, n_new: int, *, n_rows: int = 300
) -> tuple[LabelledTable, LabelledTable]:
    """Return a table, and a part with some of its rows in another order and some new ones."""
    table = make_table(n_rows, 1)
    rows = np.random.default_rng(0).permutation(n_rows)[:n_known]
    columns = {
        name: np.concatenate([table.take(rows).column(name), make_table(n_new, 2).column(name)])
        for name in table.names
    }
    return make_labelled(table), make_labelled(Table.from_data(columns))


def overlap_notes(data: LabelledTable, **part_rows: LabelledTable) -> list[str]:
    return [note for note in prepare_data(data, SETTINGS, **part_rows).notes if NOTE in note]


@pytest.mark.parametrize("part", ["validation", "test"])
@pytest.mark.parametrize(("n_known", "n_new"), [(300, 0), (300, 10), (60, 0), (8, 0)])
def test_training_rows_in_another_part_are_refused(part: str, n_known: int, n_new: int) -> None:
    data, part_rows = make_overlapping(n_known, n_new)
    message = rf"the {part} rows must not be training rows, but {n_known} of {n_known + n_new} are"
    with pytest.raises(TabNASError, match=message):
        prepare_data(data, SETTINGS, **{part: part_rows})
    with pytest.raises(TabNASError, match=message):
        plan_tradeoff(data, SETTINGS, [400, 800], **{part: part_rows})


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_large_share_of_known_rows_is_noted_and_a_small_one_is_not(part: str) -> None:
    data, part_rows = make_overlapping(100, 100)
    (note,) = overlap_notes(data, **{part: part_rows})
    assert note.startswith(f"100 of the 200 {part} rows are training rows, too")
    data, part_rows = make_overlapping(3, 100)
    assert overlap_notes(data, **{part: part_rows}) == []


def test_validation_rows_as_test_rows_are_refused() -> None:
    data, part_rows = make_labelled(make_table(300, 1)), make_labelled(make_table(100, 2))
    with pytest.raises(TabNASError, match="the test rows must not be training rows"):
        prepare_data(data, SETTINGS, validation=part_rows, test=part_rows)


def test_rows_with_another_target_are_different_rows() -> None:
    data, part_rows = make_overlapping(100, 0)
    assert overlap_notes(data, test=replace(part_rows, y=1 - part_rows.y)) == []


@pytest.mark.parametrize("distinct", [4, 30, 200])
def test_repeated_rows_of_few_distinct_ones_are_not_noted(distinct: int) -> None:
    """Rows drawn from few possible ones also occur in a table of many such rows."""
    possible = make_table(distinct)
    samples = np.random.default_rng(0).integers(distinct, size=(20, 400))
    data = make_labelled(possible.take(samples[0]))
    for rows in samples[1:]:
        assert overlap_notes(data, test=make_labelled(possible.take(rows[:150]))) == []


def test_copies_in_the_test_part_of_a_split_are_noted() -> None:
    table, rows = make_table(200), np.arange(200).repeat(8)
    notes = prepare_data(make_labelled(table.take(rows)), SETTINGS).notes
    assert "320 of the 320 test rows are copies of rows that are learned from" in " ".join(notes)
    grouped = Table.from_data(
        {name: table.take(rows).column(name) for name in table.names} | {"row": rows}
    )
    by_row = replace(SETTINGS, split="group", split_column="row")
    for data, settings in ((make_labelled(table), SETTINGS), (make_labelled(grouped), by_row)):
        assert "copies" not in " ".join(prepare_data(data, settings).notes)


def test_equal_rows_of_a_few_codes_are_not_called_copies() -> None:
    codes = np.random.default_rng(0).integers(8, size=(3, 600))
    table = Table.from_data({"a": codes[0], "b": codes[1], "kind": codes[2] % 2})
    data = LabelledTable.from_table(table, "kind")
    assert "copies" not in " ".join(prepare_data(data, SETTINGS).notes)


def test_an_identical_table_of_few_distinct_rows_is_noted() -> None:
    possible = make_table(4)
    rows = np.arange(400) % 4
    data, part_rows = (make_labelled(possible.take(order)) for order in (rows, rows[::-1].copy()))
    assert len(overlap_notes(data, test=part_rows)) == 1


def test_hashes_depend_on_the_values_of_a_row_only() -> None:
    data = make_labelled(make_table(5_000))
    part: EncodedRows = prepare_data(data, SETTINGS).train_in_memory
    hashes = hash_rows(part)
    assert len(np.unique(hashes)) == len(part)
    order = np.random.default_rng(0).permutation(len(part))
    assert (hash_rows(part.take(order)) == hashes[order]).all()
    part.encoded.numeric[:] = 0.0
    zeros = hash_rows(part)
    part.encoded.numeric[:] = -0.0
    assert (hash_rows(part) == zeros).all()


def write_parquet(path: Path, table: Table) -> Path:
    parquet.write_table(table.drop(["value"]).arrow, path)
    return path


@pytest.mark.parametrize("option", ["--validation", "--test"])
def test_one_file_for_two_parts_is_refused(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_parquet(Path("t.parquet"), make_table(100))
    Path("link.parquet").symlink_to("t.parquet")
    for file in ("t.parquet", "./t.parquet", "link.parquet"):
        assert cli.run(["search", "t.parquet", option, file, *OPTIONS]) == 2
        assert f"{option} must be another file than the table, got" in capsys.readouterr().err
    write_parquet(Path("copy.parquet"), make_table(100).take(np.arange(100)[::-1].copy()))
    assert cli.run(["search", "t.parquet", option, "copy.parquet", *OPTIONS]) == 2
    assert "but 100 of 100 are, with the same target" in capsys.readouterr().err
    write_parquet(Path("other.parquet"), make_table(100, 1))
    same_file = ["--validation", "other.parquet", "--test", "other.parquet"]
    assert cli.run(["search", "t.parquet", *same_file, *OPTIONS]) == 2
    assert "--test must be another file than --validation" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_the_note_is_in_the_result_the_summary_and_the_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_parquet(tmp_path / "t.parquet", make_table(200, 1))
    rows = make_table(200, 1).take(np.arange(40)).arrow, make_table(60, 2).arrow
    half = write_parquet(tmp_path / "half.parquet", Table(concat_tables(rows)))
    options = [option for option in OPTIONS if option != "--quiet"]
    out = tmp_path / "run"
    assert cli.run(["search", str(table), "--test", str(half), *options, "--out", str(out)]) == 0
    assert "40 of the 100 test rows" in " ".join(capsys.readouterr().out.split())
    assert any(NOTE in note for note in load_result(out).notes)
    for page in ("report.html", "MODEL_CARD.md"):
        assert NOTE in (out / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("memory", [10**9, 400_000])
def test_training_rows_of_a_store_in_another_part_are_refused(memory: int, tmp_path: Path) -> None:
    """Rows are also refused if only a sample of the training rows fits into memory."""
    table = write_parquet(tmp_path / "t.parquet", make_table(3_000, 1))
    part_rows = make_table(3_000, 1).take(np.arange(0, 3_000, 2))
    for name, rows, is_new in (("new", make_table(1_500, 2), True), ("copy", part_rows, False)):
        file = write_parquet(tmp_path / f"{name}.parquet", rows)
        encode_store(table, tmp_path / name, target="kind", test=[file])
        store = open_store(tmp_path / name)
        settings = replace(SETTINGS, memory=memory)
        if is_new:
            assert not [note for note in prepare_data(store, settings).notes if NOTE in note]
            continue
        with pytest.raises(TabNASError, match="the test rows must not be training rows"):
            prepare_data(store, settings)
