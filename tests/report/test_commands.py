"""The commands and the code in a report work."""

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

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from tabnas.cli._data_source import DataSource
from tabnas.cli._main import run
from tabnas.cli.options._search_options import SearchOptions
from tabnas.data import Shares, read_table
from tabnas.errors import TabNASError
from tabnas.report._commands import BESIDES, COUNTED, render_repetition
from tabnas.report._run_config import EXTRA_INPUTS, decode_config
from tabnas.results import RunResult
from tabnas.runs import LabelledTable, RunSettings, load_result, run_in_folder
from tabnas.settings import TradeoffSettings
from tabnas.space import COSTS, LATENCY_ROWS, Flops
from tabnas.teachers import EstimatorTeacher
from tests.cli.conftest import make_columns, write_csv
from tests.conftest import BRIEF, patch_plan_constants
from tests.report.conftest import make_card, make_config, make_report, make_result


@pytest.fixture(scope="module", autouse=True)
def short_plans() -> Iterator[None]:
    with patch_plan_constants(BRIEF):
        yield


def read_code(folder: Path, name: str) -> str:
    """Read a code block of the report in a folder."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    match = re.search(rf'<pre id="{name}".*?<code>(.*?)</code>', page, flags=re.S)
    assert match is not None
    return unescape(match[1])


def result_without_timings(folder: Path) -> RunResult:
    return replace(load_result(folder), timings={})


@pytest.fixture
def finished_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a run with many options, which is the current one."""
    monkeypatch.chdir(tmp_path)
    table = write_csv(tmp_path / "a 'good' table.csv", make_columns())
    options = ["--max-parameters", "300", "--max-flops", "2000", "--candidates", "1"]
    options += ["--drop", "value,day", "--categorical", "house", "--widths", "0,4,8"]
    options += ["--numeric-dimensions", "1,2", "--knots", "5"]
    options += ["--layers", "2", "--seed", "3", "--test", "0.3", "--metric", "accuracy", "--refit"]
    out = ["--out", "run", "--quiet"]
    assert run(["search", str(table), "--target", "kind", *options, *out]) == 0
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


def test_the_command_in_the_report_reproduces_the_run(finished_run: Path) -> None:
    command = shlex.split(read_code(finished_run, "again-code").replace("\\\n", " "))
    assert command[0] == "tabnas"
    assert run([*command[1:], "--quiet"]) == 0
    assert result_without_timings(finished_run / "again") == result_without_timings(finished_run)
    again = (finished_run / "again" / "report.html").read_text(encoding="utf-8")
    assert read_code(finished_run / "again", "again-code") == read_code(finished_run, "again-code")
    assert "Predicting" in again


def test_the_code_in_the_report_uses_the_model(finished_run: Path) -> None:
    write_csv(finished_run / "new.csv", make_columns(7))
    write_csv(finished_run / "labelled.csv", make_columns(20))
    for command in read_code(finished_run, "use-command").splitlines():
        assert run(shlex.split(command)[1:]) == 0
    assert len((finished_run / "predictions.csv").read_text().splitlines()) == 1 + 7
    namespace: dict[str, Any] = {}
    exec(
        read_code(finished_run, "use-python") + "\nprobabilities = model.predict_proba(rows)",
        namespace,
    )
    assert namespace["probabilities"].shape == (7, 2)


def test_the_code_in_the_report_reproduces_a_run_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = make_columns()
    del columns["kind"]
    table = read_table(write_csv(tmp_path / "table.csv", columns))
    settings = RunSettings(
        limits={"parameters": 300}, candidates=1, reference_models=False, time=0.1
    )
    run_in_folder(tmp_path / "run", LabelledTable.from_table(table, "value"), settings)
    monkeypatch.chdir(tmp_path / "run")
    (tmp_path / "table.csv").rename("rows.csv")
    exec(read_code(tmp_path / "run", "again-code"), {})
    assert (tmp_path / "run" / "again" / "report.html").exists()


# -- parsing by the real command line --------------------------------------------------------------


class ParsedError(TabNASError):
    """Ends a command after its options are parsed."""


@pytest.fixture
def parse_command(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[Any, ...]]:
    """Return a function that parses a command with the real command line."""
    calls: list[tuple[Any, ...]] = []

    def record(
        source: DataSource,
        settings: RunSettings,
        tradeoff: TradeoffSettings | None = None,
        **options: Any,
    ) -> None:
        several = () if tradeoff is None else (list(tradeoff.limits), tradeoff.cost)
        calls.append((settings, source, *several))
        raise ParsedError("as far as parsing goes")

    monkeypatch.setattr(DataSource, "load_and_plan", record)

    def parse(command: str) -> tuple[Any, ...]:
        if command.startswith("import subprocess"):
            with monkeypatch.context() as patched:
                arguments: list[str] = []
                patched.setattr(
                    subprocess, "run", lambda command_line, check: arguments.extend(command_line)
                )
                exec(command, {})
        else:
            arguments = shlex.split(command.replace("\\\n", " "))
        assert arguments[0] == "tabnas"
        calls.clear()
        assert run([*arguments[1:], "--dry-run", "--quiet"]) == 2
        assert calls, command
        return calls[0]

    return parse


def find_undefined_names(source: str) -> set[str]:
    """Return the names that code reads and neither imports nor assigns."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    imported = {
        alias.asname or alias.name for node in nodes for alias in getattr(node, "names", ())
    }
    return read - assigned - imported - set(dir(builtins))


COLUMN = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=",\0"), min_size=1
).map(str.strip)
COLUMNS = st.lists(COLUMN.filter(bool), unique=True, max_size=3)
LIMIT_NAMES = ("parameters", "dense_parameters", "flops", "latency_us", "batch_latency_us", "mine")
SHARES = st.floats(0.01, 0.5)


@st.composite
def run_settings(draw: st.DrawFn) -> RunSettings:
    """Draw settings, of which some have no option on the command line."""
    numbers = st.one_of(st.integers(1, 10**15), st.floats(1e-9, 1e12))
    limits = draw(st.dictionaries(st.sampled_from(LIMIT_NAMES), numbers, min_size=1))
    limits |= draw(st.sampled_from([{}, {"bytes": 80_000}, {"bytes": 60e3}, {"ram_bytes": 2_000}]))
    order = draw(st.sampled_from(["random", "time", "group"]))
    columns = draw(COLUMNS)
    kinds = st.sampled_from(["categorical", "numeric", "hashed", "boolean"])
    optional = {
        "layers": st.integers(1, 32),
        "widths": st.lists(st.integers(0, 100), min_size=1, max_size=3).map(tuple),
        "numeric_dimensions": st.lists(st.integers(0, 16), min_size=1, max_size=3).map(tuple),
        "knots": st.integers(3, 64),
        "metric": st.sampled_from(["accuracy", "rmse"]),
        "class_weight": st.just("balanced"),
        "scaling": st.sampled_from(["robust", "standard", "none"]),
        "time": st.floats(0.001, 1e9),
        "candidates": st.integers(1, 10),
        "refit": st.booleans(),
        "reference_models": st.sampled_from([True, True, False]),
        "seed": st.integers(0, 2**60),
        "workers": st.integers(1, 64),
        "engine": st.sampled_from(["compiled", "torch", "torch.distributed"]),
        "memory": st.integers(10**9, 10**12),
        "shares": st.builds(Shares, validation=SHARES, test=st.one_of(st.just(0.0), SHARES)),
    }
    names = draw(st.sets(st.sampled_from(sorted(optional)), max_size=5))
    return RunSettings(
        limits=limits,
        split=order,
        split_column=None if order == "random" else draw(COLUMN.filter(bool)),
        drop=tuple(columns[:1]),
        kinds={name: draw(kinds) for name in columns[1:]},
        **{name: draw(optional[name]) for name in sorted(names)},
    )


class CustomCost(Flops):
    """A cost without an option."""

    name = "mine"


@pytest.fixture
def custom_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COSTS, "mine", CustomCost())


@pytest.mark.usefixtures("custom_cost")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(expected=run_settings(), rows=st.sampled_from(["birds.csv", "-rf.csv", "a b\u202e.csv"]))
def test_a_printed_command_has_the_settings_of_the_run(
    expected: RunSettings, rows: str, parse_command: Callable[[str], tuple[Any, ...]]
) -> None:
    config = {"data": {"data": rows, "target": "bird"}, "settings": expected.to_dict()}
    again = render_repetition(decode_config(config), "bird", "binary")
    if again.startswith("from tabnas"):
        assert not find_undefined_names(again)
        return
    parsed, source = parse_command(again)
    assert parsed == expected
    assert (Path(source.data), source.target) == (Path(rows), "bird")


@pytest.mark.usefixtures("custom_cost")
@pytest.mark.parametrize("cost", ["parameters", "flops", "latency_us", "mine"])
@pytest.mark.parametrize("limits", [[2_000, 5_000], [12.5, 80.0]])
def test_a_printed_command_has_the_settings_of_the_tradeoff(
    cost: str, limits: list[float], parse_command: Callable[[str], tuple[Any, ...]]
) -> None:
    config = make_config(limits={cost: limits[0], "bytes": 80_000}, candidates=4)
    config["tradeoff"] = {"cost": cost, "limits": limits}
    parsed_settings, _, *limits_and_cost = parse_command(
        render_repetition(decode_config(config), "bird", "binary")
    )
    assert limits_and_cost == [limits, cost]
    assert parsed_settings == RunSettings.from_dict(config["settings"])


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--max", "flops=60k"], "--max-flops 60000"),
        (["--max", "flops=60000.5"], "--max flops=60000.5"),
        (["--max", "latency-us=50"], "--max-latency-us 50"),
        (["--max", "mine=7"], "--max mine=7"),
        (["--max-bytes", "80kB"], "--max-bytes 80000"),
    ],
)
@pytest.mark.usefixtures("custom_cost")
def test_a_printed_limit_can_be_parsed(
    options: list[str], printed: str, parse_command: Callable[[str], tuple[Any, ...]]
) -> None:
    parsed_settings, source = parse_command(shlex.join(["tabnas", "search", "birds.csv", *options]))
    config = {"data": source.to_dict(), "settings": parsed_settings.to_dict()}
    again = render_repetition(decode_config(config), "bird", "binary")
    assert printed in again
    assert parse_command(again)[0] == parsed_settings


def test_every_cost_with_an_option_is_known() -> None:
    assert {*COUNTED, *LATENCY_ROWS} == set(
        SearchOptions(data="birds.csv", settings={}).all_limits()
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"drop": ["a,b"]},
        {"engine": "torch.distributed"},
        {"reference_models": False},
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
        {"split": "group"},
    ],
)
@pytest.mark.parametrize("is_tradeoff", [False, True])
def test_settings_without_an_option_are_printed_as_python(
    settings: dict[str, Any], is_tradeoff: bool
) -> None:
    config = make_config(**settings)
    if is_tradeoff:
        config["tradeoff"] = {"cost": "dense_parameters", "limits": [100, 200]}
    again = render_repetition(decode_config(config), "bird", "binary")
    assert again.startswith("from tabnas")
    assert not find_undefined_names(again)


@pytest.mark.parametrize("name", ["a" * 200, 'it\'s \\ "so"', "a\u202eb\x1b[31m\n", "```"])
def test_printed_code_names_the_target(name: str) -> None:
    config = make_config(reference_models=False)
    result = make_result(target={"name": name, "task": "binary", "classes": ["no", "yes"]})
    quoted = f'LabelledTable.from_table(table, {name!r}, task="classification")'
    assert quoted in render_repetition(decode_config(config), name, "binary")
    assert quoted in make_card(result, config)
    assert quoted in unescape(make_report(result, config=config))


def test_the_code_repeats_what_python_gave_besides_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratings with weights, groups, unlabelled rows, validation rows and a teacher of one's own."""
    columns = {"x": [str(i % 7) for i in range(60)], "y": [str(i % 5) for i in range(60)]}
    weights = 1.0 + np.arange(60) % 3
    table = read_table(write_csv(tmp_path / "rows.csv", columns))
    write_csv(tmp_path / "weights.csv", {"weight": list(map(str, weights))})
    write_csv(tmp_path / "groups.csv", {"group": [str(i % 12) for i in range(60)]})
    data = LabelledTable.from_table(table, "y", task="regression")
    data = replace(data, weight=weights).with_groups(np.arange(60) % 12)
    data = data.with_unlabelled(read_table(write_csv(tmp_path / "unlabelled.csv", columns)))
    validation = {name: values[:20] for name, values in columns.items()}
    others = read_table(write_csv(tmp_path / "validation.csv", validation | {"x": ["0.5"] * 20}))
    model = DecisionTreeRegressor(random_state=0)
    tables = [part.drop(["y"]).arrow.to_pandas() for part in (table, table, others)]
    settings = RunSettings(
        limits={"parameters": 300}, candidates=1, reference_models=False, split="group", seed=3
    )
    settings = replace(settings, teacher="own", shares=Shares(test=0))
    run_in_folder(
        tmp_path / "run",
        data,
        settings,
        validation=LabelledTable.from_table(others, data.target),
        teacher=EstimatorTeacher(model, *tables),
    )
    code = read_code(tmp_path / "run", "again-code")
    monkeypatch.chdir(tmp_path / "run")
    for path in tmp_path.glob("*.csv"):
        path.rename(tmp_path / "run" / path.name)
    names = ("X", "X_unlabelled", "X_validation")
    exec(code, {"model": model} | dict(zip(names, tables, strict=True)))
    assert code.startswith("# If an estimator began this run, call its fit again")
    again = result_without_timings(tmp_path / "run" / "again")
    assert again == result_without_timings(tmp_path / "run")
    assert again.target.task == "regression"


def test_there_is_code_for_every_extra_input() -> None:
    assert tuple(BESIDES) == EXTRA_INPUTS


def test_limits_on_latency_are_printed() -> None:
    config = make_config(limits={"latency_us": 12.5}, latency_table="there.json", runtime="c")
    command = render_repetition(decode_config(config), "bird", "binary")
    assert "--max-latency-us 12.5" in command
    assert "--latency-table there.json" in command
    assert "--runtime c" in command


def test_arguments_are_quoted() -> None:
    config = make_config(drop=["$(reboot)", "; ls"])
    config["data"] = {"data": "-rf", "target": "--x`id`"}
    arguments = shlex.split(
        render_repetition(decode_config(config), "bird", "binary").replace("\\\n", " ")
    )
    assert arguments[2] == "./-rf"
    assert "--target=--x`id`" in arguments
    assert "$(reboot),; ls" in arguments


def test_the_report_can_be_rendered_again(finished_run: Path) -> None:
    """The report can be rendered again from the files of the folder."""
    before = (finished_run / "report.html").read_text(encoding="utf-8")
    result = json.loads((finished_run / "result.json").read_text(encoding="utf-8"))
    assert run(["report", str(finished_run)]) == 0
    assert (finished_run / "report.html").read_text(encoding="utf-8") == before
    assert result["architecture"] in before
