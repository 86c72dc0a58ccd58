from __future__ import annotations

import json
from pathlib import Path
from urllib.error import URLError

import pytest

from tabnas import TabNASError
from tabnas.cli._main import run
from tabnas.data import DataWarning, TableEncoder, list_datasets, load_dataset
from tabnas.data.datasets import _scikit_learn


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("iris", 150, 5),
        ("wine", 178, 14),
        ("breast_cancer", 569, 31),
        ("digits", 1797, 65),
        ("diabetes", 442, 11),
        ("adult", 48_842, 15),
        ("california_housing", 20_640, 9),
        ("connect4", 67_557, 43),
        ("letter", 20_000, 17),
    ],
)
def test_installed_datasets(name: str, rows: int, columns: int) -> None:
    dataset = load_dataset(name)
    assert (len(dataset.table), len(dataset.table.names)) == (rows, columns)
    assert dataset.target in dataset.table.names


def test_digits_are_read_as_scikit_learn_loads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read = load_dataset("digits")
    monkeypatch.setattr(_scikit_learn, "_find_file", lambda name: None)
    loaded = load_dataset("digits")
    assert read.table.arrow.equals(loaded.table.arrow)
    assert read.target == loaded.target


def test_datasets_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "notes.md").write_text("no table")
    for name in ("sales.2023.csv", "SALES.2024.CSV", "twice.csv", "twice.tsv", "old.csv.bak"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")
    assert "old.csv.bak" not in [listing.name for listing in list_datasets(tmp_path)]
    assert len(load_dataset("SALES.2024", target="b", folder=tmp_path).table) == 2
    with pytest.raises(TabNASError, match="there is no dataset 'sales'"):
        load_dataset("sales", target="b", folder=tmp_path)
    with pytest.raises(TabNASError, match=r"must be one file, but it is twice\.csv, twice\.tsv"):
        load_dataset("twice", target="b", folder=tmp_path)
    assert "mine.csv" in [listing.name for listing in list_datasets(tmp_path)]
    assert "notes.md" not in [listing.name for listing in list_datasets(tmp_path)]
    monkeypatch.setenv("TABNAS_DATA", str(tmp_path))
    assert len(load_dataset("mine", target="b").table) == 2
    with pytest.raises(TabNASError, match="needs the name of its target"):
        load_dataset("mine.csv")
    monkeypatch.setenv("TABNAS_DATA", str(tmp_path / "gone"))
    with pytest.raises(TabNASError, match="does not exist or is not a folder"):
        list_datasets()


def test_a_local_file_takes_precedence_over_an_installed_dataset(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text("a,b\n1,2\n3,4\n")
    assert len(load_dataset("iris", target="b", folder=tmp_path).table) == 2
    assert len(load_dataset("iris").table) == 150


def test_the_error_without_a_network_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def raise_offline(*_: object, **__: object) -> object:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", raise_offline)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for name in ("volkert", "41166"):
        with (
            pytest.warns(UserWarning, match="Retrying"),  # from scikit-learn
            pytest.raises(TabNASError, match=r"OpenML 41166.*no network.*TABNAS_DATA"),
        ):
            load_dataset(name)


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(TabNASError, match="did you mean 'iris'"):
        load_dataset("irsi")


def test_the_command_lists_the_datasets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasets", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert {"iris", "volkert"} <= set(names)
    assert run(["datasets"]) == 0
    assert "OpenML 41166" in capsys.readouterr().out


def test_files_of_the_folder_are_read_with_the_decimal_mark(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text('price,code,y\n1.234,007,a\n"2,5",010,b\n')
    dataset = load_dataset("prices", target="y", folder=tmp_path, text=["code"], decimal=",")
    assert dataset.table.arrow.to_pydict()["code"] == ["007", "010"]
    assert dataset.table.decimals.mark == ","
    with pytest.warns(DataWarning, match="'1.234' as 1234"):
        encoder = TableEncoder.fit(dataset.table, drop=["y"], kinds={"code": "categorical"})
    assert encoder.columns[0].read(dataset.table.column("price")).tolist() == [1234.0, 2.5]
    with pytest.raises(TabNASError, match=r"decimal must be '\.' or ',', got ';'"):
        load_dataset("iris", decimal=";")
