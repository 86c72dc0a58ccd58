"""The time of one row and the size of the code: generated C, ONNX Runtime, emlearn's C.

    python benchmarks/c_export.py --out results --emlearn PYTHON

`PYTHON` is an interpreter that has emlearn and scikit-learn; without it, that comparison is left
out. Networks have random weights, since time does not depend on them. All of them run on one
thread, and every time is the shortest of several repetitions: a machine may have other work.
"""

from __future__ import annotations

import ctypes
import subprocess
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from _shared import write_results

from tabnas.data import ClassTarget, Table, TableEncoder, choose_knots, summarize_values
from tabnas.export import OnnxSession, export_c, export_onnx, onnx_inputs
from tabnas.export.c._compiler import find_compiler
from tabnas.export.c._row import make_fields, make_rows
from tabnas.model import Model, make_network_spec, round_network
from tabnas.nets import SGD, SuperNet
from tabnas.paper import collect_provenance
from tabnas.space import Architecture, Precision

ROWS = 1_000
REPEATS = 30
WIDTHS = (64, 48)
TIMER_CODE = """
#include <time.h>
double seconds_per_row(const void *rows, int count, int rounds);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
double seconds_per_row(const void *data, int count, int rounds)
{
    volatile float sink = 0.0f;
    double best = 1e9;
    int i, r;
    for (r = 0; r < rounds; r++) {
        const double start = now();
        double seconds;
        for (i = 0; i < count; i++) { {call} }
        seconds = (now() - start) / count;
        if (seconds < best) best = seconds;
    }
    (void)sink;
    return best;
}
"""
TABNAS_CALL = (
    "float p[TABNAS_CLASSES]; tabnas_predict((const tabnas_row *)data + i, p); sink += p[0];"
)
EMLEARN_CALL = "sink += (float)mlp_predict((const float *)data + {inputs} * i, {inputs});"
EMLEARN_SOURCE = """
#include "mlp.h"
int predict(const float *row);
int predict(const float *row) { return mlp_predict(row, {inputs}); }
"""
EMLEARN_SCRIPT = """
import sys, warnings
import emlearn, numpy as np
from sklearn.neural_network import MLPClassifier
warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(size=(500, {inputs}))
model = MLPClassifier({widths}, max_iter=5, random_state=0).fit(x, x[:, 0] > 0)
emlearn.convert(model, method="inline", dtype="float").save(file=sys.argv[1], name="mlp")
print(emlearn.__version__, emlearn.includedir)
"""


def make_table(numeric: int, categorical: int) -> Table:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=ROWS) for i in range(numeric)}
    letters = np.array(list("abcdefgh"))
    columns |= {f"c{i}": rng.choice(letters, ROWS).tolist() for i in range(categorical)}
    return Table(pa.table(columns))


def make_model(
    table: Table, widths: tuple[int, ...], dimension: int, precision: Precision
) -> Model:
    """Return a model with random weights."""
    encoder = TableEncoder.fit(table)
    target = ClassTarget(name="y", classes=("no", "yes"))
    summaries = summarize_values(encoder.encode(table).numeric)
    knots = tuple(choose_knots(s, 16) for s in summaries) if dimension else ()
    dimensions = [4] * len(encoder.n_categories)
    spec = make_network_spec(encoder, target, dimensions, knots)
    architecture = Architecture(widths, dimension)
    weights = SuperNet.standalone(architecture, spec, optimizer=SGD()).weights()
    rounded = round_network(weights, precision)
    return Model(
        encoder=encoder,
        target=target,
        architecture=architecture,
        category_dimensions=tuple(dimensions),
        knots=knots,
        weights=rounded,
        precision=precision,
    )


def time_c(
    folder: Path, include: str, call: str, data: np.ndarray, sources: list[str], *flags: str
) -> float:
    """Return the microseconds of a call in a loop in C."""
    (folder / "timer.c").write_text(include + TIMER_CODE.replace("{call}", call))
    compiler = find_compiler()
    assert compiler is not None, "the benchmark needs a C compiler"
    # a library of the same name would not be loaded again
    library_name = f"timer{flags[-1]}.so"
    compiler.run(
        folder, "-std=gnu99", *flags, "-fPIC", "-shared", "timer.c", *sources, "-lm",
        "-o", library_name,
    )  # fmt: skip
    library = ctypes.CDLL(str(folder / library_name))
    library.seconds_per_row.restype = ctypes.c_double
    rows = np.ascontiguousarray(data)
    address = rows.ctypes.data_as(ctypes.c_void_p)
    return 1e6 * float(library.seconds_per_row(address, len(rows), REPEATS))


def time_calls(call: Callable[[], object]) -> float:
    """Return the microseconds of a call of Python."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(ROWS):
            call()
        best = min(best, (time.perf_counter() - start) / ROWS)
    return 1e6 * best


def time_ctypes(folder: Path, rows: np.ndarray) -> float:
    """Return the microseconds of a call from Python; the library is that of the loop."""
    library = ctypes.CDLL(str(folder / "timer-O2.so"))
    predict = library.tabnas_predict
    predict.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    row, out = rows.ctypes.data, np.empty(2, np.float32)
    address = out.ctypes.data
    return time_calls(lambda: predict(row, address))


def time_onnxruntime(model: Model, table: Table, folder: Path, *, weights_only: bool) -> float:
    """Return the microseconds of a call with one row, inputs made beforehand."""
    file = folder / "model.onnx"
    export_onnx(model, file, weights_only=weights_only)
    session = OnnxSession(file.read_bytes(), "onnxruntime")
    first = table.take(np.arange(1))
    if weights_only:
        encoded = model.encoder.encode(first)
        arrays: dict[str, np.ndarray] = {
            "numeric": encoded.numeric,
            "codes": encoded.categorical.astype(np.int64),
        }
        inputs = {name: array for name, array in arrays.items() if array.shape[1]}
    else:
        inputs = onnx_inputs(model, first)
    run = session._session.run
    return time_calls(lambda: run(None, inputs))


def measure_object(folder: Path, source: str, *flags: str) -> int:
    """Return the bytes of machine code and constants of a compiled file."""
    compiler = find_compiler()
    assert compiler is not None
    compiler.run(folder, "-std=gnu99", *flags, "-c", source, "-o", "measured.o")
    shown = subprocess.run(
        ["size", "measured.o"], cwd=folder, capture_output=True, text=True, check=True
    )
    text, data = shown.stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)


def measure_network(
    name: str, numeric: int, categorical: int, dimension: int, precision: Precision
) -> dict[str, Any]:
    table = make_table(numeric, categorical)
    model = make_model(table, WIDTHS, dimension, precision)
    with TemporaryDirectory() as work:
        folder = Path(work)
        exported = export_c(model, folder, check=table)
        assert exported.parity is not None
        rows = make_rows(model.encoder, make_fields(model.encoder), table)
        loops = {
            flag: time_c(folder, '#include "model.h"\n', TABNAS_CALL, rows, ["model.c"], flag)
            for flag in ("-Os", "-O3", "-O2")
        }
        return {
            "name": name,
            "precision": str(precision),
            "network": str(model.architecture),
            "parameters": exported.parameters,
            "weight_bytes": exported.size.weight_bytes,
            "compiled_bytes": exported.size.compiled_bytes,
            "small_bytes": measure_object(folder, "model.c", "-DTABNAS_NO_LOOKUP", "-Os"),
            "ram_bytes": exported.size.ram_bytes,
            "loop_us": loops,
            "ctypes_us": time_ctypes(folder, rows),
            "onnxruntime_us": time_onnxruntime(model, table, folder, weights_only=False),
            "onnxruntime_network_us": time_onnxruntime(model, table, folder, weights_only=True),
        }


def measure_emlearn(python: Path, inputs: int) -> dict[str, Any]:
    """Time emlearn's C for a perceptron of the same widths."""
    script = EMLEARN_SCRIPT.replace("{inputs}", str(inputs)).replace("{widths}", str(WIDTHS))
    with TemporaryDirectory() as work:
        folder = Path(work)
        done = subprocess.run(
            [python, "-c", script, "mlp.h"], cwd=folder, capture_output=True, text=True, check=True
        )
        version, include = done.stdout.split()[-2:]
        data = np.random.default_rng(0).normal(size=(ROWS, inputs)).astype(np.float32)
        call = EMLEARN_CALL.replace("{inputs}", str(inputs))
        flags = [f"-I{include}", "-w"]
        loops = {
            flag: time_c(folder, '#include "mlp.h"\n', call, data, [], *flags, flag)
            for flag in ("-Os", "-O3", "-O2")
        }
        (folder / "mlp.c").write_text(EMLEARN_SOURCE.replace("{inputs}", str(inputs)))
        small_bytes = measure_object(folder, "mlp.c", *flags, "-Os")
    return {
        "version": version,
        "inputs": inputs,
        "widths": list(WIDTHS),
        "loop_us": loops,
        "small_bytes": small_bytes,
    }


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--emlearn", type=Path, help="an interpreter that has emlearn")
    options = parser.parse_args()
    compiler = find_compiler()
    assert compiler is not None, "the benchmark needs a C compiler"
    networks = [
        measure_network(name, *shape, precision=precision)
        for precision in (Precision.FLOAT32, Precision.INT8)
        for name, *shape in (
            ("20 numbers", 20, 0, 0),
            ("8 numbers, embedded, and 4 categories", 8, 4, 2),
        )
    ]
    results: dict[str, Any] = {
        "provenance": collect_provenance(
            "python benchmarks/c_export.py --out results --emlearn PYTHON"
        ),
        "compiler": compiler.version,
        "networks": networks,
        "emlearn": None if options.emlearn is None else measure_emlearn(options.emlearn, 20),
    }
    write_results(options.out, "c_export", results, report(results))


def report(results: dict[str, Any]) -> str:
    made = results["provenance"]
    lines = [
        "# Generated C",
        "",
        f"`{made['command']}`, {made['date']}, {made['machine']['processor']}, one thread, "
        f"{results['compiler']}. Microseconds for one row, preprocessing included; the shortest of "
        f"{REPEATS} repetitions of {ROWS:,} rows. Networks of {' and '.join(map(str, WIDTHS))} "
        "units with random weights.",
        "",
        "| table | weights | parameters | compiled, -O2 | -Os | RAM | C, -O2 | -O3 | -Os | "
        "C from Python | ONNX Runtime | without preprocessing | C is faster |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {n['name']} | {n['precision']} | {n['parameters']:,} | {n['compiled_bytes']:,} bytes | "
        f"{n['small_bytes']:,} | "
        f"{n['ram_bytes']:,} bytes | **{n['loop_us']['-O2']:.2f}** | {n['loop_us']['-O3']:.2f} | "
        f"{n['loop_us']['-Os']:.2f} | {n['ctypes_us']:.2f} | {n['onnxruntime_us']:.1f} | "
        f"{n['onnxruntime_network_us']:.1f} | "
        f"**{n['onnxruntime_us'] / n['loop_us']['-O2']:.0f} times** |"
        for n in results["networks"]
    ]
    lines += [
        "",
        "C is called in a loop in C, and from Python by ctypes; ONNX Runtime from Python.",
    ]
    other = results["emlearn"]
    if other is not None:
        ours = results["networks"][0]["loop_us"]
        times = "; ".join(
            f"{other['loop_us'][flag]:.2f} with {flag}, {other['loop_us'][flag] / ours[flag]:.1f} "
            "times as long"
            for flag in ("-O2", "-O3", "-Os")
        )
        lines += [
            "",
            f"emlearn {other['version']} for a perceptron of the same widths and {other['inputs']} "
            f"inputs, without preprocessing and layer normalization: {times}. Compiled with -Os it "
            f"takes {other['small_bytes']:,} bytes, {results['networks'][0]['small_bytes']:,} are "
            "ours with preprocessing and probabilities.",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
