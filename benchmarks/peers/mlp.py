"""scikit-learn's MLP: one or two hidden layers, as wide as the limit allows.

All settings are scikit-learn's but for early stopping, which is on. Its own validation rows stop
it; ours choose between one and two layers. Weights are float32.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from peers._inputs import encode_one_hot, widest
from peers._split import Fitted, Split

FREE_WIDTH = 256  # without a limit


def fit(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Fit networks of one and of two layers within each limit."""
    data = split.data
    for limit in limits:
        began = perf_counter()
        inputs = encode_one_hot(split, limit)
        tried = []
        for layers in (1, 2):
            width = (
                widest(inputs[0].shape[1], layers, split.outputs, limit) if limit else FREE_WIDTH
            )
            if width < 1:
                continue
            kind = MLPClassifier if split.classes else MLPRegressor
            network = kind(
                hidden_layer_sizes=(width,) * layers, early_stopping=True, random_state=seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                network.fit(inputs[0], split.scaled_y(data.train))
            loss = split.validation_loss(_predict(split, network, inputs[1]))
            tried.append((loss, network, f"{layers} x {width}"))
        if not tried:
            continue
        _, network, detail = min(tried, key=lambda each: each[0])
        size = 4 * sum(array.size for array in (*network.coefs_, *network.intercepts_))
        predicted = _predict(split, network, inputs[2])
        yield Fitted(limit, size, split.loss(predicted), perf_counter() - began, detail)


def _predict(split: Split, network, inputs: np.ndarray) -> np.ndarray:
    if not split.classes:
        return split.target.unscale_values(network.predict(inputs))
    return split.probabilities(network.predict_proba(inputs).astype(np.float64), network.classes_)
