"""The command that resumes a store is the one that started it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tabnas.data import Shares
from tabnas.stores import describe_continuation, encode_store
from tests.stores.conftest import make_mixed_columns, write_csv


def test_the_command_repeats_shares_exactly(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "table.csv", make_mixed_columns(60))
    shares = Shares(validation=1 / 3, test=0.123456789)
    encode_store(path, tmp_path / "store", target="kind", shares=shares)
    text = describe_continuation(tmp_path / "store")
    assert text.startswith("continue with: tabnas encode ")
    arguments = shlex.split(text)
    assert float(arguments[arguments.index("--validation") + 1]) == 1 / 3
    assert float(arguments[arguments.index("--test") + 1]) == 0.123456789


def test_settings_of_python_alone_have_no_command(tmp_path: Path) -> None:
    columns = make_mixed_columns(60) | {"a,b": list(range(60)), "flag": ["true", "false"] * 30}
    path = write_csv(tmp_path / "table.csv", columns)
    call = "call encode_store again with the same arguments"
    encode_store(path, tmp_path / "kinds", target="kind", kinds={"flag": "boolean"})
    assert describe_continuation(tmp_path / "kinds") == call
    encode_store(path, tmp_path / "drop", target="kind", drop=("a,b",))
    assert describe_continuation(tmp_path / "drop") == call


def test_files_are_no_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_csv(Path("-x.csv"), make_mixed_columns(60))
    encode_store(path, tmp_path / "store", target="kind")
    assert " encode ./-x.csv --target" in describe_continuation(tmp_path / "store")
