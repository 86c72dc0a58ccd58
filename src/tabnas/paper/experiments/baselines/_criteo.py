"""The methods of the paper's table on Bayesian optimisation and evolution, on Criteo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row, group_rows, mean
from tabnas.paper._tables import PreparedTable, prepare_table
from tabnas.paper.experiments.common import NEVER, OneShotQuality, run_strategy
from tabnas.policy import Adam
from tabnas.search import (
    FixedWeightsSearch,
    Search,
    SearchSettings,
    build_candidate_pool,
    select,
)
from tabnas.space import COSTS, Architecture
from tabnas.strategies import STRATEGIES
from tabnas.streams import stream
from tabnas.types import FloatArray


class CriteoMethods:
    """A sample of Criteo in the 5-layer space: one architecture a method, trained stand-alone."""

    def __init__(self, definition: Mapping[str, Any], data: Path | None) -> None:
        self.definition = definition
        self._data = data
        self._supernet = lru_cache(maxsize=1)(self._train_supernet)

    @property
    def table(self) -> PreparedTable:
        """The table, read when it is first needed."""
        return prepare_table("criteo", self._data, self.definition["changes"])

    def run(self, method: Mapping[str, Any], repeat: int) -> Row:
        """Return what a method finds, its cost in evaluations, and its stand-alone losses."""
        kind, table = method["kind"], self.table
        evaluations = 0.0
        if kind == "reference":
            network = Architecture.parse(table.config.reference)
        elif kind == "strategy":
            network, evaluations = self._run_strategy(method, repeat)
        elif kind == "frozen":
            search = self._fixed_weights_search(method, repeat)
            network, evaluations = _run_search(search, method["selection"])
        else:
            settings = self._settings(repeat, method["changes"])
            network, evaluations = _run_search(table.search(settings), method["selection"])
        return {
            "found": str(network),
            "parameters": int(COSTS["dense_parameters"](table.space, network)),
            "evaluations": evaluations,
            "losses": table.losses(network, self.definition["trainings"]),
        }

    def _settings(self, repeat: int, changes: Mapping[str, Any]) -> SearchSettings:
        changes = dict(changes)
        optimizer = Adam(learning_rate=changes.pop("rl_learning_rate", 0.005))
        settings = self.table.search_settings(seed=repeat)
        return replace(settings, **self.definition["search"], policy_optimizer=optimizer, **changes)

    def _train_supernet(self, repeat: int) -> Search:
        """Train a SuperNet as the paper's searches do, with a policy that stays uniform."""
        search = self.table.search(replace(self._settings(repeat, {}), policy_start=NEVER))
        search.run()
        return search

    def _fixed_weights_search(self, method: Mapping[str, Any], repeat: int) -> FixedWeightsSearch:
        """Return RL on the trained SuperNet, with the policy steps of the interleaved search."""
        supernet, table = self._supernet(repeat), self.table
        settings = self._settings(repeat, method["changes"])
        steps = round(supernet.steps * (1 - settings.frozen_share))
        return FixedWeightsSearch(
            table.feasible, supernet.net, table.validation, settings, steps=steps
        )

    def _run_strategy(self, method: Mapping[str, Any], repeat: int) -> tuple[Architecture, float]:
        """Run a strategy on all validation rows, at the cost of the exact policy."""
        supernet, table = self._supernet(repeat), self.table
        rows, rng = len(table.validation), stream(repeat, "looks")
        quality = OneShotQuality(supernet.net, table.validation, rows=rows, rng=rng, fixed=True)
        strategy = STRATEGIES[method["strategy"]](
            table.feasible, rng=stream(repeat, "strategy"), **method["options"]
        )
        settings = self._settings(repeat, {})
        steps = round(supernet.steps * (1 - settings.frozen_share))
        budget = steps * settings.evaluations_per_step * settings.batch_size
        run_strategy(strategy, quality, max(1, budget // rows))
        return strategy.recommend()[0], float(quality.evaluations)


def _run_search(search: Search | FixedWeightsSearch, selection: str) -> tuple[Architecture, float]:
    """Return what a search finds, and its cost in evaluations on all validation rows."""
    search.run()
    _, _, quality = search.history.flatten()
    evaluations = len(quality) * search.settings.batch_size / len(search.validation)
    if selection == "one_shot":
        evaluations += len(build_candidate_pool(search))
    return select(search, 1, by=selection)[0], evaluations


def summarize_criteo(rows: list[Row]) -> list[dict[str, Any]]:
    """Summarize the repeats of each method.

    Networks of one seed have the same initial weights and order of rows, so losses are compared
    with the reference's seed by seed.
    """
    groups = group_rows(rows, "method")
    if not groups:  # the file of Criteo was missing
        return []
    reference = np.array(next(iter(groups.values()))[0]["losses"])
    return [_summarize_method(title, group, reference) for title, group in groups.items()]


def _summarize_method(title: str, rows: list[Row], reference: FloatArray) -> dict[str, Any]:
    losses = np.array([row["losses"] for row in rows])  # [repeats, trainings]
    differences = losses - reference
    std = losses.std(axis=1, ddof=1) if losses.shape[1] > 1 else np.zeros(len(rows))
    return {
        "title": title,
        "found": [row["found"] for row in rows],
        "parameters": [row["parameters"] for row in rows],
        "evaluations": mean(row["evaluations"] for row in rows),
        "losses": losses.mean(axis=1).tolist(),
        "losses_std": std.tolist(),
        "differences": differences.mean(axis=1).tolist(),
        "difference_mean": float(differences.mean()),
        "difference_std": float(differences.mean(axis=1).std()),
    }
