"""What the report says to type works."""

from __future__ import annotations

import ast
import builtins
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabnas.cli._main import run
from tabnas.cli._source import Source
from tabnas.cli.options._search_options import SearchOptions
from tabnas.data import Shares, read_table
from tabnas.errors import TabNASError
from tabnas.report._commands import COUNTED, decode_config, repeat_run
from tabnas.results import RunResult
from tabnas.runs import LabelledTable, RunSettings, load_result, run_in_folder
from tabnas.settings import TradeoffSettings
from tabnas.space import COSTS, MEASURED_COSTS, Flops
from tests.cli.conftest import make_columns, write_csv
from tests.conftest import BRIEF, patch_plan_constants
from tests.report.conftest import make_card, make_config, make_report, make_result


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    with patch_plan_constants(BRIEF):
        yield


def code(folder: Path, name: str) -> str:
    """A piece of code of a folder's report."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(rf'<pre id="{name}".*?<code>(.*?)</code>', page, flags=re.S)
    assert found is not None
    return unescape(found[1])


def result_without_timings(folder: Path) -> RunResult:
    return replace(load_result(folder), timings={})


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the command line with many options, in a folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    table = write_csv(tmp_path / "a 'good' table.csv", make_columns())
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
    assert result_without_timings(made / "again") == result_without_timings(made)
    again = (made / "again" / "report.html").read_text(encoding="utf-8")
    assert code(made / "again", "again-code") == code(made, "again-code")
    assert "Predicting" in again


def test_the_model_is_used_as_the_report_says(made: Path) -> None:
    write_csv(made / "new.csv", make_columns(7))
    write_csv(made / "labelled.csv", make_columns(20))
    for command in code(made, "use-command").splitlines():
        assert run(shlex.split(command)[1:]) == 0
    assert len((made / "predictions.csv").read_text().splitlines()) == 1 + 7
    said: dict[str, Any] = {}
    exec(code(made, "use-python") + "\nasked = model.predict_proba(rows)", said)
    assert said["asked"].shape == (7, 2)


def test_a_run_from_python_is_made_again_from_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = make_columns()
    del columns["kind"]
    table = read_table(write_csv(tmp_path / "table.csv", columns))
    settings = RunSettings(limits={"parameters": 300}, candidates=1, baselines=False, time=0.1)
    run_in_folder(tmp_path / "run", LabelledTable.from_table(table, "value"), settings)
    monkeypatch.chdir(tmp_path / "run")
    (tmp_path / "table.csv").rename("rows.csv")
    exec(code(tmp_path / "run", "again-code"), {})
    assert (tmp_path / "run" / "again" / "report.html").exists()


# -- the real command line takes what is printed ---------------------------------------------------


class ParsedError(TabNASError):
    """The command line was understood: the settings, the rows, the limits of a trade-off."""


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[Any, ...]]:
    """A function that parses a command with the real command line, up to reading the table."""
    found: list[tuple[Any, ...]] = []

    def record(
        source: Source,
        settings: RunSettings,
        tradeoff: TradeoffSettings | None = None,
        **others: Any,
    ) -> None:
        several = () if tradeoff is None else (list(tradeoff.limits), tradeoff.cost)
        found.append((settings, source, *several))
        raise ParsedError("as far as parsing goes")

    monkeypatch.setattr(Source, "plan", record)

    def parse(command: str) -> tuple[Any, ...]:
        if command.startswith("import subprocess"):
            with monkeypatch.context() as patched:
                words: list[str] = []
                patched.setattr(subprocess, "run", lambda given, check: words.extend(given))
                exec(command, {})
        else:
            words = shlex.split(command.replace("\\\n", " "))
        assert words[0] == "tabnas"
        found.clear()
        assert run([*words[1:], "--dry-run", "--quiet"]) == 2
        assert found, command
        return found[0]

    return parse


def undefined_names(source: str) -> set[str]:
    """Names that code reads and neither imports nor assigns."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    imported = {one.asname or one.name for node in nodes for one in getattr(node, "names", ())}
    return read - made - imported - set(dir(builtins))


COLUMN = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=",\0"), min_size=1
).map(str.strip)
COLUMNS = st.lists(COLUMN.filter(bool), unique=True, max_size=3)
LIMIT_NAMES = ("parameters", "dense_parameters", "flops", "latency_us", "batch_latency_us", "mine")
SHARES = st.floats(0.01, 0.5)


@st.composite
def settings_of_runs(draw: st.DrawFn) -> RunSettings:
    """Settings that the command line can be asked for, and some that only Python can."""
    numbers = st.one_of(st.integers(1, 10**15), st.floats(1e-9, 1e12))
    limits = draw(st.dictionaries(st.sampled_from(LIMIT_NAMES), numbers, min_size=1))
    limits |= draw(st.sampled_from([{}, {"bytes": 80_000}, {"bytes": 60e3}]))
    order = draw(st.sampled_from(["random", "time", "group"]))
    columns = draw(COLUMNS)
    kinds = st.sampled_from(["categorical", "numeric", "hashed", "boolean"])
    optional = {
        "layers": st.integers(1, 32),
        "widths": st.lists(st.integers(0, 100), min_size=1, max_size=3).map(tuple),
        "metric": st.sampled_from(["accuracy", "rmse"]),
        "class_weight": st.just("balanced"),
        "scaling": st.sampled_from(["robust", "standard", "none"]),
        "time": st.floats(0.001, 1e9),
        "candidates": st.integers(1, 10),
        "refit": st.booleans(),
        "baselines": st.sampled_from([True, True, False]),
        "seed": st.integers(0, 2**60),
        "workers": st.integers(1, 64),
        "engine": st.sampled_from(["compiled", "torch", "torch.distributed"]),
        "memory": st.integers(10**9, 10**12),
        "shares": st.builds(Shares, validation=SHARES, test=st.one_of(st.just(0.0), SHARES)),
    }
    names = draw(st.sets(st.sampled_from(sorted(optional)), max_size=5))
    return RunSettings(
        limits=limits,
        order=order,
        order_column=None if order == "random" else draw(COLUMN.filter(bool)),
        drop=tuple(columns[:1]),
        kinds={name: draw(kinds) for name in columns[1:]},
        **{name: draw(optional[name]) for name in sorted(names)},
    )


class Mine(Flops):
    """A cost that has no option of its own."""

    name = "mine"


@pytest.fixture
def own_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COSTS, "mine", Mine())


@pytest.mark.usefixtures("own_cost")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=settings_of_runs(), rows=st.sampled_from(["birds.csv", "-rf.csv", "a b\u202e.csv"]))
def test_a_printed_command_asks_for_the_same_run(
    asked: RunSettings, rows: str, parsed: Callable[[str], tuple[Any, ...]]
) -> None:
    config = {"data": {"data": rows, "target": "bird"}, "settings": asked.to_dict()}
    again = repeat_run(decode_config(config), "bird")
    if again.startswith("from tabnas"):
        assert not undefined_names(again)
        return
    found, source = parsed(again)
    assert found == asked
    assert (Path(source.data), source.target) == (Path(rows), "bird")


@pytest.mark.usefixtures("own_cost")
@pytest.mark.parametrize("cost", ["parameters", "flops", "latency_us", "mine"])
@pytest.mark.parametrize("limits", [[2_000, 5_000], [12.5, 80.0]])
def test_a_printed_command_asks_for_the_same_tradeoff(
    cost: str, limits: list[float], parsed: Callable[[str], tuple[Any, ...]]
) -> None:
    config = make_config(limits={cost: limits[0], "bytes": 80_000}, candidates=4)
    config["tradeoff"] = {"cost": cost, "limits": limits}
    asked, _, *several = parsed(repeat_run(decode_config(config), "bird"))
    assert several == [limits, cost]
    assert asked == RunSettings.from_dict(config["settings"])


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (["--max", "flops=60k"], "--max-flops 60000"),
        (["--max", "flops=60000.5"], "--max flops=60000.5"),
        (["--max", "latency-us=50"], "--max-latency-us 50"),
        (["--max", "mine=7"], "--max mine=7"),
        (["--max-bytes", "80kB"], "--max-bytes 80000"),
    ],
)
@pytest.mark.usefixtures("own_cost")
def test_a_limit_is_printed_as_it_can_be_given(
    given: list[str], printed: str, parsed: Callable[[str], tuple[Any, ...]]
) -> None:
    asked, source = parsed(shlex.join(["tabnas", "search", "birds.csv", *given]))
    config = {"data": source.to_dict(), "settings": asked.to_dict()}
    again = repeat_run(decode_config(config), "bird")
    assert printed in again
    assert parsed(again)[0] == asked


def test_every_cost_with_an_option_is_known() -> None:
    assert {*COUNTED, *MEASURED_COSTS} == set(
        SearchOptions(data="birds.csv", settings={}).all_limits()
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"drop": ["a,b"]},
        {"engine": "torch.distributed"},
        {"baselines": False},
        {"limits": {"bytes": 0.5}},
        {"limits": {"parameters": -5}},
        {"limits": {"parameters": True}},
        {"limits": {"flops": float("inf")}},
        {"limits": {"flops": 10**30}},
        {"limits": {"parameters 5; ls": 9}},
        {"layers": "many"},
        {"metric": "log loss; ls"},
        {"something": "new"},
        {"shares": {"validation": 0.2, "test": 0}},
        {"kinds": {"a": "boolean"}},
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_what_the_command_line_cannot_say_is_said_in_python(
    settings: dict[str, Any], several: bool
) -> None:
    config = make_config(**settings)
    if several:
        config["tradeoff"] = {"cost": "dense_parameters", "limits": [100, 200]}
    again = repeat_run(decode_config(config), "bird")
    assert again.startswith("from tabnas")
    assert not undefined_names(again)


@pytest.mark.parametrize("name", ["a" * 200, 'it\'s \\ "so"', "a\u202eb\x1b[31m\n", "```"])
def test_the_code_names_the_target_as_the_table_does(name: str) -> None:
    config = make_config(baselines=False)
    result = make_result(target={"name": name, "task": "binary", "classes": ["no", "yes"]})
    quoted = f"LabelledTable.from_table(table, {name!r})"
    assert quoted in repeat_run(decode_config(config), name)
    assert quoted in make_card(result, config)
    assert quoted in unescape(make_report(result, config=config))


def test_limits_on_latency_can_be_said() -> None:
    config = make_config(limits={"latency_us": 12.5}, latency_table="there.json")
    said = repeat_run(decode_config(config), "bird")
    assert "--max-latency-us 12.5" in said
    assert "--latency-table there.json" in said


def test_nothing_escapes_from_a_quoted_word() -> None:
    config = make_config(drop=["$(reboot)", "; ls"])
    config["data"] = {"data": "-rf", "target": "--x`id`"}
    words = shlex.split(repeat_run(decode_config(config), "bird").replace("\\\n", " "))
    assert words[2] == "./-rf"
    assert "--target=--x`id`" in words
    assert "$(reboot),; ls" in words


def test_json_is_what_the_report_is_made_of(made: Path) -> None:
    """The folder says the same as the page: nothing else went into it."""
    before = (made / "report.html").read_text(encoding="utf-8")
    result = json.loads((made / "result.json").read_text(encoding="utf-8"))
    assert run(["report", str(made)]) == 0
    assert (made / "report.html").read_text(encoding="utf-8") == before
    assert result["architecture"] in before
