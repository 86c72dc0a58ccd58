"""Small trained models that the tests of this package share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tabnas.data import (
    EncodedTable,
    Table,
    TableEncoder,
    Target,
    choose_knots,
    fit_target,
    load_dataset,
    summarize_values,
)
from tabnas.model import Model, make_examples, make_network_spec
from tabnas.nets import Cosine, SuperNet, TrainingSettings, train
from tabnas.space import Architecture


@dataclass(frozen=True)
class Fitted:
    """A model with its network, table, encoded rows and target values."""

    model: Model
    net: SuperNet
    table: Table  # inputs only
    encoded: EncodedTable
    y: np.ndarray


def fit(
    table: Table,
    target: Target,
    column: object,
    widths: tuple[int, ...],
    dimension: int = 0,
    **limits: float,
) -> Fitted:
    encoder = TableEncoder.fit(table, min_count=1)
    encoded, y = encoder.encode(table), target.encode(column)
    dimensions = (3,) * len(encoder.n_categories)
    knots = [choose_knots(summary, 8) for summary in summarize_values(encoded.numeric)]
    spec = make_network_spec(encoder, target, dimensions, knots if dimension else ())
    architecture = Architecture(widths, dimension)
    net = SuperNet.standalone(architecture, spec)
    training = TrainingSettings(epochs=5, batch_size=32, schedule=Cosine(0.02))
    train(net, architecture, make_examples(spec, encoded, target.scale_values(y)), training)
    model = Model(
        encoder=encoder,
        target=target,
        architecture=architecture,
        category_dimensions=dimensions,
        knots=spec.inputs.knots,
        weights=net.weights(),
        limits=limits,
    )
    return Fitted(model, net, table, encoded, y)


def fit_dataset(name: str, widths: tuple[int, ...], dimension: int = 0) -> Fitted:
    data = load_dataset(name)
    column = data.table.column(data.target)
    target = fit_target(data.target, column)
    return fit(data.table.drop([data.target]), target, column, widths, dimension, parameters=2_000)


@pytest.fixture(scope="session")
def iris() -> Fitted:
    return fit_dataset("iris", (8, 4))


@pytest.fixture(scope="session")
def breast_cancer() -> Fitted:
    return fit_dataset("breast_cancer", (16,))


@pytest.fixture(scope="session")
def diabetes() -> Fitted:
    return fit_dataset("diabetes", ())


def make_mixed_columns(rows: int, seed: int = 0) -> dict[str, list[object]]:
    """Return columns of every kind, with gaps."""
    rng = np.random.default_rng(seed)
    cities = ["Bern", "Basel", "Zug", None]
    days = np.datetime64("2024-01-01") + rng.integers(0, 500, rows)
    return {
        "age": [None if rng.random() < 0.1 else float(rng.normal(40, 9)) for _ in range(rows)],
        "city": [cities[i] for i in rng.integers(0, 4, rows)],
        "color": [f"c{i}" for i in rng.integers(0, 7, rows)],
        "member": [bool(flag) for flag in rng.integers(0, 2, rows)],
        "since": [str(day) for day in days],
    }


@pytest.fixture(scope="session")
def mixed() -> Fitted:
    """Fit a model to every kind of column, with integer labels."""
    table = Table.from_data(make_mixed_columns(300))
    labels = np.random.default_rng(1).integers(0, 2, 300)
    column = Table.from_data({"y": labels * 3 + 2}).column("y")
    return fit(table, fit_target("y", column), column, (8,), parameters=2_000, latency_us=5.5)


@pytest.fixture(scope="session")
def embedded_diabetes() -> Fitted:
    """Fit a linear model on numeric embeddings; a column of two values has none."""
    return fit_dataset("diabetes", (), dimension=1)


@pytest.fixture(scope="session")
def embedded() -> Fitted:
    """Fit a model with numeric embeddings to every kind of column."""
    table = Table.from_data(make_mixed_columns(300))
    labels = np.random.default_rng(1).integers(0, 3, 300)
    column = Table.from_data({"y": labels}).column("y")
    return fit(table, fit_target("y", column), column, (8,), dimension=3, parameters=2_000)


FITTED = ["iris", "breast_cancer", "diabetes", "mixed", "embedded_diabetes", "embedded"]


@pytest.fixture(scope="session", params=FITTED)
def fitted(request: pytest.FixtureRequest) -> Fitted:
    fitted_model: Fitted = request.getfixturevalue(request.param)
    return fitted_model


@pytest.fixture
def one_thread():
    """Limit scikit-learn's trees to one thread."""
    with threadpool_limits(limits=1):
        yield
