"""The source file: constants and functions, in one translation unit."""

from __future__ import annotations

from tabnas.data import ClassTarget, NumberTarget
from tabnas.export.c._constants import format_double
from tabnas.export.c._header import predict_signature
from tabnas.export.c._lookups import define_hashes, define_searches
from tabnas.export.c._program import Program
from tabnas.export.c._texts import define_texts

INCLUDE_CODE = """\
#include "model.h"

#include <float.h>
#include <stddef.h>

{id}
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "missing values are NAN: compile without -ffast-math and -ffinite-math-only"
#endif
"""
ID_CODE = """\
#if {macro} != {id}
#error "model.h and this file are of different exports"
#endif
"""
BINARY_CODE = """\
    if (!isfinite(output[0])) {
        probabilities[0] = probabilities[1] = NAN;
        return -1;
    } else {
        /* the logistic function, without overflow */
        const float share = expf(-fabsf(output[0])) / (1.0f + expf(-fabsf(output[0])));
        const int label = output[0] > 0.0f;
        probabilities[label] = 1.0f - share;
        probabilities[1 - label] = share;
        return label;
    }
"""
SOFTMAX_CODE = """\
    {
        float sum = 0.0f;
        int i, label = 0;
        for (i = 0; i < {outputs}; i++) {
            if (!isfinite(output[i])) label = -1;
            if (label >= 0 && output[i] > output[label]) label = i;
        }
        if (label < 0) {
            for (i = 0; i < {outputs}; i++) probabilities[i] = NAN;
            return label;
        }
        for (i = 0; i < {outputs}; i++) {
            probabilities[i] = expf(output[i] - output[label]);
            sum += probabilities[i];
        }
        for (i = 0; i < {outputs}; i++) probabilities[i] /= sum;
        return label;
    }
"""
VALUE_CODE = """\
    {
        const double value = (double)output[0] * {scale} + {center};
        if (!isfinite(output[0])) return NAN;
        return value > DBL_MAX ? DBL_MAX : value < -DBL_MAX ? -DBL_MAX : value;
    }
"""


def render_source(program: Program) -> str:
    """Return the content of model.c."""
    constants = [constant for part in program.parts for constant in part.constants]
    code = "".join(part.code for part in program.parts) + program.network.code
    sections = [
        INCLUDE_CODE.replace("{id}", render_id_check(program)),
        *(constant.render() for constant in [*constants, *program.trained]),
        code.replace("@", f"{program.prefix}_").lstrip("\n"),
        f"{predict_signature(program)}\n{_predict_body(program)}",
        define_hashes(program.lookups),
        _define_texts(program),
    ]
    return "\n".join(section for section in sections if section)


def _predict_body(program: Program) -> str:
    network, target = program.network, program.model.target
    inputs = [f"    x = {part.call};\n" for part in program.parts]
    inputs[-1] = f"    {program.parts[-1].call};\n"
    calls = [f"    {call}\n" for call in network.calls]
    if isinstance(target, NumberTarget):
        code = VALUE_CODE.replace("{scale}", format_double(target.scale))
        code = code.replace("{center}", format_double(target.center))
    else:
        code = BINARY_CODE if program.model.spec.outputs == 1 else SOFTMAX_CODE
        code = code.replace("{outputs}", str(program.model.spec.outputs))
    return (
        f"{{\n    float memory[{network.memory}];\n    float *x = memory;\n"
        f"    const float *output = {network.output};\n"
        f"{''.join(inputs)}{''.join(calls)}{code}}}\n"
    )


def _define_texts(program: Program) -> str:
    """Return what a macro leaves out: the names of classes, and what searches categories."""
    target = program.model.target
    searches = define_searches(program.lookups)
    if isinstance(target, ClassTarget):
        labels = define_texts(f"{program.prefix}_labels", [str(label) for label in target.classes])
        searches = labels + searches
    if not searches:
        return ""
    return f"#ifndef {program.prefix.upper()}_NO_LOOKUP\n{searches}#endif\n"


def render_id_check(program: Program) -> str:
    """Return lines that do not compile with the header of another export."""
    macro = f"{program.prefix.upper()}_MODEL_ID"
    return ID_CODE.replace("{macro}", macro).replace("{id}", program.model_id)
