"""The `[data]` section of config.toml is checked when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._data_source import DataSource
from tabnas.cli._tables import is_local, load_table
from tabnas.data import DataWarning, TableEncoder
from tabnas.errors import TabNASError


@pytest.mark.parametrize(
    "section",
    [3, [], {}, {"data": 3}, {"data": "t.csv", "target": 3}, {"data": "t.csv", "test": ["x"]},
     {"data": "t.csv", "other": "x"}, {"data": "a\0b"}],
    ids=str,
)  # fmt: skip
def test_malformed_sources_are_refused(section: Any) -> None:
    with pytest.raises(TabNASError, match=r"config\.toml"):
        DataSource.from_dict(section)


def test_tables_of_the_data_folder_have_the_names_that_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sales.2023.csv").write_text('price,y\n1.234,a\n"0,5",b\n')
    monkeypatch.setenv("TABNAS_DATA", str(tmp_path))
    for name in ("sales.2023.csv", "sales.2023"):
        table, target = load_table(name, "y", decimal=",")
        assert (table.names, target) == (["price", "y"], "y")
        with pytest.warns(DataWarning, match="'1.234' as 1234"):
            assert TableEncoder.fit(table, drop=["y"]).columns[0].decimal == ","
    with pytest.raises(TabNASError, match=r"there is no file 'sales\.2024\.csv'"):
        load_table("sales.2024.csv", "y")
    assert is_local("sales.2023")
    monkeypatch.setenv("TABNAS_DATA", str(tmp_path / "gone"))
    with pytest.raises(TabNASError, match=r"there is no file 'sales\.2023\.csv'"):
        load_table("sales.2023.csv", "y")
