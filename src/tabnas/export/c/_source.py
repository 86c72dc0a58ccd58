"""The source file: constants and functions, in one translation unit."""

from __future__ import annotations

from tabnas.data import ClassTarget, NumberTarget
from tabnas.export.c._constants import format_double
from tabnas.export.c._header import predict_signature
from tabnas.export.c._lookups import define_lookups
from tabnas.export.c._names import to_literal
from tabnas.export.c._program import Program

INCLUDE_CODE = """\
#include "model.h"

#include <float.h>
#include <stddef.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "missing values are NAN: compile without -ffast-math and -ffinite-math-only"
#endif
"""
BINARY_CODE = """\
    {
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
        for (i = 1; i < {outputs}; i++) if (output[i] > output[label]) label = i;
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
        return value > DBL_MAX ? DBL_MAX : value < -DBL_MAX ? -DBL_MAX : value;
    }
"""


def render_source(program: Program) -> str:
    """Return the content of model.c."""
    constants = [constant for part in program.parts for constant in part.constants]
    code = "".join(part.code for part in program.parts) + program.network.code
    sections = [
        INCLUDE_CODE,
        *(constant.render() for constant in [*constants, *program.trained]),
        code.replace("@", f"{program.prefix}_").lstrip("\n"),
        f"{predict_signature(program)}\n{_predict_body(program)}",
        _define_lookups(program),
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


def _define_lookups(program: Program) -> str:
    """Return the texts, and what searches them."""
    parts = []
    target = program.model.target
    if isinstance(target, ClassTarget):
        labels = ",\n".join(f"    {to_literal(str(label))}" for label in target.classes)
        name = f"{program.prefix}_labels[{len(target.classes)}]"
        parts.append(f"const char *const {name} = {{\n{labels}\n}};\n")
    if program.lookups:
        parts.append(define_lookups(program.lookups))
    if not parts:
        return ""
    return f"#ifndef {program.prefix.upper()}_NO_LOOKUP\n{''.join(parts)}#endif\n"
