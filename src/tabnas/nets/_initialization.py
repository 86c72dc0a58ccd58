"""Initial weights."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tabnas.nets._shape import NUMERIC_EMBEDDING, SuperNetShape
from tabnas.streams import stream
from tabnas.types import Float32Array


def init_weights(shape: SuperNetShape, seed: int) -> dict[str, Float32Array]:
    """Return initial weights for every array, each from its own random stream.

    Matrices are uniform with variance 2 / fan_in (hidden layers, He) or 1 / fan_in (heads),
    biases and shifts 0, scales 1, embeddings uniform in +-1 / sqrt(dimension). Each dimension of a
    numeric embedding begins as a straight line over the ranks of its knots, with a random slope.

    fan_in is that of the SuperNet's array, not of a child's block. A stand-alone network is a
    SuperNet of one architecture, so the same widths have the same distribution in both. A narrow
    child of a wide SuperNet begins with smaller pre-activations than it would stand-alone: in
    hidden layers LayerNorm removes the factor; at the head, predictions start closer to
    uninformed ones.
    """
    weights = {
        name: _uniform(seed, name, size, 1.0 / sqrt(size[1]))
        for name, size in shape.category_embeddings.items()
    }
    if shape.knots:
        weights[NUMERIC_EMBEDDING] = _init_numeric_embedding(shape, seed)
    for layer in shape.dense_layers:
        # a uniform variable in +-limit has the variance limit^2 / 3
        limit = sqrt(3.0 * (2.0 if layer.is_hidden else 1.0) / layer.fan_in)
        name = f"{layer.name}.weight"
        weights[name] = _uniform(seed, name, (layer.fan_in, layer.fan_out), limit)
        weights[f"{layer.name}.bias"] = np.zeros(layer.fan_out, np.float32)
        if layer.is_hidden:
            weights[f"{layer.name}.scale"] = np.ones(layer.fan_out, np.float32)
            weights[f"{layer.name}.shift"] = np.zeros(layer.fan_out, np.float32)
    return weights


def _init_numeric_embedding(shape: SuperNetShape, seed: int) -> Float32Array:
    """Return [dimensions, knots]: for each column a line through 0, with a slope in +-1.

    The line is straight over the ranks of the knots, which lie between +-sqrt(3): if a column has
    about as many values between any two knots, their variance is about 1.
    """
    knots = [values for values in shape.spec.inputs.knots if values]
    ranks = np.concatenate([np.linspace(-sqrt(3.0), sqrt(3.0), len(k)) for k in knots])
    column = np.repeat(np.arange(len(knots)), [len(k) for k in knots])
    slopes = _uniform(seed, NUMERIC_EMBEDDING, (shape.dimensions[-1], len(knots)), 1.0)
    table: Float32Array = (slopes[:, column] * ranks).astype(np.float32)
    return table


def _uniform(seed: int, name: str, size: tuple[int, ...], limit: float) -> Float32Array:
    draws = stream(seed, f"weights/{name}").random(size, dtype=np.float32)
    return (draws * np.float32(2.0 * limit) - np.float32(limit)).astype(np.float32)
