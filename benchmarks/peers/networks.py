"""Searches of tabnas: the default, and the default without one of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from peers._split import Fitted, Split
from tabnas.runs import RunSettings, plan_run
from tabnas.space import Architecture, SearchSpace

LAYERS, DIMENSION = 2, 2  # of networks that are not searched


def fit(
    split: Split,
    limits: Sequence[int | None],
    seed: int,
    *,
    is_searched: bool = True,
    averaging: bool = True,
    **options: Any,
) -> Iterator[Fitted]:
    """Search within each limit, with the default settings but for `options`.

    Without a search, there is one architecture: two equal layers as wide as the limit allows, with
    numeric embeddings of two dimensions.
    """
    for limit in limits:
        if limit is None:
            continue
        began = perf_counter()
        settings = RunSettings(
            limits={"bytes": limit}, seed=seed, reference_models=False, **options
        )
        if not is_searched:
            widest = _widest(split, settings)
            if widest is None:
                continue
            settings = replace(
                settings, widths=widest.widths[:1], layers=LAYERS,
                numeric_dimensions=(widest.dimension,),
            )  # fmt: skip
        run = plan_run(split.labelled, settings)
        if not averaging:
            training = replace(run.plan.training, averaging=0.0)
            run = replace(run, plan=replace(run.plan, training=training))
        finished = run.execute()
        model, chosen = finished.model, finished.chosen
        yield Fitted(
            limit,
            int(model.costs["bytes"]),
            finished.scores["network"].metrics[split.metric].value,
            perf_counter() - began,
            f"{model.architecture} {model.precision}",
            chosen.loss - chosen.float32_loss,
        )


def _widest(split: Split, settings: RunSettings) -> Architecture | None:
    """Return the widest network of equal layers within the limit; None if there is none."""
    spec = split.data.limit_embeddings(settings.computed_budget).spec
    embeddings = spec.inputs.numeric_embeddings((DIMENSION,))
    space = SearchSpace(
        [[0]], inputs=spec.inputs.width, outputs=spec.outputs,
        embedding_parameters=spec.inputs.embedding_parameters, numeric_embeddings=embeddings,
    )  # fmt: skip
    dimension = 0 if embeddings is None else DIMENSION

    def make(width: int) -> Architecture:
        return Architecture((width,) * LAYERS, dimension)

    width = 0
    while settings.computed_budget.admits(space, make(width + 1)):
        width += 1
    return make(width) if width else None
