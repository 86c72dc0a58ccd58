"""The networks and rows that engines are compared on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.nets import (
    Embedding,
    EngineFactory,
    Examples,
    Inputs,
    Loss,
    NetworkSpec,
    Optimizer,
    SuperNet,
    mix_targets,
    top_classes,
)
from tabnas.space import Architecture, SearchSpace
from tabnas.testing._reference_engine import ReferenceEngine

ROWS = 30
CANDIDATES = ((0, 3, 8, 20), (0, 5, 16), (0, 9))
DIMENSIONS = (0, 1, 3)
KNOTS = ((-1.0, -0.25, 0.0, 0.5, 2.0), (), (-0.5, 1.0))
CHILDREN = tuple(
    map(
        Architecture.parse,
        (
            *("linear", "3", "20", "8-5", "8-16", "3-16-9", "20-16-9"),
            *("d3-linear", "d1-3", "d3-20", "d1-8-5", "d3-8-16", "d1-20-16-9", "d3-20-16-9"),
        ),
    )
)
BETWEEN = Architecture((11, 7))


@dataclass(frozen=True)
class NetworkFactory:
    """Builds networks with the engine to check, or with the reference engine."""

    engine: str | EngineFactory
    device: str
    dimensions: tuple[int, ...] = DIMENSIONS  # of numeric embeddings; empty for a space without

    @property
    def children(self) -> tuple[Architecture, ...]:
        """The children that the checks use; the last is the widest of the space."""
        dimensions = self.dimensions or (0,)
        return tuple(child for child in CHILDREN if child.dimension in dimensions)

    @property
    def evaluated(self) -> tuple[Architecture, ...]:
        """The children, and one whose widths lie between candidates: it can only be evaluated."""
        return (*self.children, BETWEEN)

    def build(
        self,
        spec: NetworkSpec,
        *,
        optimizer: Optimizer | None = None,
        workers: int = 1,
        reference: bool = False,
    ) -> SuperNet:
        """Return a new network of the space that all checks share."""
        embeddings = spec.inputs.numeric_embeddings(self.dimensions) if self.dimensions else None
        return SuperNet(
            SearchSpace(
                CANDIDATES,
                inputs=spec.inputs.width,
                outputs=spec.outputs,
                numeric_embeddings=embeddings,
            ),
            spec,
            optimizer=optimizer,
            workers=workers,
            seed=1,
            engine=ReferenceEngine if reference else self.engine,
            device="cpu" if reference else self.device,
        )


def make_spec(loss: Loss) -> NetworkSpec:
    """Return a spec with three numeric columns, two of which have knots, and two embeddings."""
    tables = [Embedding(categories=4, dimension=2), Embedding(categories=6, dimension=9)]
    outputs = {Loss.LOGISTIC: 1, Loss.SOFTMAX: 5, Loss.SQUARED_ERROR: 2}[loss]
    inputs = Inputs(numeric=len(KNOTS), category_embeddings=tables, knots=KNOTS)
    return NetworkSpec(inputs=inputs, loss=loss, outputs=outputs)


def make_examples(spec: NetworkSpec, *, size: float = 1.0, weight: Any = None) -> Examples:
    """Return random rows; regression targets are about as large as `size`.

    Some values of columns with knots lie exactly on a knot, some outside of all.
    """
    rng = np.random.default_rng(0)
    target: NDArray[Any] = rng.integers(max(2, spec.outputs), size=ROWS)
    if spec.loss is Loss.SQUARED_ERROR:
        target = size * rng.normal(size=(ROWS, spec.outputs))
    numeric = rng.normal(size=(ROWS, spec.inputs.numeric))
    for column in spec.inputs.embedded_numeric:
        knots = spec.inputs.knots[column]
        special = [knots[0] - 1.0, *knots, knots[-1] + 1.0]
        numeric[: ROWS // 2, column] = rng.choice(special, size=ROWS // 2)
    categories = [embedding.categories for embedding in spec.inputs.category_embeddings]
    return Examples(
        spec,
        numeric=numeric,
        categorical=rng.integers(categories, size=(ROWS, len(categories))),
        target=target,
        weight=rng.uniform(0.0, 2.0, ROWS) if weight is None else weight,
    )


def make_soft_examples() -> dict[str, Examples]:
    """Return random rows whose targets are distributions over classes, by their form.

    The first row is sure of its class. Some top classes are repeated in a row.
    """
    spec, rng = make_spec(Loss.SOFTMAX), np.random.default_rng(1)
    hard, labels = make_examples(spec), rng.integers(spec.outputs, size=ROWS)
    answers = rng.dirichlet(np.ones(spec.outputs), ROWS)
    answers[0] = np.eye(spec.outputs)[labels[0]]
    targets = {
        "class probabilities": mix_targets(spec, labels, answers, 0.7),
        "three top classes": mix_targets(spec, labels, top_classes(answers, 2), 0.7),
        "one top class": top_classes(answers, 1),
    }
    inputs = {"numeric": hard.numeric, "categorical": hard.categorical, "weight": hard.weight}
    return {form: Examples(spec, target=target, **inputs) for form, target in targets.items()}
