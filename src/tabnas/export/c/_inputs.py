"""The inputs of the network in C: how columns are encoded and embedded.

The formulas are those of `tabnas.data.columns` in float64, so that encoded values have the same
bits. Each kind of column is a table and a loop over it: the code of a thousand columns is no longer
than that of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pyarrow as pa

from tabnas.data.columns import (
    CYCLES,
    DAY,
    FAR,
    MAX_SCALED_TIME,
    SMOOTH_LIMIT,
    BooleanColumn,
    DatetimeColumn,
    NumericColumn,
)
from tabnas.export.c._constants import (
    Constant,
    ConstantArray,
    ConstantTable,
    format_double,
    format_float,
    to_constant,
    unsigned_type,
)
from tabnas.export.c._row import Field
from tabnas.model import Int8Array, Weight
from tabnas.nets import NUMERIC_EMBEDDING, Inputs

SCALINGS = ("none", "standard", "robust")  # numbered in this order in C
MEMBER = "const {ctype} value = *(const {ctype} *)(const void *)((const char *)row + {field});"


@dataclass(frozen=True)
class InputPart:
    """Constants and a function that compute some inputs of the network."""

    constants: tuple[Constant, ...]
    trained: tuple[Constant, ...]  # that the cost `bytes` counts
    code: str
    call: str
    inputs: tuple[int, ...]  # the numbers of the inputs in the model, in the order of C


def make_input_parts(
    fields: Sequence[Field],
    inputs: Inputs,
    weights: Mapping[str, Weight],
    row: str,
) -> list[InputPart]:
    """Return all parts, in the order in which C computes them; `row` is the name of the struct.

    The order of inputs differs from that of the model: kinds lie together, and so do the numbers
    that a numeric column is embedded as.
    """
    starts = accumulate((len(field.column.features) for field in fields), initial=0)
    numbered = list(zip(fields, starts, strict=False))
    parts = [_number_part(numbered, row), _boolean_part(numbered, row), _date_part(numbered, row)]
    parts.append(_category_part(fields, inputs, weights, row))
    encoded = [number for part in parts if part for number in part.inputs]
    parts.append(make_numeric_embedding_part(inputs, weights, encoded))
    return [part for part in parts if part is not None]


def _offset(field: Field, row: str) -> str:
    return f"offsetof({row}, {field.name})"


def _offset_type(fields: int) -> str:
    return unsigned_type(8 * fields)  # no member is larger than a double


# -- numbers -------------------------------------------------------------------------------------

NUMBER_CODE = f"""
static float *encode_numbers(const @row *row, float *x)
{{
    size_t c;
    for (c = 0; c < sizeof numbers / sizeof numbers[0]; c++) {{
        {MEMBER.format(ctype="double", field="numbers[c].field")}
        double scaled = value;
        if (numbers[c].scaling == 0) {{
            if (scaled > (double)FLT_MAX) scaled = (double)FLT_MAX;
            if (scaled < -(double)FLT_MAX) scaled = -(double)FLT_MAX;
        }} else {{
            /* halves, since the difference of two large numbers may overflow */
            scaled = (value / 2 - numbers[c].half_center) / numbers[c].scale * 2;
            if (scaled > {FAR!r}) scaled = {FAR!r};
            if (scaled < -{FAR!r}) scaled = -{FAR!r};
            if (numbers[c].scaling == 2) {{
                const double share = scaled / {SMOOTH_LIMIT!r};
                scaled /= sqrt(1 + share * share);
            }}
        }}
        *x++ = isnan(value) ? numbers[c].missing : (float)scaled;
        if (numbers[c].marks_missing) *x++ = isnan(value) ? 1.0f : 0.0f;
    }}
    return x;
}}
"""


def _number_part(numbered: Sequence[tuple[Field, int]], row: str) -> InputPart | None:
    rows: list[tuple[str, ...]] = []
    inputs: list[int] = []
    for field, start in numbered:
        column = field.column
        if not isinstance(column, NumericColumn):
            continue
        # the value that missing ones are encoded as is a constant
        encoded = np.empty((1, len(column.features)), np.float32)
        column.encode(pa.chunked_array([[None]], pa.float64()), encoded, np.empty(0, np.int32))
        rows.append(
            (
                format_double(column.center / 2),
                format_double(column.scale),
                format_float(float(encoded[0, 0])),
                _offset(field, row),
                str(SCALINGS.index(column.scaling)),
                str(int(column.marks_missing)),
            )
        )
        inputs += range(start, start + len(column.features))
    if not rows:
        return None
    members = {"half_center": "double", "scale": "double", "missing": "float"}
    members |= {"field": _offset_type(len(numbered)), "scaling": "uint8_t"}
    table = ConstantTable("numbers", members | {"marks_missing": "uint8_t"}, rows)
    return InputPart((table,), (), NUMBER_CODE, "encode_numbers(row, x)", tuple(inputs))


# -- booleans ------------------------------------------------------------------------------------

BOOLEAN_CODE = f"""
static float *encode_booleans(const @row *row, float *x)
{{
    size_t c;
    for (c = 0; c < sizeof booleans / sizeof booleans[0]; c++) {{
        {MEMBER.format(ctype="int8_t", field="booleans[c]")}
        *x++ = value < 0 ? 0.0f : value > 0 ? 1.0f : -1.0f;
    }}
    return x;
}}
"""


def _boolean_part(numbered: Sequence[tuple[Field, int]], row: str) -> InputPart | None:
    columns = [(f, start) for f, start in numbered if isinstance(f.column, BooleanColumn)]
    if not columns:
        return None
    offsets = [_offset(field, row) for field, _ in columns]
    array = ConstantArray("booleans", _offset_type(len(numbered)), offsets)
    inputs = tuple(start for _, start in columns)
    return InputPart((array,), (), BOOLEAN_CODE, "encode_booleans(row, x)", inputs)


# -- dates ---------------------------------------------------------------------------------------

_LENGTHS, _STARTS = (", ".join(map(repr, values)) for values in zip(*CYCLES.values(), strict=True))
_CYCLES = ", ".join(CYCLES)
DATE_CODE = f"""
static float *encode_dates(const @row *row, float *x)
{{
    static const double lengths[{len(CYCLES)}] = {{{_LENGTHS}}}; /* in days: {_CYCLES} */
    static const double starts[{len(CYCLES)}] = {{{_STARTS}}};
    size_t c;
    for (c = 0; c < sizeof dates / sizeof dates[0]; c++) {{
        {MEMBER.format(ctype="double", field="dates[c].field")}
        const int missing = !isfinite(value);
        const double days = missing ? 0.0 : trunc(value) / {DAY!r};
        double scaled = (days - dates[c].center) / dates[c].scale;
        int k;
        if (scaled > {MAX_SCALED_TIME!r}) scaled = {MAX_SCALED_TIME!r};
        if (scaled < -{MAX_SCALED_TIME!r}) scaled = -{MAX_SCALED_TIME!r};
        *x++ = missing ? 0.0f : (float)scaled;
        for (k = 0; k < {len(CYCLES)}; k++) {{
            double angle;
            if (!(dates[c].cycles >> k & 1)) continue;
            /* sine and cosine do not depend on the sign of the remainder */
            angle = {2 * np.pi!r} * fmod(days - starts[k], lengths[k]) / lengths[k];
            *x++ = missing ? 0.0f : (float)sin(angle);
            *x++ = missing ? 0.0f : (float)cos(angle);
        }}
        if (dates[c].marks_missing) *x++ = missing ? 1.0f : 0.0f;
    }}
    return x;
}}
"""


def _date_part(numbered: Sequence[tuple[Field, int]], row: str) -> InputPart | None:
    rows: list[tuple[str, ...]] = []
    inputs: list[int] = []
    for field, start in numbered:
        column = field.column
        if not isinstance(column, DatetimeColumn):
            continue
        present = [(k, cycle) for k, cycle in enumerate(CYCLES) if cycle in column.cycles]
        rows.append(
            (
                format_double(column.center),
                format_double(column.scale),
                _offset(field, row),
                str(sum(1 << k for k, _ in present)),
                str(int(column.marks_missing)),
            )
        )
        inputs.append(start)
        for _, cycle in present:
            sine = start + 1 + 2 * column.cycles.index(cycle)
            inputs += [sine, sine + 1]
        if column.marks_missing:
            inputs.append(start + len(column.features) - 1)
    if not rows:
        return None
    members = {"center": "double", "scale": "double", "field": _offset_type(len(numbered))}
    members |= {"cycles": "uint8_t", "marks_missing": "uint8_t"}
    table = ConstantTable("dates", members, rows)
    return InputPart((table,), (), DATE_CODE, "encode_dates(row, x)", tuple(inputs))


# -- embeddings of categories --------------------------------------------------------------------

CATEGORY_CODE = f"""
static float *embed_categories(const @row *row, float *x)
{{
    size_t c, d;
    for (c = 0; c < sizeof categories / sizeof categories[0]; c++) {{
        {MEMBER.format(ctype="int32_t", field="categories[c].field")}
        const int known = value >= 0 && (uint32_t)value < categories[c].count;
        const {{ctype}} *vector = embeddings + categories[c].start
            + (known ? (size_t)value : 0) * categories[c].dimension;
        for (d = 0; d < categories[c].dimension; d++) *x++ = vector[d]{{scale}};
    }}
    return x;
}}
"""


def _category_part(
    fields: Sequence[Field], inputs: Inputs, weights: Mapping[str, Weight], row: str
) -> InputPart | None:
    columns = [field for field in fields if field.column.n_categories]
    if not columns:
        return None
    stored = [weights[f"embedding.{number}"] for number in range(len(columns))]
    tables = [table.values if isinstance(table, Int8Array) else table for table in stored]
    starts = accumulate((table.size for table in tables), initial=0)
    rows = [
        (str(start), str(len(table)), _offset(field, row), str(table.shape[1]))
        for field, table, start in zip(columns, tables, starts, strict=False)
    ]
    members = {"start": "uint32_t", "count": "uint32_t", "field": _offset_type(len(fields))}
    members["dimension"] = unsigned_type(max(table.shape[1] for table in tables))
    embeddings = to_constant("embeddings", np.concatenate([table.ravel() for table in tables]))
    trained: list[Constant] = [embeddings]
    scale = ""
    if isinstance(stored[0], Int8Array):  # all share a scale
        trained.append(to_constant("embedding_scale", stored[0].scale.reshape(1)))
        scale = " * embedding_scale[0]"
    return InputPart(
        (ConstantTable("categories", members, rows),),
        tuple(trained),
        CATEGORY_CODE.replace("{ctype}", embeddings.ctype).replace("{scale}", scale),
        "embed_categories(row, x)",
        tuple(range(inputs.numeric, inputs.width)),
    )


# -- embeddings of numbers -----------------------------------------------------------------------

NUMERIC_EMBEDDING_CODE = """
static float *embed_numbers(const float *encoded, float *x)
{
    size_t c, d;
    for (c = 0; c < sizeof embedded / sizeof embedded[0]; c++) {
        const float *knot = knots + embedded[c].start;
        const {ctype} *vector = numeric_embeddings + embedded[c].start * (size_t){dimension};
        const float value = encoded[embedded[c].input];
        size_t gaps = embedded[c].gaps;
        {real} fraction;
        while (gaps > 1) { /* bisection: the last knot that is not above the value */
            const size_t half = gaps / 2;
            const size_t step = value >= knot[half] ? half : 0;
            knot += step;
            vector += step * {dimension};
            gaps -= half;
        }
        fraction = (({real})value - ({real})knot[0]) / (({real})knot[1] - ({real})knot[0]);
        if (!(fraction > 0)) fraction = 0;
        if (fraction > 1) fraction = 1;
        for (d = 0; d < {dimension}; d++) {
            const float first = vector[d]{scale}, second = vector[d + {dimension}]{scale};
            *x++ = first + (float)fraction * (second - first);
        }
    }
    return x;
}
"""


def make_numeric_embedding_part(
    inputs: Inputs, weights: Mapping[str, Weight], encoded: Sequence[int]
) -> InputPart | None:
    """Return the part that embeds numbers, in the order `encoded`; None without embeddings."""
    if NUMERIC_EMBEDDING not in weights:
        return None
    stored = weights[NUMERIC_EMBEDDING]
    table = stored.values if isinstance(stored, Int8Array) else stored  # [dimension, knots]
    dimension = len(table)
    columns = [inputs.knots[column] for column in inputs.embedded_numeric]
    positions = {number: position for position, number in enumerate(encoded)}
    starts = accumulate(map(len, columns), initial=0)
    rows = [
        (str(start), str(len(knots) - 1), str(positions[column]))
        for column, knots, start in zip(inputs.embedded_numeric, columns, starts, strict=False)
    ]
    knots = np.concatenate([np.array(values, np.float32) for values in columns])
    size = unsigned_type(max(len(knots), len(encoded)))
    members = dict.fromkeys(("start", "gaps", "input"), size)
    with np.errstate(over="ignore"):
        overflows = any(np.isinf(np.diff(np.array(v, np.float32))).any() for v in columns)
    embeddings = to_constant("numeric_embeddings", np.ascontiguousarray(table.T))
    trained: list[Constant] = [embeddings, to_constant("knots", knots)]
    code = NUMERIC_EMBEDDING_CODE.replace("{dimension}", str(dimension))
    code = code.replace("{ctype}", embeddings.ctype)
    if isinstance(stored, Int8Array):
        trained.append(to_constant("dimension_scale", stored.scale))
        code = code.replace("{scale}", " * dimension_scale[d]")
    return InputPart(
        (ConstantTable("embedded", members, rows),),
        tuple(trained),
        code.replace("{scale}", "").replace("{real}", "double" if overflows else "float"),
        "embed_numbers(memory, x)",
        tuple(
            inputs.width + unit * len(columns) + column
            for column in range(len(columns))
            for unit in range(dimension)
        ),
    )
