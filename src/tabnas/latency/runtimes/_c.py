"""Models as they are deployed in C: the exported files, compiled on this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter_ns

from tabnas.data import Table
from tabnas.latency._clock import Call
from tabnas.latency._terms import NetworkShape
from tabnas.latency.runtimes._runtime import (
    Runtime,
    SurveySize,
    make_spec,
    make_weights_and_rows,
    take_rows,
)
from tabnas.model import Model
from tabnas.space import Precision

ROWS = 256
"""Different rows that predictions take turns with, so that no branch is always the same."""
MIN_LOOP_NS = 400_000
"""The shortest time of a loop; the call of the loop from Python takes less than 1 % of it."""


class CRuntime(Runtime):
    """The exported C code, compiled as `tabnas export --c` compiles it.

    A prediction is the call of the exported function from C, for one row in a struct. It is
    repeated in a loop, in which each prediction waits for the one before; the time of the loop is
    divided by the number of predictions.
    """

    name = "c"
    precisions = (Precision.FLOAT32, Precision.INT8)
    survey = SurveySize(fitted=32, held_out=20, tables=8, embedded=16, max_width=256)
    has_single_units = True
    loops_over_rows = True
    build_threads = 4  # compilers are processes of their own

    def version(self) -> str:
        from tabnas.export.c import describe_compiler  # loads ONNX, which few runs need

        return describe_compiler()

    def describe(self, version: str) -> str:
        return f"exported C code, {version}"

    def resolution(self, rows: int) -> float:
        return 2.0**-10 if rows == 1 else super().resolution(rows)

    def model_call(self, model: Model, table: Table, rows: int) -> Call:
        from tabnas.export.c import compile_model_loop

        return _loop_call(compile_model_loop(model, take_rows(table, ROWS)), rows)

    def network_call(
        self, shape: NetworkShape, rows: int, precision: Precision = Precision.FLOAT32
    ) -> Call:
        from tabnas.export.c import compile_network_loop

        spec = make_spec(shape)
        weights, numbers = make_weights_and_rows(shape, spec, ROWS)
        loop = compile_network_loop(shape.architecture, spec.inputs, weights, precision, numbers)
        return _loop_call(loop, rows)


def _loop_call(
    loop: Callable[[int], None], rows: int, timer_ns: Callable[[], int] = perf_counter_ns
) -> Call:
    """Return calls of this many rows: enough of them for the loop to be timed."""
    count = 1
    while True:
        began = timer_ns()
        loop(count * rows)
        spent_ns = timer_ns() - began
        if spent_ns >= MIN_LOOP_NS:
            return Call(partial(loop, count * rows), count)
        count = max(2 * count, int(count * MIN_LOOP_NS / max(1, spent_ns)))
