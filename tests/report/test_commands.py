"""What the report says to type works."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import run
from tabnas.report import render_card, render_report
from tabnas.report._commands import make_again
from tabnas.runs import Labelled, RunSettings, load_result, run_in_folder
from tests.cli.conftest import made_columns, write_csv
from tests.conftest import BRIEF, planned_with
from tests.report.conftest import made_config, made_history, made_result
from tests.runs.conftest import made_table


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    with planned_with(BRIEF):
        yield


def code(folder: Path, name: str) -> str:
    """A piece of code of a folder's report."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(rf'<pre id="{name}".*?<code>(.*?)</code>', page, flags=re.S)
    assert found is not None
    return unescape(found[1])


def facts(folder: Path) -> dict[str, Any]:
    result = load_result(folder)
    del result["timings"]
    return result


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the command line with many options, in a folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    table = write_csv(tmp_path / "a 'good' table.csv", made_columns())
    options = ["--max-parameters", "300", "--max-flops", "2000", "--candidates", "1"]
    options += ["--drop", "value,day", "--categorical", "house", "--widths", "0,4,8"]
    options += ["--layers", "2", "--seed", "3", "--test", "0.3", "--metric", "accuracy", "--refit"]
    out = ["--out", "run", "--quiet"]
    assert run(["search", str(table), "--target", "kind", *options, *out]) == 0
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


def test_a_run_is_made_again_by_its_command(made: Path) -> None:
    command = shlex.split(code(made, "again-code").replace("\\\n", " "))
    assert command[0] == "tabnas"
    assert run([*command[1:], "--quiet"]) == 0
    assert facts(made / "again") == facts(made)
    again = (made / "again" / "report.html").read_text(encoding="utf-8")
    assert code(made / "again", "again-code") == code(made, "again-code")
    assert "Predicting" in again


def test_the_model_is_used_as_the_report_says(made: Path) -> None:
    write_csv(made / "new.csv", made_columns(7))
    write_csv(made / "labelled.csv", made_columns(20))
    for command in code(made, "use-command").splitlines():
        assert run(shlex.split(command)[1:]) == 0
    assert len((made / "predictions.csv").read_text().splitlines()) == 1 + 7
    said: dict[str, Any] = {}
    exec(code(made, "use-python") + "\nasked = model.predict_proba(rows)", said)
    assert said["asked"].shape == (7, 2)


def test_a_run_from_python_is_made_again_from_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made_table(60).drop(["kind"])
    settings = RunSettings(limits={"parameters": 300}, candidates=1, baselines=False, time=0.1)
    run_in_folder(tmp_path / "run", Labelled.of(table, "value"), settings)
    monkeypatch.chdir(tmp_path / "run")
    exec(code(tmp_path / "run", "again-code"), {"frame": table})
    assert (tmp_path / "run" / "again" / "report.html").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"drop": ["a,b"]},
        {"drop": ["a\u202eb"]},
        {"engine": "torch.distributed"},
        {"baselines": False},
        {"limits": {"parameters": 0.5}},
        {"limits": {"parameters 5; ls": 9}},
        {"something": "new"},
        {"shares": {"validation": 0.2, "test": 0}},
        {"kinds": {"a": "boolean"}},
    ],
)
def test_what_the_command_line_cannot_say_is_said_in_python(settings: dict[str, Any]) -> None:
    assert make_again(made_config(**settings), "bird").startswith("from tabnas")


@pytest.mark.parametrize("name", ["a" * 200, 'it\'s \\ "so"', "a\u202eb\x1b[31m\n", "```"])
def test_the_code_names_the_target_as_the_table_does(name: str) -> None:
    config = made_config(baselines=False)
    result = made_result(target={"name": name, "task": "binary", "classes": ["no", "yes"]})
    quoted = f"Labelled.of(table, {name!r})"
    assert quoted in make_again(config, name)
    assert quoted in render_card(result, config)
    assert quoted in unescape(render_report(result, made_history(), config))


def test_limits_on_latency_can_be_said() -> None:
    config = made_config(limits={"latency_us": 12.5}, latency_table="there.json")
    said = make_again(config, "bird")
    assert "--max-latency-us 12.5" in said
    assert "--latency-table there.json" in said


def test_a_limit_on_a_new_cost_can_be_said() -> None:
    said = make_again(made_config(limits={"multiply_adds": 500}), "bird")
    assert "--max-multiply-adds 500" in said


def test_nothing_escapes_from_a_quoted_word() -> None:
    config = made_config(drop=["$(reboot)", "; ls"])
    config["data"] = {"data": "-rf", "target": "--x`id`"}
    words = shlex.split(make_again(config, "bird").replace("\\\n", " "))
    assert words[2] == "-rf"
    assert "--target=--x`id`" in words
    assert "$(reboot),; ls" in words


def test_json_is_what_the_report_is_made_of(made: Path) -> None:
    """The folder says the same as the page: nothing else went into it."""
    before = (made / "report.html").read_text(encoding="utf-8")
    result = json.loads((made / "result.json").read_text(encoding="utf-8"))
    assert run(["report", str(made)]) == 0
    assert (made / "report.html").read_text(encoding="utf-8") == before
    assert result["architecture"] in before
