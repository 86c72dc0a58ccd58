"""A large network, pruned by magnitude and retrained.

Two layers of 256 units are trained on one-hot inputs; then, from the largest of `LIMITS` to the
smallest, the smallest weights are removed and the others trained further. The validation rows
choose the epoch, and a temperature for the probabilities; the rate and the weight decay are not
tuned, and every removal is followed by at least one epoch. A weight that is left takes 6 bytes: a
float32 and its place in the row, as in a compressed sparse row format. A unit takes 8 bytes, its
bias and the start of its row, unless no weight leads to it or from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from time import perf_counter

import numpy as np

from peers._inputs import encode_one_hot
from peers._split import LIMITS, Fitted, Split
from tabnas.threads import get_threads

WIDTHS = (256, 256)
EPOCHS, PATIENCE, RETRAIN_EPOCHS = 60, 10, 30
BATCH, RATE, WEIGHT_DECAY = 256, 1e-3, 1e-2
WEIGHT_BYTES, UNIT_BYTES = 6, 8
MAX_BYTES = 1_000_000  # rare categories are pooled so that the large network has few more


def fit(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Train a large network once, and prune it to each of `LIMITS` in turn."""
    import torch
    from torch import nn

    torch.set_num_threads(get_threads())
    torch.manual_seed(seed)
    data = split.data
    inputs = encode_one_hot(split, MAX_BYTES)
    x, x_validation, x_test = (torch.from_numpy(part) for part in inputs)
    y = torch.from_numpy(split.scaled_y(data.train).copy())
    y = y.long() if split.classes else y.float()[:, None]
    widths = (x.shape[1], *WIDTHS, split.classes or 1)
    layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
    network = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())))[:-1]
    masks = [torch.ones_like(layer.weight) for layer in layers]
    loss_of = nn.CrossEntropyLoss() if split.classes else nn.MSELoss()

    def predict(inputs: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            outputs = network(inputs)
        if not split.classes:
            return split.target.unscale_values(outputs[:, 0].double().numpy())
        return split.probabilities(torch.softmax(outputs.double(), dim=1).numpy())

    def train(epochs: int, rate: float) -> None:
        """Train the weights that are left, and keep those of the best epoch."""
        optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=WEIGHT_DECAY)
        best, since, kept = np.inf, 0, None
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(BATCH):
                optimizer.zero_grad()
                loss_of(network(x[rows]), y[rows]).backward()
                optimizer.step()
                with torch.no_grad():
                    for layer, mask in zip(layers, masks, strict=True):
                        layer.weight *= mask
            loss = split.validation_loss(predict(x_validation))
            since += 1
            if loss < best:
                best, since = loss, 0
                kept = {name: value.clone() for name, value in network.state_dict().items()}
            if since >= PATIENCE:
                break
        network.load_state_dict(kept)

    began = perf_counter()
    train(EPOCHS, RATE)
    wanted = {limit for limit in limits if limit is not None}
    for limit in reversed(LIMITS):
        if limit < min(wanted, default=np.inf):
            break
        weights = [layer.weight.detach() for layer in layers]
        masks[:] = _prune(weights, masks, limit)
        with torch.no_grad():
            for layer, mask in zip(layers, masks, strict=True):
                layer.weight *= mask
        train(RETRAIN_EPOCHS, RATE)
        if limit in wanted:
            left = int(sum(mask.sum() for mask in masks))
            seconds = perf_counter() - began
            loss = split.loss(predict(x_test), split.fit_temperature(predict(x_validation)))
            yield Fitted(limit, _size(masks), loss, seconds, f"{left} weights left")


def _prune(weights, masks, limit: int) -> list:
    """Return masks of the largest weights, as many as fit the limit."""
    import torch

    magnitudes = torch.cat([(w * m).abs().flatten() for w, m in zip(weights, masks, strict=True)])
    ordered = magnitudes.sort(descending=True).values
    low, high = 0, int((ordered > 0).sum())

    def masks_of(count: int) -> list:
        threshold = ordered[count - 1] if count else torch.inf
        return [m * (w.abs() >= threshold) for w, m in zip(weights, masks, strict=True)]

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(masks_of(middle)) <= limit else (low, middle - 1)
    return masks_of(low)


def _size(masks) -> int:
    """Return the bytes of the weights that are left and of the units that they connect."""
    units = sum(int((into.any(dim=1) & out.any(dim=0)).sum()) for into, out in pairwise(masks))
    return WEIGHT_BYTES * int(sum(m.sum() for m in masks)) + UNIT_BYTES * (units + len(masks[-1]))
