"""LightGBM, tuned on the validation rows for every limit.

Every pair of leaves and learning rate is trained once, until the validation loss stops improving.
For a limit, the validation rows choose the pair and the number of iterations among those that fit.
A leaf takes 10 bytes: its value and the split above it. The leaves are those that the trees have,
not those that they could have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from peers._split import Fitted, Split
from tabnas.threads import get_threads

LEAVES = (2, 4, 8, 16, 31, 63)
RATES = (0.05, 0.15, 0.4)
MAX_ITERATIONS, PATIENCE = 1_000, 50
LEAF_BYTES = 10


Sizes = Callable[[Any], np.ndarray]
"""Returns the bytes of a booster after each iteration."""


class Trained(NamedTuple):
    """Trees for one pair of settings."""

    booster: Any
    losses: np.ndarray  # on validation rows, after each iteration
    detail: str


def fit(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Tune LightGBM within each limit, at 10 bytes a leaf."""
    return _choose(split, limits, seed, leaf_sizes)


def fit_files(split: Split, limits: Sequence[int | None], seed: int) -> Iterator[Fitted]:
    """Tune LightGBM within each limit, which its saved text file keeps."""
    return _choose(split, limits, seed, file_sizes)


def _choose(
    split: Split, limits: Sequence[int | None], seed: int, sizes_of: Sizes
) -> Iterator[Fitted]:
    trained, seconds = _train(split, seed)
    test = _as_array(split, split.data.trees.test)
    sized = [(each, sizes_of(each.booster)[: len(each.losses)]) for each in trained]
    for limit in limits:
        fitting = [
            (each.losses[index], k, index)
            for k, (each, sizes) in enumerate(sized)
            for index in np.flatnonzero(sizes <= (np.inf if limit is None else limit))
        ]
        if not fitting:
            continue
        _, k, index = min(fitting)
        each, sizes = sized[k]
        raw = each.booster.predict(test, num_iteration=int(index) + 1)
        if split.classes == 2:
            predicted = np.stack([1 - raw, raw], axis=1)
        elif split.classes:
            predicted = split.probabilities(raw)
        else:
            predicted = split.target.unscale_values(raw)
        detail = f"{each.detail}, {index + 1} iterations"
        yield Fitted(limit, int(sizes[index]), split.loss(predicted), seconds, detail)


@lru_cache(maxsize=1)
def _train(split: Split, seed: int) -> tuple[list[Trained], float]:
    """Train trees for every pair of leaves and learning rate; return them and the seconds."""
    import lightgbm

    trees = split.data.trees
    metric = "multi_logloss" if split.classes > 2 else "binary_logloss" if split.classes else "l2"
    parameters = {
        "objective": "multiclass" if split.classes > 2 else "binary" if split.classes else "l2",
        "num_class": split.classes if split.classes > 2 else 1,
        "metric": metric, "seed": seed, "deterministic": True, "verbose": -1,
        "num_threads": get_threads(),
    }  # fmt: skip
    data, check = (
        lightgbm.Dataset(
            _as_array(split, rows.inputs), split.target.scale_values(rows.y),
            categorical_feature=_categories(split) or "auto", free_raw_data=False,
        )
        for rows in (trees.train, trees.validation)
    )  # fmt: skip
    check.set_reference(data)
    began = perf_counter()
    trained = []
    for leaves, rate in product(LEAVES, RATES):
        history: dict = {}
        booster = lightgbm.train(
            parameters | {"num_leaves": leaves, "learning_rate": rate}, data, MAX_ITERATIONS,
            valid_sets=[check], valid_names=["validation"],
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False),
                       lightgbm.record_evaluation(history)],
        )  # fmt: skip
        losses = np.array(history["validation"][metric])
        trained.append(Trained(booster, losses, f"{leaves} leaves, rate {rate}"))
    return trained, perf_counter() - began


def _categories(split: Split) -> list[int]:
    return [k for k, category in enumerate(split.data.trees.inputs.is_category) if category]


def _as_array(split: Split, matrix: Any) -> np.ndarray:
    """Return inputs of LightGBM, where a missing category is a negative number."""
    rows = np.asarray(matrix[:], np.float64)
    categories = _categories(split)
    rows[:, categories] = np.nan_to_num(rows[:, categories], nan=-1)
    return rows


def leaf_sizes(booster: Any) -> np.ndarray:
    """Return the bytes of the leaves after each iteration."""
    text = booster.model_to_string(num_iteration=-1)
    leaves = np.array(re.findall(r"^num_leaves=(\d+)", text, re.M), int)
    return LEAF_BYTES * _add_up(booster, leaves)


def file_sizes(booster: Any) -> np.ndarray:
    """Return the bytes of the saved file after each iteration."""
    text = booster.model_to_string(num_iteration=-1)
    sizes = np.array(re.search(r"^tree_sizes=(.*)$", text, re.M)[1].split(), int)
    return len(text.encode()) - sizes.sum() + _add_up(booster, sizes)


def _add_up(booster: Any, by_tree: np.ndarray) -> np.ndarray:
    return np.cumsum(by_tree.reshape(-1, booster.num_model_per_iteration()).sum(axis=1))
