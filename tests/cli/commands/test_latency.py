"""`tabnas latency`, as people call it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import run
from tabnas.export.c._compiler import find_compiler
from tabnas.latency import (
    LatencyTable,
    Machine,
    Runtime,
    cached_table_path,
    load_table,
    measure_machine,
)
from tabnas.latency.runtimes import CRuntime, SurveySize
from tabnas.runs.plan import _latency as plan_of_latency
from tests.cli.conftest import make_columns, write_csv
from tests.latency.conftest import make_c_table, make_latency_table

BRIEF = ["latency", "--seconds", "0.1"]
pytestmark = pytest.mark.usefixtures("probes_once")


@pytest.mark.slow
def test_the_table_is_stored_for_this_user(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    assert run(BRIEF) == 0
    said = capsys.readouterr()
    assert "each hidden layer" in said.out
    assert cached_table_path().name in said.out
    assert said.err == "tabnas: measuring this machine\n"
    table = load_table(cached_table_path())
    assert table.machine == Machine.here()
    assert all(call.held_out >= 30 for call in table.calls)


@pytest.mark.slow
def test_out_and_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BRIEF, "--out", "device.json", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == Path("device.json").read_text()
    assert run(["latency", "--show", "device.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(said.out)


def test_show_prints_a_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("device.json").write_text(make_latency_table().to_json())
    assert run(["latency", "--show", "device.json"]) == 0
    shown = capsys.readouterr().out
    assert "a processor, a system, onnxruntime 1.0, one thread" in shown
    assert "3.0 %" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "slowdown in busy rounds" in shown
    assert "note:" not in shown


def test_a_busy_machine_is_a_note(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = tuple(replace(call, spread=0.4) for call in make_latency_table().calls)
    Path("device.json").write_text(make_latency_table(calls=calls).to_json())
    assert run(["latency", "--show", "device.json"]) == 0
    shown = capsys.readouterr().out
    assert "40.0 %" in shown
    assert "note: calls took much longer in some rounds than in others" in shown


def test_show_prints_the_precisions_of_c(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("device.json").write_text(make_c_table().to_json())
    assert run(["latency", "--show", "device.json"]) == 0
    shown = capsys.readouterr().out
    assert "a processor, a system, exported C code, cc 1.0 -O2, one thread" in shown
    assert shown.count("int8") == 2
    assert "0.0200" in shown  # each hidden layer
    assert max(map(len, shown.splitlines())) <= 80


def test_a_search_in_c_shows_fractions_of_a_microsecond(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(Path("good.csv"), make_columns())
    Path("device.json").write_text(make_c_table().to_json())
    search = ["search", "good.csv", "--target", "kind", "--drop", "value", "--out", "run"]
    options = ["--max-latency-us", "0.5", "--runtime", "c", "--latency-table", "device.json"]
    assert run([*search, *options, "--time", "0.1", "--candidates", "1"]) == 0
    shown = capsys.readouterr().out
    result = json.loads(Path("run/result.json").read_text())
    used = result["costs"]["latency_us"]["value"]
    assert used <= 0.5
    assert f"{used:.3f} of 0.5" in shown
    assert result["plan"]["latency_machine"].startswith("a processor, a system, exported C code")
    assert tomllib.loads(Path("run/config.toml").read_text())["settings"]["runtime"] == "c"
    assert "--runtime c" in Path("run/report.html").read_text()
    Path("run/result.json").unlink()
    assert run(["resume", "run"]) == 0
    again = json.loads(Path("run/result.json").read_text())
    assert again | {"timings": result["timings"]} == result


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
def test_a_search_measures_the_exported_code(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the survey to the model, with a compiler; the limit is far above any network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    few = SurveySize(fitted=8, held_out=5, tables=8, embedded=6, max_width=64)
    monkeypatch.setattr(CRuntime, "survey", few)
    monkeypatch.setattr("tabnas.latency._measure.MAX_ATTEMPTS", 1)
    monkeypatch.setattr(plan_of_latency, "REPEATS", 1)
    assert run([*BRIEF, "--runtime", "c"]) == 0
    assert "median error, network" in capsys.readouterr().out
    assert load_table(cached_table_path(Machine.here(CRuntime()))).machine.runtime == "c"
    search = ["search", "iris", "--max-latency-us", "1e4", "--max-bytes", "2kB", "--runtime", "c"]
    assert run([*search, "--time", "0.1", "--candidates", "1", "--out", "run"]) == 0
    assert ", measured " in capsys.readouterr().out
    result = json.loads(Path("run/result.json").read_text())
    assert 0 < result["timings"]["measured latency_us"] <= 1e4
    assert "Measured: " in Path("run/MODEL_CARD.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--runtime", "onnx"], "there is no runtime 'onnx'"),
        (["--show", "none.json"], "cannot be read"),
        (["--show", "wrong.json"], "must be a tabnas latency table"),
        (["--show", "a.json", "--out", "b.json"], "both --show and --out"),
        (["--show", "a.json", "--runtime", "onnxruntime"], "both --show and --runtime"),
        (["--show", "a.json", "--seconds", "60", "--json"], "both --show and --seconds"),
    ],
)
def test_invalid_arguments_are_refused(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wrong.json").write_text("{}")
    assert run(["latency", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_search_keeps_its_limit_and_shows_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the table of another machine: nothing here depends on how busy this one is."""
    write_csv(Path("good.csv"), make_columns())
    Path("device.json").write_text(make_latency_table().to_json())
    search = ["search", "good.csv", "--target", "kind", "--drop", "value", "--out", "run"]
    limits = ["--max-parameters", "300", "--max-latency-us", "70", "--max-batch-latency-us", "2000"]
    table = ["--latency-table", "device.json"]
    assert run([*search, *limits, *table, "--time", "0.1", "--candidates", "1"]) == 0
    shown = capsys.readouterr().out
    for words in ("latency_us", "of 70", "of 2,000", "predicted", "note: the latency of the model"):
        assert words in shown
    result = json.loads(Path("run/result.json").read_text())
    assert result["costs"]["latency_us"]["value"] <= 70
    assert tomllib.loads(Path("run/config.toml").read_text())["plan"]["latency"]["machine"]


def test_a_search_with_numeric_embeddings_keeps_its_limit_and_is_resumed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(Path("good.csv"), make_columns())
    Path("device.json").write_text(make_latency_table().to_json())
    search = ["search", "good.csv", "--target", "kind", "--drop", "value", "--out", "run"]
    options = ["--latency-table", "device.json", "--numeric-dimensions", "1,2", "--knots", "4"]
    limit = ["--max-latency-us", "70", "--time", "0.1", "--candidates", "1"]
    assert run([*search, *options, *limit]) == 0
    first = json.loads(Path("run/result.json").read_text())
    assert first["architecture"].startswith(("d1-", "d2-"))
    assert first["costs"]["latency_us"]["value"] <= 70
    saved = tomllib.loads(Path("run/config.toml").read_text())["plan"]["latency"]["latency_us"]
    assert set(saved["embedding_us"]) == {"1", "2"}
    Path("run/result.json").unlink()
    assert run(["resume", "run"]) == 0
    again = json.loads(Path("run/result.json").read_text())
    assert again | {"timings": first["timings"]} == first


@pytest.mark.slow
def test_a_machine_that_was_not_measured_is_measured_first(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    monkeypatch.setattr(plan_of_latency, "measure_machine", brief)
    monkeypatch.setattr(
        "tabnas.latency._measure.MAX_ATTEMPTS", 1
    )  # do not wait for an idle machine
    monkeypatch.setattr(plan_of_latency, "REPEATS", 1)
    search = ["search", "iris", "--max-latency-us", "1e6", "--dry-run"]
    assert run(search) == 0
    assert capsys.readouterr().err == "tabnas: measuring\n"
    assert cached_table_path().exists()
    monkeypatch.setattr(plan_of_latency, "measure_machine", None)  # nobody asks again
    assert run(search) == 0
    assert "latency_us <= 1,000,000" in capsys.readouterr().out


def brief(runtime: Runtime, **said: Any) -> LatencyTable:
    """A hasty look at this machine, which may have other things to do."""
    table = measure_machine(runtime, seconds=0.1, **said)
    calls = tuple(replace(call, spread=0.0) for call in table.calls)
    return replace(table, calls=calls)
