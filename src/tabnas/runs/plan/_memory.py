"""The memory of the networks of a run, estimated before it is allocated."""

from __future__ import annotations

from itertools import pairwise

from tabnas.errors import TabNASError
from tabnas.nets import NetworkSpec, Optimizer
from tabnas.space import SearchSpace

FLOAT_BYTES = 4
MAX_BYTES = 3 << 30
"""The most that all weights and their moments may take."""


def estimate_network_bytes(
    space: SearchSpace, spec: NetworkSpec, optimizer: Optimizer, workers: int = 1
) -> dict[str, int]:
    """Return the bytes of the SuperNet's embeddings and layers, with the optimizer's moments.

    Embedding tables are completely in memory; a step reads and updates only the rows in use. Every
    further worker has gradients of all layers.
    """
    copies = FLOAT_BYTES * (1 + optimizer.moments)
    embeddings = space.numeric_embeddings
    dimension = 0 if embeddings is None else embeddings.dimensions[-1]
    tables = spec.inputs.embedding_parameters
    tables += 0 if embeddings is None else dimension * embeddings.knots
    widest = [space.input_width(dimension), *(max(layer) for layer in space.widths)]
    layers = sum(a * b + 3 * b for a, b in pairwise(widest))
    heads = sum((width + 1) * spec.outputs for width in widest)
    return {
        "embeddings": copies * tables,
        "layers": (copies + FLOAT_BYTES * (workers - 1)) * (layers + heads),
    }


def check_memory(
    space: SearchSpace, spec: NetworkSpec, optimizer: Optimizer, workers: int = 1
) -> None:
    """Raise an error if the networks of a space would take too much memory."""
    sizes = estimate_network_bytes(space, spec, optimizer, workers)
    if sum(sizes.values()) <= MAX_BYTES:
        return
    gigabytes = {name: f"{count / 1e9:.1f} GB" for name, count in sizes.items()}
    advice = (
        f"name smaller widths than {max(map(max, space.widths)):,}, or fewer layers"
        f"{' or workers' if workers > 1 else ''}"
        if sizes["layers"] > sizes["embeddings"]
        else "limit parameters or bytes, which limits vocabularies, too, or drop the columns with "
        "the most categories; a store can be encoded with fewer --buckets or --max-categories"
    )
    raise TabNASError(
        f"the SuperNet may take at most {MAX_BYTES / 1e9:.1f} GB, but its embeddings would take "
        f"{gigabytes['embeddings']} and its layers {gigabytes['layers']}, with optimizer state; "
        f"{advice}"
    )
