"""LightGBM, tuned on the validation rows for every limit.

Every pair of leaves and learning rate is trained once, until the validation loss stops improving or
the trees are far over the largest limit. For a limit, the validation rows choose the number of
iterations of each pair among those that fit, then a temperature for its probabilities, then the
pair. Without a limit, there are more leaves, a lower rate, more iterations, and samples of columns
for each tree, but fewer combinations. A leaf takes 10 bytes: its value and the split above it. If
that is a set of categories, it takes as many bytes as LightGBM's own bit set instead of the 4 of a
threshold. The leaves are those that the trees have, not those that they could have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from peers._split import Fitted, Split
from tabnas.threads import get_threads

LEAVES = (2, 4, 8, 16, 31, 63)
RATES = (0.05, 0.15, 0.4, 0.8)
MAX_ITERATIONS, PATIENCE = 1_000, 50
LEAF_BYTES, WORD_BYTES = 10, 4

# leaves and shares of columns without a limit
FREE_PAIRS = ((15, 0.6), (31, 0.6), (63, 0.6), (127, 0.6), (31, 1.0))
FREE_RATE, FREE_ITERATIONS, FREE_PATIENCE = 0.03, 5_000, 100


Sizes = Callable[[Any], np.ndarray]
"""Returns the bytes of a booster after each iteration."""


@dataclass(frozen=True, eq=False)
class Trained:
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
    limited = [limit for limit in limits if limit is not None]
    for group in (limited, [None] * (None in limits)):
        if not group:
            continue
        trained, seconds = _train(split, seed, max(group) if limited is group else None)
        sized = [(each, sizes_of(each.booster)[: len(each.losses)]) for each in trained]
        for limit in group:
            fitted = _fit_limit(split, limit, sized, seconds)
            if fitted is not None:
                yield fitted


def _fit_limit(
    split: Split, limit: int | None, sized: list[tuple[Trained, np.ndarray]], seconds: float
) -> Fitted | None:
    """Choose the settings and iterations for a limit; return None if nothing fits."""
    fitting = [
        (each, int(index[each.losses[index].argmin()]), sizes)
        for each, sizes in sized
        if len(index := np.flatnonzero(sizes <= (np.inf if limit is None else limit)))
    ]
    if not fitting:
        return None
    each, index, sizes = min(fitting, key=lambda one: _calibrate(split, one[0], one[1])[0])
    _, temperature = _calibrate(split, each, index)
    loss = split.loss(_predict(split, each, index, split.data.trees.test), temperature)
    return Fitted(limit, int(sizes[index]), loss, seconds, f"{each.detail}, {index + 1} iterations")


@lru_cache(maxsize=1_000)
def _calibrate(split: Split, trained: Trained, index: int) -> tuple[float, float]:
    """Return the loss on validation rows after some iterations, and the temperature."""
    predicted = _predict(split, trained, index, split.data.trees.validation.inputs)
    temperature = split.fit_temperature(predicted)
    return split.validation_loss(predicted, temperature), temperature


def _predict(split: Split, trained: Trained, index: int, inputs: Any) -> np.ndarray:
    raw = trained.booster.predict(_as_array(split, inputs), num_iteration=index + 1)
    if split.classes == 2:
        return np.stack([1 - raw, raw], axis=1)
    return split.probabilities(raw) if split.classes else split.target.unscale_values(raw)


@lru_cache(maxsize=2)
def _train(split: Split, seed: int, limit: int | None) -> tuple[list[Trained], float]:
    """Train trees for every pair of settings; return them and the seconds.

    With a limit, training stops where trees of half as many leaves as allowed are over it.
    """
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

    def train(iterations: int, patience: int, **settings: float) -> Trained:
        history: dict = {}
        booster = lightgbm.train(
            parameters | settings, data, iterations,
            valid_sets=[check], valid_names=["validation"],
            callbacks=[lightgbm.early_stopping(patience, verbose=False),
                       lightgbm.record_evaluation(history)],
        )  # fmt: skip
        detail = f"{settings['num_leaves']} leaves, rate {settings['learning_rate']}"
        return Trained(booster, np.array(history["validation"][metric]), detail)

    began = perf_counter()
    trained = []
    if limit is None:
        for leaves, share in FREE_PAIRS:
            settings = {
                "num_leaves": leaves, "learning_rate": FREE_RATE, "feature_fraction": share,
            }  # fmt: skip
            trained.append(train(FREE_ITERATIONS, FREE_PATIENCE, **settings))
    else:
        for leaves, rate in product(LEAVES, RATES):
            enough = 2 * limit // (LEAF_BYTES * leaves * split.outputs) + 1
            settings = {"num_leaves": leaves, "learning_rate": rate}
            trained.append(train(min(enough, MAX_ITERATIONS), PATIENCE, **settings))
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
    """Return the bytes of the leaves after each iteration, with sets instead of thresholds."""
    trees = booster.model_to_string(num_iteration=-1).split("\nTree=")[1:]
    leaves = [int(re.search(r"^num_leaves=(\d+)", tree, re.M)[1]) for tree in trees]
    sets = [re.search(r"^cat_threshold=(.*)$", tree, re.M) for tree in trees]
    splits = [int(re.search(r"^num_cat=(\d+)", tree, re.M)[1]) for tree in trees]
    words = [
        0 if found is None else len(found[1].split()) - count
        for found, count in zip(sets, splits, strict=True)
    ]
    return _add_up(booster, LEAF_BYTES * np.array(leaves) + WORD_BYTES * np.array(words))


def file_sizes(booster: Any) -> np.ndarray:
    """Return the bytes of the saved file after each iteration."""
    text = booster.model_to_string(num_iteration=-1)
    sizes = np.array(re.search(r"^tree_sizes=(.*)$", text, re.M)[1].split(), int)
    return len(text.encode()) - sizes.sum() + _add_up(booster, sizes)


def _add_up(booster: Any, by_tree: np.ndarray) -> np.ndarray:
    return np.cumsum(by_tree.reshape(-1, booster.num_model_per_iteration()).sum(axis=1))
