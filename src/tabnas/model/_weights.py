"""The weights of a network: their names and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.errors import TabNASError
from tabnas.nets import NUMERIC_EMBEDDING, NetworkSpec
from tabnas.space import Architecture
from tabnas.types import Float32Array

Shapes = dict[str, tuple[int, ...]]


def weight_shapes(spec: NetworkSpec, architecture: Architecture) -> Shapes:
    """Return the name and shape of every array of a stand-alone network without building it.

    This is the format of the weights on disk; a test compares it with real networks.

    >>> from tabnas.nets import Inputs
    >>> weight_shapes(NetworkSpec(inputs=Inputs(numeric=3), loss="logistic"), Architecture(()))
    {'head.0.weight': (3, 1), 'head.0.bias': (1,)}
    """
    shapes: Shapes = {
        f"embedding.{column}": (embedding.categories, embedding.dimension)
        for column, embedding in enumerate(spec.inputs.category_embeddings)
    }
    fan_in = spec.inputs.width
    if architecture.dimension:
        embeddings = spec.inputs.numeric_embeddings([architecture.dimension])
        if embeddings is None:
            raise TabNASError(
                f"the architecture {architecture} embeds numbers, but no feature has knots"
            )
        shapes[NUMERIC_EMBEDDING] = (architecture.dimension, embeddings.knots)
        fan_in += architecture.dimension * embeddings.columns
    for layer, width in enumerate(architecture, start=1):
        shapes[f"layer.{layer}.weight"] = (fan_in, width)
        for vector in ("bias", "scale", "shift"):
            shapes[f"layer.{layer}.{vector}"] = (width,)
        fan_in = width
    head = f"head.{architecture.depth}"
    return shapes | {f"{head}.weight": (fan_in, spec.outputs), f"{head}.bias": (spec.outputs,)}


def check_weights(weights: Mapping[str, Any], shapes: Shapes) -> dict[str, Float32Array]:
    """Return read-only float32 copies of the arrays in the order of `shapes`.

    Raise an error unless exactly these arrays are there and all numbers are finite.
    """
    check_names(weights, shapes, "the weights")
    copies = {}
    for name, shape in shapes.items():
        array = np.asarray(weights[name])
        if array.shape != shape or array.dtype.kind != "f":
            raise TabNASError(
                f"the weights {name} must be floats of the shape {shape}, "
                f"got {array.dtype} {array.shape}"
            )
        with np.errstate(over="ignore"):
            copies[name] = copy = np.array(array, np.float32, order="C")
        if not np.isfinite(copy).all():
            raise TabNASError(
                f"the weights {name} must be finite float32 numbers, but some are not"
            )
        copy.flags.writeable = False
    return copies


def check_names(arrays: Mapping[str, Any], expected: Mapping[str, Any], source: str) -> None:
    """Raise an error unless the arrays have exactly the expected names."""
    wrong = sorted(map(str, set(arrays) ^ set(expected)))
    if wrong:
        raise TabNASError(
            f"{source} must hold exactly the arrays of the architecture, but "
            f"{', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} missing or unknown"
        )
