"""A network without preprocessing in C, to measure the latency of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tabnas.export.c._inputs import make_numeric_embedding_part
from tabnas.export.c._network import make_network
from tabnas.model import Weight
from tabnas.nets import Inputs
from tabnas.space import Architecture

HEADER_CODE = """\
typedef struct {{ float inputs[{inputs}]; }} {prefix}_row;
void {prefix}_predict(const {prefix}_row *row, float *outputs);
"""
INCLUDE_CODE = """\
#include "model.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

"""
PREDICT_CODE = """
void {prefix}_predict(const {prefix}_row *row, float *outputs)
{{
    float memory[{memory}];
    float *x = memory;
    const float *output = {output};
    int i;
    for (i = 0; i < {inputs}; i++) *x++ = row->inputs[i];
    {calls}
    for (i = 0; i < {outputs}; i++) outputs[i] = output[i];
}}
"""


@dataclass(frozen=True)
class BareNetwork:
    """The two files of a network without preprocessing."""

    header: str
    source: str


def render_bare_network(
    architecture: Architecture,
    inputs: Inputs,
    weights: Mapping[str, Weight],
    outputs: int,
    prefix: str,
) -> BareNetwork:
    """Return the files of a network that takes encoded rows of numbers."""
    part = make_numeric_embedding_part(inputs, weights, range(inputs.numeric))
    order = [*range(inputs.numeric), *(part.inputs if part else ())]
    network = make_network(architecture, weights, order, outputs)
    constants = [*((*part.constants, *part.trained) if part else ()), *network.trained]
    calls = [f"{part.call};"] if part else []
    predict = PREDICT_CODE.format(
        prefix=prefix,
        memory=network.memory,
        output=network.output,
        inputs=inputs.numeric,
        outputs=outputs,
        calls="\n    ".join([*calls, *network.calls]),
    )
    code = (part.code if part else "") + network.code + predict
    return BareNetwork(
        HEADER_CODE.format(inputs=inputs.numeric, prefix=prefix),
        INCLUDE_CODE + "".join(constant.render() for constant in constants) + code,
    )
