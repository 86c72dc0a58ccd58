"""scikit-learn's MLP: one or two hidden layers, as wide as the limit allows.

All settings are scikit-learn's. The validation rows choose the epoch, a temperature for the
probabilities, and between one and two layers. Weights are float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from peers._inputs import encode_one_hot, widest
from peers._split import Fitted, Split

FREE_WIDTH = 256  # without a limit
MAX_EPOCHS, PATIENCE = 200, 10


def fit(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Fit networks of one and of two layers within each limit."""
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
            network = _train(split, inputs, (width,) * layers, seed)
            predicted = _predict(split, network, inputs[1])
            tried.append((split.calibrated_loss(predicted), network, f"{layers} x {width}"))
        if not tried:
            continue
        _, network, detail = min(tried, key=lambda each: each[0])
        temperature = split.fit_temperature(_predict(split, network, inputs[1]))
        loss = split.loss(_predict(split, network, inputs[2]), temperature)
        size = 4 * sum(array.size for array in (*network.coefs_, *network.intercepts_))
        yield Fitted(limit, size, loss, perf_counter() - began, detail)


def _train(split: Split, inputs: list[np.ndarray], widths: tuple[int, ...], seed: int) -> Any:
    """Train until the validation loss stops improving; return the network of the best epoch."""
    kind = MLPClassifier if split.classes else MLPRegressor
    network = kind(hidden_layer_sizes=widths, random_state=seed)
    y = split.scaled_y(split.data.train)
    options = {"classes": np.arange(split.classes)} if split.classes else {}
    best, since, kept = np.inf, 0, network
    for _ in range(MAX_EPOCHS):
        network.partial_fit(inputs[0], y, **options)
        loss = split.validation_loss(_predict(split, network, inputs[1]))
        since += 1
        if loss < best:
            best, since, kept = loss, 0, deepcopy(network)
        if since >= PATIENCE:
            break
    return kept


def _predict(split: Split, network: Any, inputs: np.ndarray) -> np.ndarray:
    if not split.classes:
        return split.target.unscale_values(network.predict(inputs))
    return split.probabilities(network.predict_proba(inputs).astype(np.float64), network.classes_)
