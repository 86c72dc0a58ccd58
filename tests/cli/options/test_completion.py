from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tabnas.cli._main import run
from tabnas.cli.options import _completion as completion
from tabnas.cli.options._settings import SETTINGS, make_option
from tabnas.model import METRICS
from tabnas.nets import ENGINES
from tabnas.runs import RunSettings
from tests.cli.conftest import make_columns, write_csv


def offered(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What Tab offers in bash at the end of a line."""
    monkeypatch.setenv("_TABNAS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        run([])
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


@pytest.fixture
def place(here: Path) -> Path:
    """A folder with a table in three formats, and runs of every kind."""
    columns = make_columns(4)
    write_csv(here / "train.csv", columns)
    write_csv(here / "days.csv", {"the day": ["1"], "daylight": ["2"], "dose": ["3"]})
    (here / "semi.csv").write_text('size;"house";kind\n1;2;3\n', encoding="utf-8")
    table = pa.table(columns)
    parquet.write_table(table, here / "train.parquet")
    feather.write_feather(table, here / "train.feather")
    (here / "latin.csv").write_bytes("größe,kind\n".encode("latin-1"))
    (here / "false.parquet").write_bytes(b"PAR1 is not enough")
    for folder, files in {
        "runs/done": ["config.toml", "result.json"],
        "runs/begun": ["config.toml"],
        "runs/several": ["config.toml", "tradeoff.json"],
        "runs/several/limit-5": ["config.toml", "result.json"],
        "stores/clicks": ["store.json"],
        "other": ["letter.txt"],
    }.items():
        (here / folder).mkdir(parents=True)
        for name in files:
            (here / folder / name).touch()
    return here


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("tabnas se", ["search"]),
        ("tabnas paper t", ["toy", "tradeoff", "tuning"]),
        ("tabnas help pre", ["predict"]),
        ("tabnas help paper to", ["toy"]),
        ("tabnas search --max-b", ["--max-bytes", "--max-batch-latency-us"]),
        ("tabnas search train.csv --target ", list(make_columns(1))),
        ("tabnas search train.csv --target ki", ["kind"]),
        ("tabnas search train.parquet --target ki", ["kind"]),
        ("tabnas search train.feather --target ki", ["kind"]),
        ("tabnas search semi.csv --target ho", ["house"]),
        ("tabnas search days.csv --target ", ["daylight", "dose"]),  # the other needs quotes
        ("tabnas search train.csv --target kind --drop size,", [
            "size,colour", "size,day", "size,house", "size,kind", "size,value",
        ]),
        ("tabnas tradeoff train.csv --categorical ho", ["house"]),
        ("tabnas encode train.csv --target va", ["value"]),
        ("tabnas search --target ki", []),
        ("tabnas search none.csv --target ki", []),
        ("tabnas search latin.csv --target ki", []),
        ("tabnas search false.parquet --target ki", []),
        ("tabnas search train", ["train.csv", "train.feather", "train.parquet"]),
        ("tabnas search di", ["diabetes", "digits"]),
        ("tabnas search nowhere/tr", []),
        ("tabnas search train.csv --metric a", ["accuracy", "auc"]),
        ("tabnas search train.csv --engine ", ["compiled", "torch"]),
        ("tabnas tradeoff train.csv --cost la", ["latency_us"]),
        ("tabnas tradeoff train.csv --backend ", ["local", "ray", "dask"]),
        ("tabnas predict ", ["runs/done", "runs/several/limit-5"]),
        ("tabnas report runs/", ["runs/done", "runs/several", "runs/several/limit-5"]),
        ("tabnas resume ", ["runs/begun"]),
        ("tabnas watch runs/b", ["runs/begun"]),
    ],
)  # fmt: skip
def test_completions(
    words: str,
    names: Sequence[str],
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert offered(words, capsys, monkeypatch) == list(names)


def test_completed_names_exist() -> None:
    assert set(completion.METRICS) == set(METRICS)
    assert set(completion.engine_names()) < set(ENGINES)  # torch itself knows of its others
    for cost in completion.cost_names():
        assert RunSettings(limits={cost: 5}).limits == {cost: 5}


def test_choices_of_settings_are_completed() -> None:
    for setting in SETTINGS.values():
        if setting.choices is not None and setting.name != "engine":  # of which some are variants
            complete = make_option(setting).autocompletion
            assert complete("") == list(setting.choices())


def test_completion_imports_nothing_heavy(place: Path) -> None:
    """A process that completes a column's name imports nothing that only searches need."""
    code = (
        "import sys, runpy, atexit\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'torch', 'rich.markdown'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "runpy.run_module('tabnas', run_name='__main__')\n"
    )
    words = {"COMP_WORDS": "tabnas search train.csv --target ki", "COMP_CWORD": "4"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | words | {"_TABNAS_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["kind"]
    assert done.stderr.split() == ["[]"]
