"""`tabnas latency`, as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tabnas.latency import Machine, kept_path, load_table
from tests.latency.conftest import made_latency_table

BRIEF = ["latency", "--seconds", "0.1"]


def test_the_table_is_kept_for_this_user(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    assert run(BRIEF) == 0
    said = capsys.readouterr()
    assert "a hidden layer" in said.out
    assert kept_path().name in said.out
    assert said.err == "tabnas: measuring this machine\n"
    table = load_table(kept_path())
    assert table.machine == Machine.here()
    assert all(call.held_out >= 30 for call in table.calls.values())


def test_a_file_of_ones_own_and_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BRIEF, "--out", "device.json", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == Path("device.json").read_text()
    assert run(["latency", "--show", "device.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(said.out)


def test_a_table_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("device.json").write_text(made_latency_table().to_json())
    assert run(["latency", "--show", "device.json"]) == 0
    shown = capsys.readouterr().out
    assert "a processor, a system, onnxruntime 1.0, one thread" in shown
    assert "3.0 %" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--show", "none.json"], "cannot be read"),
        (["--show", "wrong.json"], "must be a table that tabnas latency has written"),
        (["--show", "a.json", "--out", "b.json"], "both --show and --out"),
    ],
)
def test_mistakes(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wrong.json").write_text("{}")
    assert run(["latency", *arguments]) == 2
    assert words in capsys.readouterr().err
