"""The `[data]` section of config.toml is checked when it is read."""

from __future__ import annotations

from typing import Any

import pytest

from tabnas.cli._data_source import DataSource
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
