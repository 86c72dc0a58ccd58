"""`tabnas watch`: it sees what is there, and changes nothing."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from math import inf, isfinite, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tabnas.cli._main import run
from tabnas.cli.commands._watch import STOPPED
from tabnas.cli.display._run_status import (
    SPARKLINE_WIDTH,
    draw_bar,
    draw_sparkline,
    draw_status,
    summarize_status,
)
from tabnas.cli.display._run_summary import print_run
from tabnas.decoding import to_builtins
from tabnas.locks import FolderLock
from tabnas.results import Snapshot
from tabnas.runs import RunStatus, load_result, read_status
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import make_columns, write_csv
from tests.mutations import mutate_values
from tests.processes import TIMEOUT, started, wait_until

SGR = re.compile(r"\x1b\[([\d;]*)m")
COLOUR = re.compile(r"[34]8;(5;\d+|2;\d+;\d+;\d+)")
BLINK = "5"
EVIL = "\x1b[31m[bold]\u202e\n\x07"


def make_status(**changes: Any) -> RunStatus:
    snapshot = Snapshot(
        step=500,
        progress=0.5,
        training_loss=0.3,
        quality=0.712,
        feasible_probability=0.25,
        entropy=3.14,
        most_likely="64-16",
        most_likely_cost=18_904,
        probabilities=((0.1, 0.6, 0.3), (0.5, 0.25, 0.25)),
    )
    said = {
        "pid": 1,
        "started": 0.0,
        "updated": 1.0,
        "phase": "search",
        "done": 0.5,
        "epoch": 12.0,
        "rows_per_second": 123_456.0,
        "target": "income",
        "cost": "parameters",
        "limit": 20_000.0,
        "widths": [[8, 64, 128], [0, 16, 32]],
        "curve": [[k / 50, k / 25, 0.2, 5.0] for k in range(25)],
        "snapshot": snapshot,
    }
    return RunStatus(**(said | changes))


def drawn(stand: RunStatus, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=True)
    console.print(draw_status(stand, "runs/income", 75.0))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def write_status(folder: Path, stand: RunStatus) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "progress.json").write_text(json.dumps(to_builtins(stand)), encoding="utf-8")


# -- pictures ------------------------------------------------------------------------------------


def test_the_status_fits_80_columns_and_24_lines() -> None:
    lines = drawn(make_status(note="skipped steps: 12,345,678")).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    text = "\n".join(lines)
    for words in (
        "runs/income: income within 20,000 parameters", "50 %", "epoch 12, 123,456 rows/s",
        "skipped steps", "64-16 (18,904 of 20,000 parameters, 95 %)", "0.712", "0.25", "3.1",
        "running for 1:15",
    ):  # fmt: skip
        assert words in text
    layers = [line.split() for line in lines if line.startswith("layer")]
    assert layers == [
        ["layer", "1", "64", "████▊", "60", "%", "128", "██▍", "30", "%", "8", "▊", "10", "%"],
        ["layer", "2", "none", "████", "50", "%", "16", "██", "25", "%", "32", "██", "25", "%"],
    ]


def test_the_input_layer_comes_first() -> None:
    snapshot = make_status().snapshot
    assert snapshot is not None
    probabilities = ((0.2, 0.3, 0.1, 0.4), *snapshot.probabilities)
    now = Snapshot(**(vars(snapshot) | {"probabilities": probabilities, "most_likely": "d8-64"}))
    lines = drawn(make_status(dimensions=[0, 1, 2, 8], snapshot=now)).splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line.startswith(("input", "layer"))]
    assert rows[0][::4] == ["input", "%", "%", "%"]
    assert [word for word in rows[0] if word.startswith("d")] == ["d8", "d1", "d0"]
    assert [row[:3] for row in rows[1:]] == [["layer", "1", "64"], ["layer", "2", "none"]]


def test_many_layers_still_fit() -> None:
    snapshot = make_status().snapshot
    assert snapshot is not None
    now = Snapshot(**(vars(snapshot) | {"probabilities": ((1.0,),) * 40}))
    said = drawn(make_status(widths=[[8]] * 40, snapshot=now))
    assert "and 30 more" in said
    assert len(said.splitlines()) <= 24


@given(st.lists(st.tuples(st.floats(), st.none() | st.floats())))
def test_a_sparkline_has_a_block_for_every_known_value(points: list[tuple[float, float]]) -> None:
    said = draw_sparkline(points, SPARKLINE_WIDTH)
    known = any(isfinite(p) and v is not None and isfinite(v) for p, v in points)
    assert bool(said) == known
    assert len(said) <= SPARKLINE_WIDTH


@given(st.floats(0, 1), st.integers(1, 20))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    eighths = sum(
        8 if block == "█" else 8 - " ▉▊▋▌▍▎▏".index(block) for block in draw_bar(share, width)
    )
    assert eighths == (max(1, round(8 * width * share)) if share else 0)


@pytest.mark.parametrize("number", [nan, inf, -inf, 1e308, -1e308, 0.0])
def test_any_number_can_be_drawn(number: float) -> None:
    now = make_status().snapshot
    assert now is not None
    odd = Snapshot(
        **(
            vars(now)
            | dict.fromkeys(("quality", "feasible_probability", "entropy"), number)
            | {"most_likely_cost": number, "probabilities": ((number,) * 3,) * 2}
        )
    )
    stand = make_status(
        done=number, epoch=number, rows_per_second=number, limit=number, curve=[[number] * 4],
        snapshot=odd,
    )  # fmt: skip
    assert max(map(len, drawn(stand).splitlines())) <= 80
    assert summarize_status(stand)


def test_texts_from_files_are_sanitized() -> None:
    snapshot = make_status().snapshot
    assert snapshot is not None
    odd = Snapshot(**(vars(snapshot) | {"most_likely": EVIL}))
    stand = make_status(phase=EVIL, note=EVIL, target=EVIL, cost=EVIL, snapshot=odd)
    for said in (drawn(stand), summarize_status(stand)):
        assert "[31m" in said
        assert not set("\x1b\u202e\x07") & set(said)


# -- what a folder says --------------------------------------------------------------------------


def test_folders_without_a_run_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "must be the folder of a run" in run_refused(["watch", "none"], capsys)
    (here / "empty").mkdir()
    assert "must be the folder of a run" in run_refused(["watch", "empty"], capsys)
    assert not list((here / "empty").iterdir())


def test_a_stopped_run_prints_how_to_continue(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_status(here / "run", make_status())
    (here / "run" / "config.toml").write_text("")
    (here / "run" / ".lock").touch()
    assert run(["watch", "run"]) == STOPPED
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("search 50 %, most likely 64-16")
    assert said[1] == "stopped; continue with: tabnas resume run"
    assert run(["watch", "run", "--once"]) == 0


def test_the_folder_of_a_stopped_run_is_quoted_and_never_cut(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path("my runs", *["x" * 100] * 3)
    (here / folder).mkdir(parents=True)
    write_status(here / folder, make_status())
    (here / folder / "config.toml").write_text("")
    assert run(["watch", str(folder)]) == STOPPED
    said = capsys.readouterr().out.splitlines()
    assert said[1] == f"stopped; continue with: tabnas resume '{folder}'"


def test_a_run_that_cannot_be_resumed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(here / "run", make_status(phase="reading"))
    assert run(["watch", "run"]) == STOPPED
    assert "start again" in capsys.readouterr().out


def test_the_state_of_a_run_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(here / "run", make_status())
    before = sorted(path.name for path in (here / "run").iterdir())
    lock = FolderLock(here / "run")
    assert run(["watch", "run", "--once"]) == 0
    assert "most likely" in capsys.readouterr().out
    assert run(["watch", "run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["state"] == "running"
    assert said["snapshot"]["most_likely"] == "64-16"
    lock.release()
    assert sorted(path.name for path in (here / "run").iterdir()) == [".lock", *before]


def test_nonfinite_numbers_are_null_in_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(here / "run", make_status(done=nan, curve=[[0.1, inf, nan, None]]))
    assert run(["watch", "run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said["done"] is None
    assert said["curve"] == [[0.1, None, None, None]]


def test_a_finished_run_is_summarized_as_by_its_search(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished / "classes"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert run(["watch", str(folder)]) == 0
    said = capsys.readouterr().out
    print_run(Console(), load_result(folder), str(folder))
    assert said == capsys.readouterr().out
    assert run(["watch", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["state"] == "finished"
    assert shown["result"] == to_builtins(load_result(folder))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_changed_results_are_a_one_line_error_or_sanitized(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(finished / "classes", tmp_path / "copy"))
    result = to_builtins(load_result(copy))
    for seed in range(60):
        forged = mutate_values(Random(seed), result | {"notes": [EVIL], "chosen_by": EVIL})
        (copy / "result.json").write_text(json.dumps(forged), encoding="utf-8")
        assert run(["watch", str(copy)]) in (0, 2)
        said = capsys.readouterr()
        assert not set("\x1b\u202e\x07") & set(said.out + said.err)


MARKUP = "[blink][link=http://evil.example]{}[/link][/blink]:skull:"


def marked_up(value: Any) -> Any:
    """Every text and name of a file, dressed up as markup; what is looked up by name is kept."""
    if isinstance(value, str):
        return MARKUP.format(value)
    if isinstance(value, list):
        return [marked_up(one) for one in value]
    if isinstance(value, dict):
        return {name: marked_up(one) for name, one in value.items()}
    return value


def obeyed(said: str) -> list[str]:
    """What a terminal would take for more than the colours and weights that are our own."""
    codes = [code for found in SGR.findall(said) for code in COLOUR.sub("", found).split(";")]
    return ["\x1b" for _ in range("\x1b" in SGR.sub("", said))] + [c for c in codes if c == BLINK]


@pytest.mark.parametrize("field", ["chosen_by", "metric", "costs", "scores", ""])
def test_markup_in_a_result_is_printed_as_text(
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    field: str,
) -> None:
    copy = Path(shutil.copytree(finished / "classes", tmp_path / "copy"))
    result, evil = to_builtins(load_result(copy)), MARKUP.format("x")
    forged: dict[str, Any] = result | {
        name: marked_up(result[name]) for name in ("chosen_by", "notes")
    }
    if field == "metric":
        forged["metric"] = evil
    if field == "costs":
        forged["costs"] = {evil: result["costs"]["parameters"]}
        forged["candidates"] = [one | {"costs": {evil: 1}} for one in forged["candidates"]]
    if field == "scores":
        forged["scores"] = {
            MARKUP.format(name): one | {"metrics": {evil: next(iter(one["metrics"].values()))}}
            for name, one in result["scores"].items()
        }
    (copy / "result.json").write_text(json.dumps(forged), encoding="utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["watch", str(copy), "--once"]) == 0
    said = capsys.readouterr().out
    assert SGR.search(said)  # it takes this for a terminal
    assert not obeyed(said)
    assert "[blink]" in said
    assert ":skull:" in SGR.sub("", said).replace("\n", "")


@pytest.mark.parametrize("field", ["architecture", "candidates", "limit_effects"])
def test_markup_instead_of_an_architecture_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    copy = Path(shutil.copytree(finished / "classes", tmp_path / "copy"))
    result = to_builtins(load_result(copy))
    forged = result | {field: marked_up(result[field])}
    (copy / "result.json").write_text(json.dumps(forged), encoding="utf-8")
    assert run(["watch", str(copy), "--once"]) == 2
    assert not obeyed(capsys.readouterr().err)


def test_markup_in_the_status_of_a_run_is_printed_as_text() -> None:
    evil = MARKUP.format("x")
    snapshot = make_status().snapshot
    assert snapshot is not None
    odd = Snapshot(**(vars(snapshot) | {"most_likely": evil}))
    console = Console(file=io.StringIO(), width=80, color_system="truecolor", force_terminal=True)
    for stand in (
        make_status(phase=evil, note=evil, target=evil, cost=evil, snapshot=odd),
        make_status(phase="[blink]a", note="[blink]b"),
    ):
        console.print(draw_status(stand, evil, 75.0))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "[blink]" in said
    assert not obeyed(said)


@pytest.mark.slow
def test_a_search_is_followed_to_its_end(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", make_columns(300))
    tabnas = [sys.executable, "-m", "tabnas"]
    asked = ["--target", "kind", "--drop", "value", "--max-parameters", "300", "--out", "run"]
    asked += ["--candidates", "2", "--time", "2"]
    with started([*tabnas, "search", table, *asked, "--quiet"], cwd=tmp_path) as search:
        wait_until((tmp_path / "run" / "progress.json").exists, search)
        watched = subprocess.run(
            [*tabnas, "watch", "run"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"COLUMNS": "80"},
            check=True,
        )
        assert search.wait(TIMEOUT) == 0
    assert "next: tabnas predict run new.csv" in watched.stdout
    assert watched.stderr == ""
    assert read_status(tmp_path / "run") is None
