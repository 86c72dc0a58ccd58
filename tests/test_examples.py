"""Examples run as they stand and say what they promise; shown code is the code of the files.

In this process, where everything is compiled and imported already, and with brief trainings: what
is asked is whether they work, not how good their networks are.
"""

from __future__ import annotations

import ast
import calendar
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli import _main as cli
from tests.conftest import BRIEF, patch_plan_constants
from tests.processes import default_signals

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
DEPLOY = EXAMPLES / "deploy"
MOST_LINES = 60
USED = r"([\d,]+) of +([\d,]+)"
NETWORK = r"(?:d\d+-)?(?:linear|\d+(?:-\d+)*)"

PROMISED = {
    "choose_limit": [r"at most +250 parameters .*", "<- taken", rf"of all rows: {NETWORK}, "],
    "classify": [rf"network +{NETWORK}, \d+ of 500 parameters", "colour +categorical: 3 categ"],
    "distil": [
        r"(LGBM|HistGradientBoosting)Classifier .* bytes  log loss 0",
        "TabNASClassifier .* bytes  log loss 0",
        "from: (0|40|70)%",
        "tabnas search answers.csv --target income --teacher-column answer",
    ],
    "feasible_set": ["856 of 8,000", "most expensive 32-144-24", "exact 0.107000", "32  0.133"],
    "larger_than_memory": ["in 3 pieces", "page +categorical", r"found .* of 2,000", "auc"],
    "own_cost": ["check_cost: kept", "exact by chain", "exact by enumeration", r"12\.4 nJ"],
    "own_objective": ["1,227 of 4,096", "random .* hours", "guided .* hours"],
    "own_reward": ["check_reward: kept", r"price +0\.0: .* of the limit", r"price +0\.2: "],
    "regress": ["linear +11 parameters", "the mean +RMSE 4", "answers the same: True"],
    "search_by_hand": ["29 of 43", rf"most likely {NETWORK}", "validation loss 0"],
    "several_limits": ["of 3,000 bytes", "of 1,000 flops", "the cheapest, linear, has 38"],
    "stop_and_resume": ["stopped; the folder holds checkpoint", "bit for bit: True"],
    "tradeoff": [rf"{NETWORK} +\d+ of +700 param", "of 3,000 param", "curve.csv has the curve"],
}
"""What the output of each script has, besides numbers that training decides."""
WRITE = {"distil": "answers.csv", "regress": "model", "tradeoff": "curve.csv"}
"""What `--out` is for some of them; the others are run without."""


@pytest.fixture(autouse=True)
def brief_trainings() -> Iterator[None]:
    with patch_plan_constants(BRIEF):
        yield


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a script from a folder of its own, and returns what it printed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(script: Path, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        with default_signals():
            runpy.run_path(str(script), run_name="__main__")
        assert not list(temporary.iterdir()), "a temporary folder must be gone in the end"
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_scripts(name: str, run: Callable[..., str]) -> None:
    out = WRITE.get(name)
    printed = run(EXAMPLES / f"{name}.py", *(["--out", out] if out else []))
    for promised in PROMISED[name]:
        assert re.search(promised, printed), printed
    for used, limit in re.findall(USED, printed):
        assert int(used.replace(",", "")) <= int(limit.replace(",", ""))
    assert {path.name for path in Path().iterdir()} == ({out} if out else set())
    assert "nan" not in printed.split()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_scripts_are_short_and_say_what_for(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < MOST_LINES
    assert ast.get_docstring(ast.parse(text)), "the first line must say what it is for"


def test_every_file_is_in_the_list() -> None:
    listed = set(re.findall(r"\]\(([^)/]+?)\)", (EXAMPLES / "README.md").read_text()))
    there = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    assert listed == there
    assert set(PROMISED) == {path.stem for path in EXAMPLES.glob("*.py")}


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the shell script, one after the other, without a new process for each."""
    script = EXAMPLES / "csv_to_onnx.sh"
    subprocess.run(["sh", "-n", script], check=True)
    text = script.read_text().replace("\\\n", " ")
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"<<'PYTHON'\n(.*?)^PYTHON$", text, re.S | re.M)[1], {})
    commands = re.findall(r"^python -m tabnas (.*)$", text, re.M)
    assert [command.split()[0] for command in commands] == [
        "search", "predict", "evaluate", "export",
    ]  # fmt: skip
    for command in commands:
        assert cli.run(shlex.split(command)) == 0
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"flowers.csv", "new.csv", "runs", "predictions.csv", "flowers.onnx"}
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 26


# -- the notebook ----------------------------------------------------------------------------------


def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    notebook = nbformat.read(EXAMPLES / "first_hour.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        assert not cell.outputs, "the notebook is kept without outputs"
        assert cell.execution_count is None
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, resources=resources).execute()
    outputs = [output for cell in code for output in cell.outputs]
    printed = "".join(output.get("text", "") for output in outputs)
    assert "of 2,000 parameters" in printed
    assert "450 labels, the same as the model's" in printed
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2


# -- deployment ------------------------------------------------------------------------------------

SHOWN = {
    "python/answer.py": "python",
    "cpp/answer.cpp": "cpp",
    "cpp/CMakeLists.txt": "cmake",
    "browser/answer.js": "javascript",
    "browser/index.html": "html",
    "c/answer.c": "c",
    "arduino/parcels/parcels.ino": "cpp",
}


@pytest.mark.parametrize("file", SHOWN)
def test_shown_code_is_that_of_the_files(file: str) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    assert f"```{SHOWN[file]}\n{(DEPLOY / file).read_text()}```\n" in page


def test_python_answers_as_the_model_does(tmp_path: Path, run: Callable[..., str]) -> None:
    file = tmp_path / "parcels.onnx"
    maker = runpy.run_path(str(DEPLOY / "make_model.py"))
    model = maker["make"](file)
    answering = runpy.run_path(str(DEPLOY / "python" / "answer.py"))
    answer = answering["Answerer"](str(file))

    table = maker["parcels"]()[0].head(200)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    assert any(row["weight_kg"] is None for row in rows)
    assert any(row["country"] is None for row in rows)
    label, probabilities = answer(rows)
    assert answer.classes == model.classes_.tolist()
    assert np.allclose(probabilities, model.predict_proba(table), atol=1e-5)
    assert (label == model.predict(table)).all()

    printed = run(DEPLOY / "python" / "answer.py", str(file)).splitlines()
    assert printed[-5] == '["early", "late", "on time"]'
    for line in printed[-4:]:
        assert re.fullmatch(r"(early|late|on time) +(0|1)\.\d{4} 0\.\d{4} 0\.\d{4}", line)


ARDUINO = """
struct Port { void begin(long); void println(const char *); };
extern Port Serial;
enum { A0, HIGH, LED_BUILTIN };
int analogRead(int); int digitalRead(int); void digitalWrite(int, int); void delay(unsigned long);
"""
"""What the sketch uses of Arduino.h, which is included before every sketch."""


def test_c_answers_as_python_does(tmp_path: Path, run: Callable[..., str]) -> None:
    file, folder = tmp_path / "parcels.onnx", tmp_path / "parcels"
    maker = runpy.run_path(str(DEPLOY / "make_model.py"))
    maker["make"](file, folder)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{folder}")
    sources = (DEPLOY / "c" / "answer.c", folder / "model.c")
    subprocess.run(["cc", *strict, *sources, "-lm", "-o", tmp_path / "answer"], check=True)
    answered = subprocess.run([tmp_path / "answer"], capture_output=True, text=True, check=True)
    printed = run(DEPLOY / "python" / "answer.py", str(file)).splitlines()[-5:]
    assert answered.stdout.splitlines() == printed
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    sketch = DEPLOY / "arduino" / "parcels" / "parcels.ino"
    include = ("-include", tmp_path / "Arduino.h", f"-I{folder}")
    checked = ["g++", "-std=gnu++11", "-fsyntax-only", "-Wall", "-Werror", *include]
    subprocess.run([*checked, "-x", "c++", sketch], check=True)


def test_python_answers_without_tabnas() -> None:
    tree = ast.parse((DEPLOY / "python" / "answer.py").read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name])
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}


def test_all_languages_ask_about_the_same_rows() -> None:
    """A moment is written in seconds in C++ and by ISO 8601 in JavaScript."""
    asked = runpy.run_path(str(DEPLOY / "python" / "answer.py"))["ROWS"]
    cpp, page = ((DEPLOY / name).read_text() for name in ("cpp/answer.cpp", "browser/index.html"))
    weight, insured, country, zone, sent = zip(*asked, strict=True)
    moments = [None if moment is None else calendar.timegm(moment.timetuple()) for moment in sent]
    assert f"weight{{{_listed(weight, 'kNoNumber')}}}" in cpp
    assert f"insured{{{_listed(insured, 'kNoNumber')}}}" in cpp
    assert f"country{{{_listed(country, 'kNoText')}}}" in cpp
    assert f"zone{{{_listed(zone, 'kNoInteger')}}}" in cpp
    assert f"sent{{{_listed(moments, 'kNoInteger')}}}" in cpp
    for row in asked:
        *plain, moment = row
        when = "null" if moment is None else f'new Date("{moment:%Y-%m-%dT%H:%M:%S}Z")'
        truth = {True: "true", False: "false"}
        values = [truth[v] if isinstance(v, bool) else _written(v, "null") for v in plain]
        assert f"[{', '.join([*values, when])}]" in page


def _listed(values: tuple[object, ...] | list[object], missing: str) -> str:
    return ", ".join(_written(value, missing) for value in values)


def _written(value: object, missing: str) -> str:
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(int(value))
    return f'"{value}"' if isinstance(value, str) else str(value)
