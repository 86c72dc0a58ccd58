"""The compiled engine agrees with the reference on more shapes than in `check_engine`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.nets import Embedding, Examples, Inputs, Loss, NetworkSpec, SuperNet
from tabnas.space import Architecture
from tabnas.testing import ReferenceEngine


def compute_with_both(spec, architecture, examples):
    """Return losses and gradients of the compiled engine and of the reference."""
    return (
        (net.loss(architecture, examples), net.gradients(architecture, examples))
        for net in (
            SuperNet.standalone(architecture, spec, engine=engine)
            for engine in ("compiled", ReferenceEngine)
        )
    )


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_many_classes_agree_with_the_reference(make_spec, make_examples, classes):
    spec = make_spec("softmax", outputs=classes)
    ours, theirs = compute_with_both(spec, Architecture((24, 16)), make_examples(spec, 17))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    for name, gradient in theirs[1].items():
        np.testing.assert_allclose(ours[1][name], gradient, rtol=2e-4, atol=2e-5, err_msg=name)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_small_network_agrees_with_the_reference(data):
    widths = tuple(data.draw(st.lists(st.integers(1, 40), max_size=3)))
    loss = data.draw(st.sampled_from(Loss))
    dimensions = data.draw(st.lists(st.integers(1, 20), max_size=3))
    inputs = Inputs(
        numeric=data.draw(st.integers(0 if dimensions else 1, 30)),
        category_embeddings=[Embedding(categories=3, dimension=d) for d in dimensions],
    )
    if inputs.numeric:
        numbers = data.draw(st.lists(st.integers(2, 20), min_size=1, max_size=inputs.numeric))
        knots = [np.linspace(-1.0, 1.0, number) for number in numbers]
        knots += [()] * (inputs.numeric - len(knots))
        inputs = Inputs(
            numeric=inputs.numeric, category_embeddings=inputs.category_embeddings, knots=knots
        )
    dimension = data.draw(st.integers(0, 9)) if inputs.embedded_numeric else 0
    outputs = 1 if loss == "logistic" else data.draw(st.integers(2, 20))
    spec = NetworkSpec(inputs=inputs, loss=loss, outputs=outputs)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = data.draw(st.integers(1, 20))
    targets = {
        "logistic": rng.random(rows),
        "softmax": rng.integers(0, outputs, rows),
        "squared_error": rng.normal(size=(rows, outputs)),
    }
    examples = Examples(
        spec,
        numeric=rng.normal(size=(rows, inputs.numeric)),
        categorical=rng.integers(0, 3, (rows, len(dimensions))),
        target=targets[loss],
    )
    ours, theirs = compute_with_both(spec, Architecture(widths, dimension=dimension), examples)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-4, abs=1e-6)
    for name, gradient in theirs[1].items():
        # LayerNorm of one or two units is nearly constant, and its gradient is rounding error
        scale = 1e-5 + 1e-3 * np.abs(gradient).max()
        if min(widths, default=9) > 2:
            np.testing.assert_allclose(ours[1][name], gradient, rtol=2e-3, atol=scale, err_msg=name)
