from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import InfeasibleError
from tabnas.estimators import TabNASClassifier, TabNASRegressor
from tabnas.estimators._run_settings import limit_names
from tabnas.space import COSTS, LATENCY_ROWS


def test_limits_are_on_costs_that_there_are() -> None:
    known = [*COSTS, *LATENCY_ROWS]
    assert limit_names(TabNASClassifier) == limit_names(TabNASRegressor)
    assert set(limit_names(TabNASClassifier)) <= set(known)


LIMITS = st.fixed_dictionaries(
    {"max_parameters": st.none() | st.integers(1, 120)},
    optional={
        "max_dense_parameters": st.integers(1, 120),
        "max_flops": st.integers(1, 300),
        "max_bytes": st.integers(1, 600),
        "max_ram_bytes": st.integers(1, 80),
    },
).filter(lambda limits: any(limits.values()))


EMBEDDINGS = st.fixed_dictionaries(
    {"knots": st.sampled_from([None, 3, 5])},
    optional={"numeric_dimensions": st.sampled_from([(0,), (0, 1, 2), (1,), (3, 2)])},
)


@given(
    limits=LIMITS,
    embeddings=EMBEDDINGS,
    classes=st.integers(1, 4),
    text=st.booleans(),
    seed=st.integers(0, 9),
)
@settings(max_examples=25)
def test_limits_hold_or_nothing_is_fitted(
    limits: dict[str, Any], embeddings: dict[str, Any], classes: int, text: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    features: dict[str, Any] = {"a": rng.normal(size=24), "b": rng.normal(size=24)}
    if text:
        features["c"] = rng.choice(["x", "y", "z"], 24)
    kind: Any = TabNASRegressor if classes == 1 else TabNASClassifier
    answers = rng.normal(size=24) if classes == 1 else np.arange(24) % classes
    estimator = kind(**limits, **embeddings, layers=2, candidates=1, random_state=seed)
    try:
        estimator.fit(features, answers)
    except InfeasibleError:
        assert not hasattr(estimator, "model_")
        return
    for name, most in limits.items():
        assert most is None or estimator.costs_[name.removeprefix("max_")] <= most
    held = sum(weight.size for weight in estimator.model_.weights.values())
    assert held == estimator.costs_["parameters"]
