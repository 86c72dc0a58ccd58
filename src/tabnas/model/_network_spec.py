"""The network spec of an encoder and a target."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from tabnas.data import EncodedTable, TableEncoder, Target
from tabnas.errors import TabNASError, check_int
from tabnas.nets import Embedding, Examples, Inputs, Loss, NetworkSpec, TopClasses

LOSSES = {
    "binary": Loss.LOGISTIC,
    "multiclass": Loss.SOFTMAX,
    "regression": Loss.SQUARED_ERROR,
}


def make_network_spec(
    encoder: TableEncoder,
    target: Target,
    category_dimensions: Sequence[int] = (),
    knots: Sequence[Sequence[float]] = (),
) -> NetworkSpec:
    """Return the inputs, outputs and loss of a network for this encoder and target.

    The loss is logistic for binary, softmax for multiclass and squared error for regression
    targets. `category_dimensions` has the width of the embedding of each categorical column,
    `knots` those of each numeric feature (see `tabnas.nets.Inputs`); without them, numbers have no
    embeddings.

    >>> from tabnas.data import Table, fit_target
    >>> table = Table.from_data({"age": [31, 44, 27], "city": ["Bern", "Basel", "Bern"]})
    >>> target = fit_target("fare", Table.from_data({"fare": [2.5, 3.5, 9.0]}).column("fare"))
    >>> spec = make_network_spec(TableEncoder.fit(table, min_count=1), target, [4])
    >>> spec.inputs.width, spec.inputs.embedding_parameters, str(spec.loss)
    (5, 12, 'squared_error')
    """
    if len(category_dimensions) != len(encoder.n_categories):
        raise TabNASError(
            f"there must be one embedding dimension for each of the {len(encoder.n_categories)} "
            f"categorical columns, got {len(category_dimensions)}"
        )
    embeddings = [
        Embedding(categories=categories, dimension=check_int("a dimension", dimension, minimum=1))
        for categories, dimension in zip(encoder.n_categories, category_dimensions, strict=True)
    ]
    inputs = Inputs(numeric=len(encoder.features), category_embeddings=embeddings, knots=knots)
    return NetworkSpec(inputs=inputs, loss=LOSSES[target.task], outputs=target.outputs)


def make_examples(
    spec: NetworkSpec,
    encoded: EncodedTable,
    target: ArrayLike | TopClasses | None = None,
    weight: ArrayLike | None = None,
) -> Examples:
    """Return encoded rows, targets of `Target.encode` and row weights as a network's examples."""
    return Examples(
        spec,
        numeric=encoded.numeric,
        categorical=encoded.categorical,
        target=target,
        weight=weight,
    )
