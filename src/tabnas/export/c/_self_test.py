"""A test for devices: some rows, and what the model predicts for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tabnas.data import NumberTarget, Table
from tabnas.export._parity import choose_rows, compute_tolerance, make_predictable_probes
from tabnas.export.c._constants import format_double, format_float
from tabnas.export.c._enumerators import MISSING, OTHER, name_enumerators
from tabnas.export.c._program import Program
from tabnas.export.c._row import Field, make_rows
from tabnas.export.c._source import render_id_check

MAX_ROWS = 8
TOLERANCE_FACTOR = 10
"""Processors and libraries of `math.h` differ more from each other than the check allows."""
SELF_TEST_CODE = """\
/* Generated rows, and what the model predicts for them. To test a device, compile this
 * file, too, and call @self_test once: it returns the number of rows that differ.
 */

#include "model.h"

{id}
static const @row rows[{count}] = {
{rows}
};
static const {ctype} expected[{count}]{dimensions} = {
{expected}
};
static const {ctype} tolerances[{count}] = {{tolerances}};

int @self_test(void)
{
    int i, failures = 0;
    for (i = 0; i < {count}; i++) {
{compare}
    }
    return failures;
}
"""
COMPARE_PROBABILITIES_CODE = """\
        float probabilities[{upper}_CLASSES];
        int c, differs = @predict(&rows[i], probabilities) < 0;
        for (c = 0; c < {upper}_CLASSES; c++)
            if (!(fabsf(probabilities[c] - expected[i][c]) <= tolerances[i])) differs = 1;
        failures += differs;"""
COMPARE_VALUES_CODE = """\
        if (!(fabs(@predict(&rows[i]) - expected[i]) <= tolerances[i])) failures++;"""


def render_self_test(program: Program) -> str:
    """Return the content of model_test.c.

    Its rows are generated: those of a table may be private, and firmware is passed on.
    """
    model = program.model
    probes = make_predictable_probes(model)
    sample = probes.take(choose_rows(len(probes), MAX_ROWS))
    expected = model.predict_encoded(model.encoder.encode(sample))
    tolerances = TOLERANCE_FACTOR * compute_tolerance(model, sample, expected)
    target, upper = model.target, program.prefix.upper()
    if isinstance(target, NumberTarget):
        lines = [format_double(value) for value in expected]
        listed = [format_double(value * target.scale) for value in tolerances]
        words = {"ctype": "double", "dimensions": "", "compare": COMPARE_VALUES_CODE}
    else:
        probabilities = expected.astype(np.float32).tolist()
        lines = [f"{{{', '.join(map(format_float, row))}}}" for row in probabilities]
        listed = [format_float(float(value)) for value in tolerances.astype(np.float32)]
        words = {"ctype": "float", "dimensions": f"[{upper}_CLASSES]"}
        words["compare"] = COMPARE_PROBABILITIES_CODE.replace("{upper}", upper)
    words |= {
        "id": render_id_check(program),
        "count": str(len(sample)),
        "rows": ",\n".join(f"    {{{row}}}" for row in _list_rows(program, sample)),
        "expected": ",\n".join(f"    {line}" for line in lines),
        "tolerances": ", ".join(listed),
    }
    code = SELF_TEST_CODE
    for word, text in words.items():
        code = code.replace(f"{{{word}}}", text)
    return code.replace("@", f"{program.prefix}_")


def _list_rows(program: Program, table: Table) -> list[str]:
    """Return the values of each row in the order of the struct; categories are enumerators."""
    names = name_enumerators(program.model.classes, program.fields, program.prefix).categories
    rows = make_rows(program.model.encoder, program.fields, table)
    columns = [
        [_format(value, field, names, program.prefix) for value in rows[field.name].tolist()]
        for field in program.fields
    ]
    return [", ".join(row) for row in zip(*columns, strict=True)]


def _format(value: Any, field: Field, names: Mapping[str, Sequence[str]], prefix: str) -> str:
    if field.ctype == "double":
        return "NAN" if np.isnan(value) else format_double(value)
    if field.name not in names:
        return str(value)
    stem = f"{prefix}_{field.name}".upper()
    if value == 0:
        return f"{stem}_{OTHER}"
    return names[field.name][value - 1] if value <= len(names[field.name]) else f"{stem}_{MISSING}"
