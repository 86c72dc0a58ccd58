"""Bare networks to call, without a table around them."""

from __future__ import annotations

import numpy as np

from tabnas.latency._clock import Call
from tabnas.latency._runtime import call_of
from tabnas.latency._terms import Shape
from tabnas.model import weight_shapes
from tabnas.nets import Inputs, Task
from tabnas.streams import stream


def network_call(shape: Shape, rows: int) -> Call:
    """A call of the network of that shape, with random weights, on random rows."""
    from tabnas.export import network_model  # loads ONNX, which few runs need

    task = Task(inputs=Inputs(numeric=shape.inputs), loss="squared_error", outputs=shape.outputs)
    rng = stream(0, f"latency weights/{shape.architecture}")
    weights = {
        name: rng.normal(scale=size[0] ** -0.5, size=size).astype(np.float32)
        for name, size in weight_shapes(task, shape.architecture).items()
    }
    numbers = rng.normal(size=(rows, shape.inputs)).astype(np.float32)
    return call_of(network_model(shape.architecture, task, weights), {"numeric": numbers})
