"""Methods that find a model within a limit on bytes, by name.

Each is a function of a split of a table, of limits and of a seed, which returns a model for each
limit that it can keep. A limit of None asks for a model without a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from peers import boosted_trees, mlp, networks, pruned, pytabkit_models
from peers._split import LIMITS, Fitted, Split, load_split

Method = Callable[[Split, Sequence[int | None], int], Iterator[Fitted]]

METHODS: dict[str, Method] = {
    "tabnas": networks.fit,
    "tabnas float32": partial(networks.fit, precision="float32"),
    "plain network": networks.fit_plain,
    "plain int8": partial(networks.fit_plain, precision="int8"),
    "LightGBM": boosted_trees.fit,
    "LightGBM file": boosted_trees.fit_files,
    "MLP": mlp.fit,
    "RealMLP": pytabkit_models.fit_realmlp,
    "RealMLP int8": partial(pytabkit_models.fit_realmlp, int8=True),
    "TabM": pytabkit_models.fit_tabm,
    "pruned": pruned.fit,
}

# without a teacher that other runs of the split share, to measure their time
WHOLE_RUNS: dict[str, Method] = {
    "tabnas": partial(networks.fit, share_teacher=False),
    "tabnas float32": partial(networks.fit, share_teacher=False, precision="float32"),
}

# "tabnas" has all parts, and "tabnas float32" is the one without int8
PARTS: dict[str, Method] = {
    "without search": partial(networks.fit, only_equal=True),
    "without equal layers": partial(networks.fit, change=networks.without_equal_layers),
    "without widening": partial(networks.fit, change=networks.without_widening),
    "without embeddings": partial(networks.fit, numeric_dimensions=(0,)),
    "without teacher": partial(networks.fit, teacher="none"),
    "without averaging": partial(networks.fit, change=networks.without_averaging),
    "without target knots": partial(networks.fit, quantile_knots=True),
    "without longer training": partial(networks.fit, change=networks.without_longer_training),
}

__all__ = ["LIMITS", "METHODS", "PARTS", "WHOLE_RUNS", "Fitted", "Method", "Split", "load_split"]
