"""Models in C are timed by loops that predict, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import pytest

from tabnas.data import Table, TableEncoder, fit_target
from tabnas.errors import TabNASError
from tabnas.export.c import _prediction_loop as prediction_loop
from tabnas.export.c import compile_model_loop, compile_network_loop, export_c
from tabnas.export.c._compiler import find_compiler
from tabnas.latency import (
    RUNTIMES,
    Clock,
    LatencyTerms,
    Machine,
    NetworkShape,
    measure_models,
    untrained_model,
)
from tabnas.latency.runtimes._c import MIN_LOOP_NS, _loop_call
from tabnas.latency.runtimes._runtime import make_spec, make_weights_and_rows
from tabnas.model import Model, dequantize, quantize_weights
from tabnas.nets import SGD, Examples, SuperNet
from tabnas.space import Architecture, Precision
from tests.latency.test_clock import Time

C = RUNTIMES["c"]
COMPILER = find_compiler()
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
TABLE = Table.from_data(
    {"size": [1.0, 2.5, np.nan, 4.0, 3.0], "colour": ["red", "blue", "red", "green", "blue"]}
)
TARGETS = {"classes": ["a", "b", "a", "c", "a"], "values": [1.5, 2.25, 0.5, 7.0, -3.0]}
EASY = LatencyTerms(
    call_us=1e9, layer_us=0, unit_us=0, output_us=0, weight_us=0, single_weight_us=0
)


def make_model(kind: str, *widths: int, precision: Precision = Precision.FLOAT32) -> Model:
    encoder = TableEncoder.fit(TABLE)
    target = fit_target("y", Table.from_data({"y": TARGETS[kind]}).column("y"))
    knots = [(-1.0, 0.0, 1.0) for _ in encoder.features]
    dimensions = [2] * len(encoder.n_categories)
    return untrained_model(Architecture(widths, 2), encoder, target, dimensions, knots, precision)


@needs_compiler
@pytest.mark.parametrize("precision", C.precisions, ids=str)
@pytest.mark.parametrize("kind", TARGETS)
def test_the_loop_predicts_one_row_after_the_other(kind: str, precision: Precision) -> None:
    model = make_model(kind, 9, 4, precision=precision)
    loop = compile_model_loop(model, TABLE)
    expected = np.asarray(
        model.predict_proba(TABLE) if kind == "classes" else model.predict(TABLE)[:, None]
    )
    for predictions in (1, 3, 5, 6, 13):
        loop(predictions)
        row = (predictions - 1) % len(TABLE)
        assert loop.outputs == pytest.approx(expected[row], abs=1e-5)


@needs_compiler
@pytest.mark.parametrize("precision", C.precisions, ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        NetworkShape(6, Architecture(()), 1),
        NetworkShape(11, Architecture((9, 16)), 1),
        NetworkShape(7, Architecture((8,), 3), 1, columns=5, knots=20),
    ],
    ids=lambda shape: str(shape.architecture),
)
def test_a_network_without_preprocessing_computes_its_outputs(
    shape: NetworkShape, precision: Precision
) -> None:
    spec = make_spec(shape)
    weights, rows = make_weights_and_rows(shape, spec, 4)
    loop = compile_network_loop(shape.architecture, spec.inputs, weights, precision, rows)
    if precision == Precision.INT8:
        weights = dequantize(quantize_weights(weights))
    net = SuperNet.standalone(shape.architecture, spec, optimizer=SGD(), seed=0)
    net.load_weights(weights)
    expected = net.logits(shape.architecture, Examples(spec, numeric=rows))
    for number in range(4):
        loop(number + 1)
        assert loop.outputs == pytest.approx(expected[number], abs=1e-4)


@needs_compiler
def test_compilers_do_not_leave_out_predictions() -> None:
    loop = compile_model_loop(make_model("classes", 32), TABLE)
    few, many = (min(time_ns(lambda n=n: loop(n)) for _ in range(20)) for n in (500, 10_000))
    assert many > 5 * few


def time_ns(function: Callable[[], None]) -> int:
    began = perf_counter_ns()
    function()
    return perf_counter_ns() - began


@pytest.mark.parametrize(("us", "rows"), [(0.05, 1), (0.05, 256), (30.0, 256), (900.0, 1)])
def test_loops_are_long_enough_to_be_timed(us: float, rows: int) -> None:
    time = Time()

    def loop(predictions: int) -> None:
        time.now_ns += round(1_000 * us * predictions)

    call = _loop_call(loop, rows, time)
    began = time.now_ns
    call.function()
    assert MIN_LOOP_NS <= time.now_ns - began < 2 * MIN_LOOP_NS + 1_000 * us * rows
    assert Clock(timer_ns=time).latencies_us([call]) == [pytest.approx(us * rows)]


@needs_compiler
def test_every_model_gets_a_latency() -> None:
    models = [make_model("classes"), make_model("values", 8, precision=Precision.INT8)]
    quick = Clock(rounds=1, slice_us=1.0)
    single, batch = (
        measure_models(models, TABLE, rows, EASY, runtime=C, clock=quick) for rows in (1, 256)
    )
    assert len(single) == 2
    assert min(single) > 0
    for one, many in zip(single, batch, strict=True):  # generous, since machines are busy
        assert 25 < many / one < 2_500


MAIN_CODE = """
#define _POSIX_C_SOURCE 199309L
#include "model.h"
#include <stdio.h>
#include <time.h>

int main(void)
{
    tabnas_row row = TABNAS_EMPTY_ROW;
    float probabilities[TABNAS_CLASSES], sum = 0.0f;
    double least = 1e9;
    int round, k;
    for (round = 0; round < 200; round++) {
        struct timespec begin, end;
        double us;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (k = 0; k < 200; k++) {
            row.size = k % 7;
            row.colour = k % 4;
            tabnas_predict(&row, probabilities);
            sum += probabilities[0];
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        us = 1e6 * (end.tv_sec - begin.tv_sec) + 1e-3 * (end.tv_nsec - begin.tv_nsec);
        if (us / 200 < least) least = us / 200;
    }
    printf("%f %f", least, sum);
    return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("precision", C.precisions, ids=str)
def test_a_program_of_its_own_takes_about_as_long(precision: Precision, tmp_path: Path) -> None:
    model = make_model("classes", 64, 64, precision=precision)
    export_c(model, tmp_path)
    (tmp_path / "main.c").write_text(MAIN_CODE)
    assert COMPILER is not None
    COMPILER.run(tmp_path, "main.c", "model.c", "-lm", "-o", "main")
    call = C.model_call(model, TABLE, 1)
    ratios = []
    for _ in range(5):  # other work on a machine adds time to one or the other
        done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        least_us = Clock(rounds=4, slice_us=4_000).medians_us([call]).min()
        ratios.append(float(done.stdout.split()[0]) / least_us)
        if 0.6 < ratios[-1] < 1.4:
            return
    pytest.fail(f"the program took {ratios} times as long as measured")


def test_the_error_without_a_compiler_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prediction_loop, "find_compiler", lambda: None)
    with pytest.raises(TabNASError, match=r"requires a C compiler, .*; install gcc or clang"):
        Machine.here(C)


@needs_compiler
def test_the_machine_names_compiler_and_flags() -> None:
    machine = Machine.here(C)
    assert machine.runtime == "c"
    assert machine.version.endswith("-std=c99 -O2")
    assert "exported C code, " in str(machine)
    assert machine.key != replace(machine, version="another").key


def test_weights_of_16_bits_are_refused() -> None:
    with pytest.raises(TabNASError, match="must have float32 or int8 weights"):
        C.model_call(make_model("classes", precision=Precision.FLOAT16), TABLE, 1)
