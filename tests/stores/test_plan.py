"""The command that goes on with a store is the one that began it."""

from __future__ import annotations

import shlex
from pathlib import Path

from tabnas.data import Shares
from tabnas.stores import encode_store, find_encode_command
from tests.stores.conftest import mixed_columns, write_csv


def test_shares_are_said_as_they_are(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "table.csv", mixed_columns(60))
    shares = Shares(validation=1 / 3, test=0.123456789)
    encode_store(path, tmp_path / "store", target="kind", shares=shares)
    words = shlex.split(find_encode_command(tmp_path / "store"))
    assert float(words[words.index("--validation") + 1]) == 1 / 3
    assert float(words[words.index("--test") + 1]) == 0.123456789
