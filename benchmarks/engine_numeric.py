"""How fast a training step with numeric embeddings is. Used by `engine.py`, or alone:

    python benchmarks/engine_numeric.py

The same network is measured without them, and with a hidden layer as wide as the added inputs in
front of the others: an embedding should cost no more than such a layer. One thread.
"""

from __future__ import annotations

import json

import torch
from engine_shapes import BATCHES, NUMERIC_SHAPES, RATE, compare, looped, ours
from engine_torch import PlainNetwork, torch_optimizer, torch_step

from tabnas.nets import SuperNet
from tabnas.space import Architecture
from tabnas.threads import limit_threads


def numeric_embeddings():
    torch.set_num_threads(1)
    rows = []
    for shape in NUMERIC_SHAPES:
        examples, child = shape.examples(), shape.child
        added = child.dimension * len(shape.inputs.embedded_numeric)
        architectures = {
            "ours": child,
            "ours without": Architecture(child.widths),
            "ours with a layer instead": Architecture((added, *child.widths)),
        }
        contestants = {}
        for name, architecture in architectures.items():
            net = SuperNet.standalone(architecture, shape.spec, optimizer=shape.optimizer)
            contestants[name] = ours(net, architecture, examples, shape.batch)
        model = PlainNetwork(shape.spec, child.widths, child.dimension)
        optimizer = torch_optimizer(shape.optimizer, model, RATE)
        contestants["pytorch eager"] = looped(
            torch_step(model, optimizer, examples, shape.batch, BATCHES)
        )
        report = {"shape": shape.name, "sizes": shape.sizes, "batch": shape.batch}
        with limit_threads(1):
            rows.append({**report, "us": compare(contestants)})
    return rows


if __name__ == "__main__":
    for row in numeric_embeddings():
        print(json.dumps(row))
