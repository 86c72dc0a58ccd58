"""The command that resumes a store is the one that started it."""

from __future__ import annotations

import shlex
from pathlib import Path

from tabnas.data import Shares
from tabnas.stores import encode_store, find_encode_command
from tests.stores.conftest import make_mixed_columns, write_csv


def test_the_command_repeats_shares_exactly(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "table.csv", make_mixed_columns(60))
    shares = Shares(validation=1 / 3, test=0.123456789)
    encode_store(path, tmp_path / "store", target="kind", shares=shares)
    arguments = shlex.split(find_encode_command(tmp_path / "store"))
    assert float(arguments[arguments.index("--validation") + 1]) == 1 / 3
    assert float(arguments[arguments.index("--test") + 1]) == 0.123456789
