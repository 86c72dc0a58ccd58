"""The arrays that an architecture implies: what a file of weights must hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.errors import TabNASError
from tabnas.model._task import Float32Array
from tabnas.nets import Task
from tabnas.space import Architecture

Shapes = dict[str, tuple[int, ...]]


def weight_shapes(task: Task, architecture: Architecture) -> Shapes:
    """Name and shape of every array of the stand-alone network, without building it.

    This is the format of the weights on disk; a test holds it against what networks have.

    >>> from tabnas.nets import Inputs
    >>> weight_shapes(Task(inputs=Inputs(numeric=3), loss="logistic"), Architecture(()))
    {'head.0.weight': (3, 1), 'head.0.bias': (1,)}
    """
    shapes: Shapes = {
        f"embedding.{column}": (embedding.categories, embedding.dimension)
        for column, embedding in enumerate(task.inputs.embeddings)
    }
    fan_in = task.inputs.width
    for layer, width in enumerate(architecture, start=1):
        shapes[f"layer.{layer}.weight"] = (fan_in, width)
        for vector in ("bias", "scale", "shift"):
            shapes[f"layer.{layer}.{vector}"] = (width,)
        fan_in = width
    head = f"head.{architecture.depth}"
    return shapes | {f"{head}.weight": (fan_in, task.outputs), f"{head}.bias": (task.outputs,)}


def checked_weights(weights: Mapping[str, Any], shapes: Shapes) -> dict[str, Float32Array]:
    """Copies of exactly these arrays that nobody can write to, in order; finite, or refused."""
    wrong = sorted(map(str, set(weights) ^ set(shapes)))
    if wrong:
        raise TabNASError(
            "the weights must be the arrays of the architecture, no more and no fewer, but "
            f"{', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} missing or unknown"
        )
    copies = {}
    for name, shape in shapes.items():
        given = np.asarray(weights[name])
        if given.shape != shape or given.dtype.kind != "f":
            raise TabNASError(
                f"the weights {name} must be floats of the shape {shape}, "
                f"got {given.dtype} {given.shape}"
            )
        with np.errstate(over="ignore"):
            copies[name] = array = np.array(given, np.float32, order="C")
        if not np.isfinite(array).all():
            raise TabNASError(
                f"the weights {name} must be finite float32 numbers, but some are not"
            )
        array.flags.writeable = False
    return copies
