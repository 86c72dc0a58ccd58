"""RealMLP and TabM of pytabkit, with layers cut to the limit.

All settings are pytabkit's tuned defaults, but that the validation rows choose the epoch by log
loss and not by accuracy, without label smoothing, as pytabkit recommends for probabilities. The
layers are as wide as the limit allows. RealMLP goes without its numeric embeddings where they leave
less than 8 units a layer; TabM has the most members, at most 32, that leave at least 16. Weights
are float32. Rare categories are pooled so that embeddings take at most half of the limit.
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
EMBEDDING_SHARE, EMBEDDING_BYTES = 0.5, 8 * FLOAT_BYTES  # of the limit, and of a category
FREE_BYTES = 1_000_000  # that stand for no limit, when rare categories are pooled
TABM_FREE_WIDTH = 128
"""Without a limit; the default of 512 takes about an hour for one fit on one core."""


def fit_realmlp(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
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

    def count(model: Any) -> int:
        return sum(each.numel() for each in model.alg_interface_.model.parameters())

    return _fit(split, limits, make, count, variants)


def fit_tabm(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Train TabM within each limit."""
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    kind = TabM_D_Classifier if split.classes else TabM_D_Regressor
    common = {"val_metric_name": "cross_entropy"} if split.classes else {}
    variants = [({"tabm_k": members}, 16) for members in (32, 16, 8, 4)] + [({"tabm_k": 2}, 1)]

    def make(width: int | None, **options: Any) -> Any:
        block = TABM_FREE_WIDTH if width is None else width
        return kind(
            device="cpu", n_threads=get_threads(), random_state=seed, n_blocks=LAYERS,
            d_block=block, compile_model=False, allow_amp=False, **common, **options,
        )  # fmt: skip

    def count(model: Any) -> int:
        (interface,) = model.alg_interface_.sub_split_interfaces
        return sum(each.numel() for each in interface.model_.parameters())

    return _fit(split, limits, make, count, variants)


def _fit(
    split: Split,
    limits: Sequence[int | None],
    make: Callable[..., Any],
    count: Callable[[Any], int],
    variants: Sequence[tuple[dict[str, Any], int]],
) -> Iterator[Fitted]:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    data = split.data
    y, y_validation = split.scaled_y(data.train).copy(), split.scaled_y(data.validation).copy()

    def parameters_by_width(options: dict[str, Any], inputs: list[pd.DataFrame]) -> np.ndarray:
        """Return the coefficients of the number of parameters, a polynomial of the width."""
        counts = []
        for width in PROBE_WIDTHS:
            model = make(width, n_epochs=1, **options)
            counts.append(count(model.fit(inputs[0], y, inputs[1], y_validation)))
        return np.round(np.polyfit(PROBE_WIDTHS, counts, 2), 6)

    for limit in limits:
        width, options = None, {}
        allowed = int(EMBEDDING_SHARE * (limit or FREE_BYTES)) // EMBEDDING_BYTES
        inputs = [_as_frame(rows) for rows in pool_categories(split, allowed)]
        if limit is not None:
            for options, least in variants:
                width = _widest(parameters_by_width(options, inputs), limit // FLOAT_BYTES)
                if width >= least:
                    break
            else:
                continue  # nothing fits
        began = perf_counter()
        model = make(width, **options).fit(inputs[0], y, inputs[1], y_validation)
        seconds = perf_counter() - began
        size = FLOAT_BYTES * count(model)
        assert limit is None or size <= limit, (size, limit)
        if split.classes:
            shares = model.predict_proba(inputs[2]).astype(np.float64)
            predicted = split.probabilities(shares, model.classes_)
        else:
            predicted = split.target.unscale_values(np.ravel(model.predict(inputs[2])))
        named = ", ".join(f"{name}={value}" for name, value in options.items())
        yield Fitted(
            limit, size, split.loss(predicted), seconds, f"{LAYERS} x {width or 'default'} {named}"
        )


def _widest(polynomial: np.ndarray, most: int) -> int:
    """Return the largest width at which the polynomial is at most `most`; 0 if there is none."""
    width = isqrt(most) + 1
    while width > 0 and np.polyval(polynomial, width) > most:
        width -= 1
    return width


def _as_frame(rows: Rows) -> pd.DataFrame:
    names = [f"n{k}" for k in range(rows.numeric.shape[1])]
    frame = pd.DataFrame(rows.numeric.copy(), columns=names)
    for k, count in enumerate(rows.categories):
        frame[f"c{k}"] = pd.Categorical(rows.codes[:, k], categories=range(count))
    return frame
