"""The limits of a model, and the costs of its network."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from numbers import Real

from tabnas.errors import TabNASError
from tabnas.nets import NetworkSpec
from tabnas.space import (
    ABSENT,
    COSTS,
    LATENCY_ROWS,
    Architecture,
    Precision,
    SearchSpace,
    compute_costs,
)


def compute_network_costs(
    spec: NetworkSpec,
    architecture: Architecture,
    precision: Precision,
    *,
    required: Collection[str] = (),
) -> dict[str, float]:
    """Return every cost of the network that can be computed.

    A `required` cost must be computable.
    """
    space = SearchSpace(
        [[width] for width in architecture.widths or (ABSENT,)],
        inputs=spec.inputs.width,
        outputs=spec.outputs,
        embedding_parameters=spec.inputs.embedding_parameters,
        numeric_embeddings=spec.inputs.numeric_embeddings([architecture.dimension])
        if architecture.dimension
        else None,
    )
    return compute_costs(space, architecture, precision=precision, required=required)


def normalize_limits(limits: Mapping[str, float]) -> dict[str, float]:
    """Return the limits as plain numbers, integral ones as `int`.

    A limit on an unknown cost is an error, because nothing could check it.
    """
    normalized: dict[str, float] = {}
    for name, upper in limits.items():
        is_number = isinstance(upper, Real) and not isinstance(upper, bool)
        if not isinstance(name, str) or not is_number or not 0 <= upper < inf:
            raise TabNASError(f"the limit on {name} must be a number of at least 0, got {upper!r}")
        if name not in COSTS and name not in LATENCY_ROWS:
            raise TabNASError(
                f"the limit on {name} cannot be checked, since there is no cost of that name; "
                "add a custom cost to tabnas.space.COSTS first"
            )
        normalized[name] = int(upper) if upper == int(upper) else float(upper)
    return normalized
