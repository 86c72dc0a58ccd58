"""`tabnas export RUN --c FOLDER`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tabnas.cli._main import run
from tabnas.data import read_table
from tabnas.export.c import _export
from tabnas.export.c._code_size import ObjectSize
from tabnas.runs import load_run_model
from tests.cli.commands.test_search import run_refused

MAIN_CODE = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    tabnas_row row = TABNAS_EMPTY_ROW;
    row.size = 0.5;
    row.colour = tabnas_code_colour("red");
    row.day = 1717200000.0;
    printf("{format}", {call});
    return 0;
}
"""


@pytest.mark.parametrize("kind", ["classes", "quantity"])
def test_a_run_as_c(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert run(["export", str(finished / kind), "--c", "firmware"]) == 0
    printed = capsys.readouterr().out
    assert all(len(line) <= 80 for line in printed.splitlines())
    text = " ".join(printed.split())
    assert "12 test rows of the run" in text
    assert "size (double), colour (int32_t), day (double)" in text
    assert "more for texts and what searches them" in text
    assert "bytes of activations, on the stack" in text
    assert "file firmware/model_test.c" in text
    assert "categories as the rows write them" in text
    classes = kind == "classes"
    call = "tabnas_labels[tabnas_predict(&row, (float[TABNAS_CLASSES]){0})]"
    code = MAIN_CODE.replace("{format}", "%s" if classes else "%.9g")
    code = code.replace("{call}", call if classes else "tabnas_predict(&row)")
    (here / "main.c").write_text(code)
    sources = ["-Ifirmware", "main.c", "firmware/model.c", "-lm", "-o", "main"]
    subprocess.run(["cc", "-std=c99", *sources], check=True)
    done = subprocess.run([here / "main"], capture_output=True, text=True, check=True)
    (here / "row.csv").write_text("size,colour,day,house\n0.5,red,2024-06-01,\n")
    model = load_run_model(finished / kind)
    expected = model.predict(read_table(here / "row.csv", text=model.text_columns))[0]
    if classes:
        assert done.stdout == expected
    else:
        np.testing.assert_allclose(float(done.stdout), expected, rtol=1e-5)


def test_c_as_json(finished: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(finished / "classes"), "--c", "firmware", "--prefix", "parcel"]
    assert run([*arguments, "--json", "--check", str(finished / "good.csv")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["header"] == "firmware/model.h"
    assert printed["size"]["compiled_bytes"] <= printed["size"]["max_bytes"]
    assert printed["size"]["weight_bytes"] == 4 * printed["parameters"]
    assert printed["parity"]["rows"] == 60
    assert printed["checked_on"] == "rows of good.csv"
    assert "typedef struct" in (here / "firmware" / "model.h").read_text()
    assert "} parcel_row;" in (here / "firmware" / "model.h").read_text()


def test_without_a_compiler_it_says_so(
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_export, "find_compiler", lambda: None)
    assert run(["export", str(finished / "classes"), "--c", "firmware"]) == 0
    printed = capsys.readouterr().out
    assert "no: this machine has no C compiler" in printed
    assert "compiled" not in printed
    assert (here / "firmware" / "model.c").exists()
    assert run(["export", str(finished / "classes"), "--c", "firmware", "--json"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert description["parity"] is None
    assert description["checked_on"] is None


def test_a_size_above_the_bound_is_printed_as_such(
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other compilers may need more."""
    monkeypatch.setattr(_export, "measure_size", lambda *arguments: ObjectSize(99_999, 1, "cc"))
    assert run(["export", str(finished / "classes"), "--c", "firmware"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "compiled 99,999 bytes, more than the " in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--c", "x", "m.onnx"], "--c must be given alone, got also 'm.onnx'"),
        (["--c", "x", "--out", "m.onnx"], "--c must be given alone, got also 'm.onnx'"),
        (["--c", "x", "--int8"], "--c must be given alone, got also --int8"),
        (["--c", "x", "--margin", "0.01"], "--c must be given alone, got also --margin"),
        (["--c", "x", "--weights-only"], "--c must be given alone, got also --weights-only"),
        (["m.onnx", "--prefix", "x"], "--prefix needs --c"),
        (["m.onnx", "--margin", "0.02"], "--margin needs --int8, got float32; add --int8 or"),
        (["--c", "x", "--prefix", "X-"], "prefix must be 1 to 24 lower-case letters"),
        ([], "the file to write must be given"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str],
    message: str,
    finished: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in run_refused(["export", str(finished / "classes"), *options], capsys)
    assert not list(here.glob("x")) + list(here.glob("m.onnx"))
