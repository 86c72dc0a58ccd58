"""The search space of a run, and the feasible set within its limits."""

from __future__ import annotations

from typing import Any

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.formatting import format_cost
from tabnas.nets import Optimizer
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._memory import check_memory
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.space import ABSENT, Budget, Precision, SearchSpace, default_space, scale_limits

NARROW_OCTAVES = 1
"""How far the widths of a narrowed space go beyond equal ones, so that all of it is trained."""


def make_space(
    data: PreparedData, settings: RunSettings, budget: Budget, limit_share: float = 1.0
) -> SearchSpace:
    """Return the space of the user's widths, or the default space for a share of the limits."""
    inputs = data.spec.inputs
    ends: dict[str, Any] = {
        "inputs": inputs.width,
        "outputs": data.spec.outputs,
        "embedding_parameters": inputs.embedding_parameters,
        "numeric_embeddings": inputs.numeric_embeddings(settings.candidate_numeric_dimensions),
    }
    layers: dict[str, Any] = {} if settings.layers is None else {"layers": settings.layers}
    if settings.widths is None:
        scaled = scale_limits(budget, SearchSpace([[ABSENT]], **ends), limit_share)
        octaves: dict[str, Any] = {} if limit_share == 1 else {"octaves_above": NARROW_OCTAVES}
        return default_space(scaled, **ends, **layers, **octaves)
    return SearchSpace.uniform(widths=settings.widths, **ends, **({"layers": 3} | layers))


def make_feasible_set(
    data: PreparedData,
    settings: RunSettings,
    optimizer: Optimizer,
    latency: LatencyPlan | None,
    limit_share: float,
) -> FeasibleSet:
    """Return the feasible set; an error for an empty one says what would help."""
    budget = settings.full_budget(latency.costs if latency else {})
    space = make_space(data, settings, budget, limit_share)
    check_memory(space, data.spec, optimizer, settings.workers)
    try:
        return FeasibleSet(space, budget)
    except InfeasibleError as error:
        others = "" if settings.widths is None else "allow narrower widths or fewer layers, "
        precision = settings.precisions[0]
        if latency and latency.depends_on_precision and precision == Precision.INT8:
            others += "choose the precision float32, which takes less time in C, "
        spent = [
            f", {format_cost(cost.at_precision(precision).fixed(space))} of it for the call and "
            "its columns"
            for name, cost in (latency.costs if latency else {}).items()
            if str(error).startswith(f"no architecture meets {name} ")
        ]
        raise InfeasibleError(
            f"{error}{''.join(spent)}; raise the limit, {others}or leave out columns"
        ) from None
