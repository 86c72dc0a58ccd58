"""Experiments run on the bundled tables, and report which others are missing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tabnas import TabNASError
from tabnas.cli._main import run
from tabnas.data import bundled_file
from tabnas.paper import list_experiments, load_ground_truth_tables
from tabnas.paper._experiment import read_definition
from tabnas.paper._table_files import find_file, locate_file, sample_rows
from tabnas.paper._tables import get_paper_table
from tabnas.paper.experiments import get_experiment

COMPLETE = pa.table({"x": np.arange(1_000) * 3, "y": ["a", "b"] * 500})


def write_part(path: Path, rows: np.ndarray) -> Path:
    part = COMPLETE.take(pa.array(rows)).append_column("source_row", pa.array(rows))
    pq.write_table(part.replace_schema_metadata({"source_rows": "1000"}), path)
    return path


def test_a_part_gives_the_rows_of_the_complete_table(tmp_path: Path) -> None:
    pq.write_table(COMPLETE, tmp_path / "complete.parquet")
    complete = sample_rows(tmp_path / "complete.parquet", 50, name="paper")
    kept = complete.column("x").to_numpy() // 3
    others = np.setdiff1d(np.arange(0, 1_000, 7), kept)
    part = write_part(tmp_path / "part.parquet", np.sort([*kept, *others]))
    for rows in (50, 20):  # a smaller sample is part of a larger one
        expected = sample_rows(tmp_path / "complete.parquet", rows, name="paper")
        assert sample_rows(part, rows, name="paper").arrow.equals(expected.arrow)
    for rows in (51, 0):
        with pytest.raises(TabNASError, match="holds only the rows that the experiments use"):
            sample_rows(part, rows, name="paper")


def test_the_bundled_part_of_covertype_has_every_row_that_is_sampled() -> None:
    for table, name in (
        (get_paper_table("covertype"), "paper"),
        (load_ground_truth_tables()["covertype"], "ground truth"),
    ):
        rows = sample_rows(locate_file(table.file, None), table.rows, name=name)
        assert len(rows) == 20_000
        assert len(rows.names) == 55


def test_a_file_of_the_user_takes_precedence_over_the_bundled_one(tmp_path: Path) -> None:
    bundled = bundled_file("letter.parquet")
    assert bundled is not None
    assert find_file("letter.parquet", None) == find_file("letter.parquet", tmp_path) == bundled
    pq.write_table(COMPLETE, tmp_path / "letter.parquet")
    assert find_file("letter.parquet", tmp_path) == tmp_path / "letter.parquet"
    assert find_file("../_bundled.py", None) is None


def test_the_error_about_a_missing_table_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match=r"does not come with tabnas; fetch .*41166.*--data"):
        get_paper_table("volkert").prepare(None)
    with pytest.raises(TabNASError, match=r"'criteo.parquet' is not in '.*; name the folder"):
        get_paper_table("criteo").prepare(tmp_path)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", list_experiments())
def test_every_experiment_has_jobs_without_a_folder_of_tables(name: str, quick: bool) -> None:
    jobs = get_experiment(name)(read_definition(name, quick=quick)).jobs()
    assert jobs
    assert not any("criteo" in (job.get("table"), job["part"]) for job in jobs if "part" in job)


@pytest.mark.slow
def test_the_report_names_missing_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tables of `tuning`, one is missing."""
    pytest.importorskip("matplotlib")
    definition = read_definition("tuning", quick=True)
    definition["toy"] |= {"seeds": 2, "steps": 3}
    definition["tables"].append(definition["tables"][0] | {"title": "clicks", "table": "criteo"})
    monkeypatch.setattr("tabnas.paper._runner.read_definition", lambda *_, **__: definition)
    assert run(["paper", "tuning", "--quick", "--out", str(tmp_path)]) == 0
    assert list(json.loads((tmp_path / "summary.json").read_text())["tables"]) == ["higgs"]
    assert "missing: criteo (`criteo.parquet`)." in (tmp_path / "README.md").read_text()
