"""RealMLP and TabM of pytabkit, with layers cut to the limit.

All settings are pytabkit's tuned defaults, but that the validation rows choose the epoch by log
loss and not by accuracy, without label smoothing, as pytabkit recommends for probabilities. Within
a limit, they also choose between training with and without dropout, which was tuned for wider
layers, and they fit a temperature for the probabilities. The layers are as wide as the limit
allows. RealMLP goes without its numeric embeddings where they leave less than 8 units a layer; TabM
has the most members, at most 32, that leave at least 16. Weights are float32; with `int8`, those of
RealMLP's matrices are rounded after the training, with a float32 scale for each unit, as those of
tabnas are. Learning rates are those for wider layers: they were not tuned again. Numbers are those
of the table, which pytabkit scales itself; missing ones are the median, and a column of their own
says where they are. Columns of two values are categories, which get no numeric embedding. Rare
categories are pooled so that embeddings take at most half of the limit.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import isqrt
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from peers._inputs import Rows, pool_categories
from peers._split import Fitted, Split
from tabnas.threads import get_threads

FLOAT_BYTES = 4
LAYERS = 3
PROBE_WIDTHS = (8, 16, 32)
EMBEDDING_SHARE, EMBEDDING_DIMENSION = 0.5, 8  # of the limit, and of a category
MAX_INT8 = 127
FREE_BYTES = 1_000_000  # that stand for no limit, when rare categories are pooled
ONE_HOT_CATEGORIES = 9  # of a column that RealMLP does not embed


def fit_realmlp(
    split: Split, limits: Sequence[int | None], seed: int, *, int8: bool = False
) -> Iterator[Fitted]:
    """Train RealMLP within each limit."""
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    kind = RealMLP_TD_Classifier if split.classes else RealMLP_TD_Regressor
    common = {"use_ls": False, "val_metric_name": "cross_entropy"} if split.classes else {}
    variants = [({}, 8), ({"num_emb_type": "none"}, 1)]

    def make(width: int | None, **options: Any) -> Any:
        sizes = {} if width is None else {"hidden_sizes": [width] * LAYERS}
        return kind(
            device="cpu", n_threads=get_threads(), random_state=seed, **common, **sizes, **options
        )

    def get_weights(model: Any) -> list[Any]:
        return list(model.alg_interface_.model.parameters())

    return _fit(split, limits, make, get_weights, variants, "p_drop", int8=int8)


def fit_tabm(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Train TabM within each limit; without one, a fit takes about an hour on one core."""
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    kind = TabM_D_Classifier if split.classes else TabM_D_Regressor
    common = {"val_metric_name": "cross_entropy"} if split.classes else {}
    variants = [({"tabm_k": members}, 16) for members in (32, 16, 8, 4)] + [({"tabm_k": 2}, 1)]

    def make(width: int | None, **options: Any) -> Any:
        return kind(
            device="cpu", n_threads=get_threads(), random_state=seed, n_blocks=LAYERS,
            d_block=width, compile_model=False, allow_amp=False, **common, **options,
        )  # fmt: skip

    def get_weights(model: Any) -> list[Any]:
        (interface,) = model.alg_interface_.sub_split_interfaces
        return list(interface.model_.parameters())

    limits = [limit for limit in limits if limit is not None]
    return _fit(split, limits, make, get_weights, variants, "dropout")


def _fit(
    split: Split,
    limits: Sequence[int | None],
    make: Callable[..., Any],
    get_weights: Callable[[Any], list[Any]],
    variants: Sequence[tuple[dict[str, Any], int]],
    dropout: str,
    *,
    int8: bool = False,
) -> Iterator[Fitted]:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    data = split.data
    y, y_validation = split.scaled_y(data.train).copy(), split.scaled_y(data.validation).copy()
    numbers = _fill_numbers(split)

    def bytes_by_width(options: dict[str, Any], inputs: list[pd.DataFrame]) -> np.ndarray:
        """Return the coefficients of the bytes, a polynomial of the width."""
        sizes = []
        for width in PROBE_WIDTHS:
            model = make(width, n_epochs=1, **options)
            model.fit(inputs[0], y, inputs[1], y_validation)
            sizes.append(_count_bytes(get_weights(model), int8=int8))
        return np.round(np.polyfit(PROBE_WIDTHS, sizes, 2), 6)

    def predict(model: Any, inputs: pd.DataFrame) -> np.ndarray:
        if not split.classes:
            return split.target.unscale_values(np.ravel(model.predict(inputs)))
        return split.probabilities(model.predict_proba(inputs).astype(np.float64), model.classes_)

    category_bytes = EMBEDDING_DIMENSION * (1 if int8 else FLOAT_BYTES)
    for limit in limits:
        width, options = None, {}
        allowed = int(EMBEDDING_SHARE * (limit or FREE_BYTES)) // category_bytes
        inputs = _as_frames(numbers, pool_categories(split, allowed, ONE_HOT_CATEGORIES))
        began = perf_counter()
        if limit is not None:
            for options, min_width in variants:
                width = _widest(bytes_by_width(options, inputs), limit)
                if width >= min_width:
                    break
            else:
                continue  # nothing fits
        tried = []
        for change in [{}] if limit is None else [{}, {dropout: 0.0}]:
            model = make(width, **options, **change).fit(inputs[0], y, inputs[1], y_validation)
            if int8:
                _round_weights(get_weights(model))
            loss = split.calibrated_loss(predict(model, inputs[1]))
            tried.append((loss, model, options | change))
        _, model, chosen = min(tried, key=lambda each: each[0])
        seconds = perf_counter() - began
        size = _count_bytes(get_weights(model), int8=int8)
        assert limit is None or size <= limit, (size, limit)
        temperature = split.fit_temperature(predict(model, inputs[1]))
        loss = split.loss(predict(model, inputs[2]), temperature)
        named = ", ".join(f"{name}={value}" for name, value in chosen.items())
        yield Fitted(limit, size, loss, seconds, f"{LAYERS} x {width or 'default'} {named}")


def _is_matrix(weight: Any) -> bool:
    """Return whether a weight [..., inputs, units] has several inputs; others are biases, say."""
    return weight.ndim > 1 and weight.shape[-2] > 1


def _count_bytes(weights: Sequence[Any], *, int8: bool) -> int:
    """Return the bytes of weights, with `int8` those of rounded matrices and of their scales."""
    size = 0
    for weight in weights:
        count = weight.numel()
        is_rounded = int8 and _is_matrix(weight)
        size += (
            count + FLOAT_BYTES * count // weight.shape[-2] if is_rounded else FLOAT_BYTES * count
        )
    return size


def _round_weights(weights: Sequence[Any]) -> None:
    """Round the weights of matrices to 8 bits, with a scale for each unit."""
    import torch

    with torch.no_grad():
        for weight in filter(_is_matrix, weights):
            scale = weight.abs().amax(dim=-2, keepdim=True).clamp(min=1e-30) / MAX_INT8
            weight.copy_(torch.round(weight / scale) * scale)


def _widest(polynomial: np.ndarray, max_bytes: int) -> int:
    """Return the largest width within the bytes by the polynomial; 0 if there is none."""
    width = isqrt(max_bytes) + 1
    while width > 0 and np.polyval(polynomial, width) > max_bytes:
        width -= 1
    return width


def _fill_numbers(split: Split) -> list[np.ndarray]:
    """Return the numbers of training, validation and test rows, without missing ones."""
    trees = split.data.trees
    named = list(zip(trees.inputs.columns, trees.inputs.is_category, strict=True))
    categories = {name for name, is_category in named if is_category}
    columns = np.array([name not in categories for name, _ in named])  # and not ranks of categories
    matrices = (trees.train.inputs, trees.validation.inputs, trees.test)
    parts = [np.asarray(matrix[:], np.float64)[:, columns] for matrix in matrices]
    is_missing = [np.isnan(part) for part in parts]
    has_missing = is_missing[0].any(axis=0)
    medians = np.nan_to_num(np.nanmedian(parts[0], axis=0))
    return [
        np.concatenate([np.where(missing, medians, part), missing[:, has_missing]], axis=1)
        for part, missing in zip(parts, is_missing, strict=True)
    ]


def _as_frames(numbers: Sequence[np.ndarray], categories: Sequence[Rows]) -> list[pd.DataFrame]:
    """Return the rows as data frames, with columns of two values as categories."""
    low, high = numbers[0].min(axis=0), numbers[0].max(axis=0)
    is_binary = ((numbers[0] == low) | (numbers[0] == high)).all(axis=0)
    frames = []
    for numeric, rows in zip(numbers, categories, strict=True):
        columns: dict[str, Any] = {}
        for k, values in enumerate(numeric.T):
            is_high = values > (low[k] + high[k]) / 2
            columns[f"n{k}"] = (
                pd.Categorical(is_high.astype(int), categories=range(2))
                if is_binary[k]
                else values.astype(np.float32)
            )
        for k, count in enumerate(rows.categories):
            columns[f"c{k}"] = pd.Categorical(rows.codes[:, k], categories=range(count))
        frames.append(pd.DataFrame(columns))
    return frames
