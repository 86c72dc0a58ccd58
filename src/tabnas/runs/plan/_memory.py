"""The memory of a run's networks, known before any of it is taken."""

from __future__ import annotations

from itertools import pairwise

from tabnas.errors import TabNASError
from tabnas.nets import Optimizer, Task
from tabnas.space import SearchSpace

NUMBER = 4  # bytes of a float32
MOST_BYTES = 3 << 30
"""Of all weights and their moments. More is refused: whoever means it has named too much."""


def network_bytes(space: SearchSpace, task: Task, optimizer: Optimizer) -> dict[str, int]:
    """What the SuperNet takes in training, weights and moments: its embeddings, and its layers.

    Tables of embeddings are whole in memory; a step reads and moves only the rows in use.
    """
    copies = NUMBER * (1 + optimizer.moments)
    widest = [space.inputs, *(max(layer) for layer in space.candidates)]
    layers = sum(a * b + 3 * b for a, b in pairwise(widest))
    heads = sum((width + 1) * task.outputs for width in widest)
    return {
        "embeddings": copies * task.inputs.embedding_parameters,
        "layers": copies * (layers + heads),
    }


def refuse_beyond_memory(space: SearchSpace, task: Task, optimizer: Optimizer) -> None:
    """Refuse networks that cannot be meant, before they are allocated."""
    taken = network_bytes(space, task, optimizer)
    if sum(taken.values()) <= MOST_BYTES:
        return
    said = {name: f"{count / 1e9:.1f} GB" for name, count in taken.items()}
    advice = (
        f"name smaller widths than {max(map(max, space.candidates)):,}, or fewer layers"
        if taken["layers"] > taken["embeddings"]
        else "limit parameters or bytes, by which vocabularies are cut, or drop the columns with "
        "the most categories; a store can be encoded with fewer --buckets or --max-categories"
    )
    raise TabNASError(
        f"the networks of a search must take at most {MOST_BYTES / 1e9:.1f} GB, since all share "
        f"their memory, but embeddings would take {said['embeddings']} and layers "
        f"{said['layers']}, moments included; {advice}"
    )
