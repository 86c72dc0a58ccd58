"""The network in C: dense layers, layer normalization and ReLU in one small memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.export.c._constants import Constant, to_constant
from tabnas.model import Int8Array, Weight
from tabnas.nets import NORM_EPSILON
from tabnas.space import Architecture

BLOCK = 8
"""Units that are summed side by side, so that their sums stay in (vector) registers."""


STEP = 4
"""Inputs that are added at once: their sum is added to that of earlier inputs in one step."""


def _repeat(text: str, per_line: int, indent: int) -> str:
    """Return a statement for each unit of a block."""
    statements = [text.replace("#", str(unit)) for unit in range(BLOCK)]
    lines = [" ".join(statements[i : i + per_line]) for i in range(0, BLOCK, per_line)]
    return ("\n" + " " * indent).join(lines)


_PAIRS = " + ".join(
    f"(a{i} * w[{i * BLOCK} + #] + a{i + 1} * w[{(i + 1) * BLOCK} + #])" for i in range(0, STEP, 2)
)
FLOAT_DENSE = {
    "declared": "const float *w",
    "start": "bias[#]",
    "end": "sum#",
    "next": "bias += {block}, out += {block}",
    "last_start": "*bias++",
    "last_end": "sum",
}
INT8_DENSE = {
    "declared": "const int8_t *w, const float *scale",
    "start": "0.0f",
    "end": "sum# * scale[#] + bias[#]",
    "next": "scale += {block}, bias += {block}, out += {block}",
    "last_start": "0.0f",
    "last_end": "sum * *scale++ + *bias++",
}


def _make_dense_code(words: Mapping[str, str]) -> str:
    """Return the function that computes a layer, for one type of weights."""
    return f"""
/* Weights lie in blocks of {BLOCK} units, which fit vectors, by input; then unit by unit. */
static void dense({words["declared"]}, const float *bias, const float *x, int inputs, int units,
                  float *out)
{{
    int i;
    for (; units >= {BLOCK}; units -= {BLOCK}, {words["next"].format(block=BLOCK)}) {{
        {_repeat(f"float sum# = {words['start']};", 4, 8)}
        for (i = 0; i + {STEP} <= inputs; i += {STEP}, w += {STEP * BLOCK}) {{
            const float {", ".join(f"a{k} = x[i + {k}]" for k in range(STEP))};
            {_repeat(f"sum# += {_PAIRS};", 1, 12)}
        }}
        for (; i < inputs; i++, w += {BLOCK}) {{
            const float a0 = x[i];
            {_repeat("sum# += a0 * w[#];", 4, 12)}
        }}
        {_repeat(f"out[#] = {words['end']};", 4, 8)}
    }}
    for (; units > 0; units--) {{
        float sum = {words["last_start"]};
        for (i = 0; i + {STEP} <= inputs; i += {STEP}, w += {STEP})
            sum += (x[i] * w[0] + x[i + 1] * w[1]) + (x[i + 2] * w[2] + x[i + 3] * w[3]);
        for (; i < inputs; i++) sum += x[i] * *w++;
        *out++ = {words["last_end"]};
    }}
}}
"""


CENTER_CODE = """
/* Subtract the mean of the units. */
static void center(float *x, int units)
{
    float sum = 0.0f;
    int i;
    for (i = 0; i < units; i++) sum += x[i];
    sum /= (float)units;
    for (i = 0; i < units; i++) x[i] -= sum;
}
"""
"""Only for int8: the mean is subtracted from other weights beforehand."""
NORMALIZE_CODE = f"""
/* Layer normalization and ReLU of units whose mean is 0. */
static void normalize(float *x, const float *scale, const float *shift, int units)
{{
    float sum = 0.0f, factor;
    int i;
    for (i = 0; i + {STEP} <= units; i += {STEP})
        sum += (x[i] * x[i] + x[i + 1] * x[i + 1]) + (x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3]);
    for (; i < units; i++) sum += x[i] * x[i];
    factor = 1.0f / sqrtf(sum / (float)units + {NORM_EPSILON!r}f);
    for (i = 0; i < units; i++) {{
        const float value = x[i] * factor * scale[i] + shift[i];
        x[i] = 0.5f * (value + fabsf(value)); /* the same as max(value, 0), without a branch */
    }}
}}
"""


@dataclass(frozen=True)
class Network:
    """The layers of a network: their weights, and the calls that compute them."""

    trained: tuple[Constant, ...]
    code: str
    calls: tuple[str, ...]
    memory: int  # floats: the largest sum of two neighbouring activations
    output: str  # where the outputs are at the end


def make_network(
    architecture: Architecture,
    weights: Mapping[str, Weight],
    order: Sequence[int],
    outputs: int,
) -> Network:
    """Return the layers of a network whose inputs lie in that order.

    Activations of even layers begin where the memory does, those of odd layers end where it does.
    So the two that a layer reads and writes never overlap.
    """
    widths = (len(order), *architecture.widths, outputs)
    memory = max(first + second for first, second in pairwise(widths))
    is_int8 = isinstance(weights[f"head.{architecture.depth}.weight"], Int8Array)
    trained: list[Constant] = []
    calls = []
    for layer, (inputs, units) in enumerate(pairwise(widths), start=1):
        is_hidden = layer <= architecture.depth
        name = f"layer.{layer}" if is_hidden else f"head.{architecture.depth}"
        prefix = f"layer_{layer}" if is_hidden else "head"
        matrix = _make_matrix(prefix, weights[f"{name}.weight"], order if layer == 1 else None)
        trained += [*matrix, _make_vector(f"{prefix}_bias", weights[f"{name}.bias"])]
        source, target = (
            f"memory + {memory - width}" if number % 2 else "memory"
            for number, width in ((layer - 1, inputs), (layer, units))
        )
        arrays = ", ".join(constant.name for constant in (*matrix, trained[-1]))
        calls.append(f"dense({arrays}, {source}, {inputs}, {units}, {target});")
        if is_hidden:
            trained += [
                _make_vector(f"{prefix}_{part}", weights[f"{name}.{part}"])
                for part in ("scale", "shift")
            ]
            calls += [f"center({target}, {units});"] if is_int8 else []
            calls.append(f"normalize({target}, {prefix}_scale, {prefix}_shift, {units});")
    code = _make_dense_code(INT8_DENSE if is_int8 else FLOAT_DENSE)
    if architecture.depth:
        code += CENTER_CODE * is_int8 + NORMALIZE_CODE
    return Network(tuple(trained), code, tuple(calls), memory, target)


def _make_matrix(prefix: str, weight: Weight, order: Sequence[int] | None) -> list[Constant]:
    """Return the weights of a layer, and their scales if they are int8."""
    values = weight.values if isinstance(weight, Int8Array) else weight
    matrix = to_constant(f"{prefix}_weight", _to_blocks(values if order is None else values[order]))
    if not isinstance(weight, Int8Array):
        return [matrix]
    return [matrix, to_constant(f"{prefix}_unit_scale", weight.scale)]


def _make_vector(name: str, vector: Weight) -> Constant:
    assert not isinstance(vector, Int8Array)  # vectors are never quantized
    return to_constant(name, vector)


def _to_blocks(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return weights [inputs, units] in the order in which `dense` reads them."""
    units = matrix.shape[1]
    ends = [*range(BLOCK, units + 1, BLOCK)]
    blocks = [matrix[:, end - BLOCK : end].ravel() for end in ends]
    return np.concatenate([*blocks, matrix[:, len(ends) * BLOCK :].T.ravel()])
