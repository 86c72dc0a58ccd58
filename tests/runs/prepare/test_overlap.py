"""A part that should be new to the model is, or its owner is told."""

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
from tests.runs.helpers import made_table

SETTINGS = RunSettings(limits={"parameters": 800})
ASKED = ["--target", "kind", "--max-parameters", "800", "--quiet", "--candidates", "1"]
NOTE = "rows are training rows, too"


def labelled(table: Table) -> LabelledTable:
    return LabelledTable.from_table(table.drop(["value"]), "kind")


def mixed(known: int, new: int, *, of: int = 300) -> tuple[LabelledTable, LabelledTable]:
    """A table, and a part with so many of its rows, in another order, and so many others."""
    table = made_table(of, 1)
    rows = np.random.default_rng(0).permutation(of)[:known]
    columns = {
        name: np.concatenate([table.take(rows).column(name), made_table(new, 2).column(name)])
        for name in table.names
    }
    return labelled(table), labelled(Table.from_data(columns))


def notes(data: LabelledTable, **own: LabelledTable) -> list[str]:
    return [note for note in prepare_data(data, SETTINGS, **own).notes if NOTE in note]


@pytest.mark.parametrize("part", ["validation", "test"])
@pytest.mark.parametrize(("known", "new"), [(300, 0), (300, 10), (60, 0), (8, 0)])
def test_rows_of_the_table_are_no_other_part(part: str, known: int, new: int) -> None:
    data, own = mixed(known, new)
    said = rf"the {part} rows must not be training rows, but {known} of {known + new} are"
    with pytest.raises(TabNASError, match=said):
        prepare_data(data, SETTINGS, **{part: own})
    with pytest.raises(TabNASError, match=said):
        plan_tradeoff(data, SETTINGS, [400, 800], **{part: own})


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_large_share_is_noted_and_a_few_rows_are_not(part: str) -> None:
    data, own = mixed(100, 100)
    (note,) = notes(data, **{part: own})
    assert note.startswith(f"100 of the 200 {part} rows are training rows, too")
    data, own = mixed(3, 100)
    assert notes(data, **{part: own}) == []


def test_validation_rows_are_no_test() -> None:
    data, own = labelled(made_table(300, 1)), labelled(made_table(100, 2))
    with pytest.raises(TabNASError, match="the test rows must not be training rows"):
        prepare_data(data, SETTINGS, validation=own, test=own)


def test_another_target_makes_another_row() -> None:
    data, own = mixed(100, 0)
    assert notes(data, test=replace(own, truth=1 - own.truth)) == []


@pytest.mark.parametrize("distinct", [4, 30, 200])
def test_new_rows_of_few_distinct_ones_are_known_and_that_is_as_it_is(distinct: int) -> None:
    """Whatever is drawn from few possible rows stands in a table of many of them."""
    possible = made_table(distinct)
    drawn = np.random.default_rng(0).integers(distinct, size=(20, 400))
    data = labelled(possible.take(drawn[0]))
    for rows in drawn[1:]:
        assert notes(data, test=labelled(possible.take(rows[:150]))) == []


def test_the_very_same_table_is_noted_where_nothing_can_be_refused() -> None:
    possible = made_table(4)
    rows = np.arange(400) % 4
    data, own = (labelled(possible.take(order)) for order in (rows, rows[::-1].copy()))
    assert len(notes(data, test=own)) == 1


def test_hashes_tell_rows_apart_and_nothing_else() -> None:
    data = labelled(made_table(5_000))
    part: EncodedRows = prepare_data(data, SETTINGS).train_in_memory
    hashes = hash_rows(part)
    assert len(np.unique(hashes)) == len(part)
    order = np.random.default_rng(0).permutation(len(part))
    assert (hash_rows(part.take(order)) == hashes[order]).all()
    part.encoded.numeric[:] = 0.0
    zeros = hash_rows(part)
    part.encoded.numeric[:] = -0.0
    assert (hash_rows(part) == zeros).all()


def write(path: Path, table: Table) -> Path:
    parquet.write_table(table.drop(["value"]).arrow, path)
    return path


@pytest.mark.parametrize("option", ["--validation", "--test"])
def test_one_file_is_not_two_parts(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("t.parquet"), made_table(100))
    Path("link.parquet").symlink_to("t.parquet")
    for file in ("t.parquet", "./t.parquet", "link.parquet"):
        assert cli.run(["search", "t.parquet", option, file, *ASKED]) == 2
        assert f"{option} must be another file than the table, got" in capsys.readouterr().err
    write(Path("copy.parquet"), made_table(100).take(np.arange(100)[::-1].copy()))
    assert cli.run(["search", "t.parquet", option, "copy.parquet", *ASKED]) == 2
    assert "but 100 of 100 are, with the same target" in capsys.readouterr().err
    write(Path("other.parquet"), made_table(100, 1))
    twice = ["--validation", "other.parquet", "--test", "other.parquet"]
    assert cli.run(["search", "t.parquet", *twice, *ASKED]) == 2
    assert "--test must be another file than --validation" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_note_is_in_the_result_the_summary_and_the_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(tmp_path / "t.parquet", made_table(200, 1))
    rows = made_table(200, 1).take(np.arange(40)).arrow, made_table(60, 2).arrow
    half = write(tmp_path / "half.parquet", Table(concat_tables(rows)))
    loud = [one for one in ASKED if one != "--quiet"]
    out = tmp_path / "run"
    assert cli.run(["search", str(table), "--test", str(half), *loud, "--out", str(out)]) == 0
    assert "40 of the 100 test rows" in " ".join(capsys.readouterr().out.split())
    assert any(NOTE in note for note in load_result(out).notes)
    for page in ("report.html", "MODEL_CARD.md"):
        assert NOTE in (out / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("memory", [10**9, 400_000])
def test_rows_of_a_store_are_no_other_part(memory: int, tmp_path: Path) -> None:
    """Also where a sample of its training rows is all that memory bears."""
    table = write(tmp_path / "t.parquet", made_table(3_000, 1))
    own = made_table(3_000, 1).take(np.arange(0, 3_000, 2))
    for name, rows, fine in (("new", made_table(1_500, 2), True), ("copy", own, False)):
        file = write(tmp_path / f"{name}.parquet", rows)
        encode_store(table, tmp_path / name, target="kind", test=[file])
        store = open_store(tmp_path / name)
        settings = replace(SETTINGS, memory=memory)
        if fine:
            assert not [note for note in prepare_data(store, settings).notes if NOTE in note]
            continue
        with pytest.raises(TabNASError, match="the test rows must not be training rows"):
            prepare_data(store, settings)
