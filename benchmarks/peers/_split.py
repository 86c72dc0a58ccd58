"""One split of a table, which all methods share, and what a method returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.data import ClassTarget, read_table
from tabnas.model import fit_temperature, probabilities, score
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.streams import stream

MAX_ROWS = 50_000
"""Of larger tables, every seed has a random sample: some of the other methods are slow."""
LIMITS = (4_000, 12_000, 20_000, 40_000, 80_000, 320_000)
"""Bytes within which models are compared."""
IDENTIFIERS = ("arch",)  # columns that name a row


@dataclass(frozen=True)
class Fitted:
    """A model within a limit on bytes, or without one."""

    limit: int | None  # bytes; None: without a limit
    bytes: int
    loss: float  # on test rows
    seconds: float  # to find and train it
    detail: str
    rounding: float | None = None  # how much it changed the loss on validation rows


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of a table for training, validation and test."""

    labelled: LabelledTable
    seed: int
    teachers: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """What teachers of a run have answered, by the names of their models and their kind."""

    @cached_property
    def data(self) -> PreparedData:
        settings = RunSettings(limits={"bytes": 10**9}, seed=self.seed, precision="float32")
        data = plan_run(self.labelled, settings).data
        return data if data.unlimited is None else data.unlimited

    @property
    def target(self) -> Any:
        """A `ClassTarget` or a `NumberTarget`."""
        return self.data.target

    @property
    def classes(self) -> int:
        """The number of classes; 0 for regression."""
        return len(self.target.classes) if isinstance(self.target, ClassTarget) else 0

    @property
    def outputs(self) -> int:
        """The outputs of a network: one for two classes."""
        return self.classes if self.classes > 2 else 1

    @property
    def metric(self) -> str:
        return "log_loss" if self.classes else "rmse"

    def scaled_y(self, rows: Any) -> np.ndarray:
        """Return class numbers, or values scaled to mean 0 and deviation 1."""
        return self.target.scale_values(rows.y)

    def loss(self, predicted: np.ndarray, temperature: float = 1.0) -> float:
        """Return the loss on test rows of probabilities [rows, classes], or values [rows]."""
        return self._score(self.data.test, predicted, temperature)

    def validation_loss(self, predicted: np.ndarray, temperature: float = 1.0) -> float:
        return self._score(self.data.validation, predicted, temperature)

    def fit_temperature(self, predicted: np.ndarray) -> float:
        """Return the temperature that fits probabilities of the validation rows best.

        All methods are calibrated in the same way, since tabnas is. For regression it is 1.
        """
        if not self.classes:
            return 1.0
        rows = self.data.validation
        return fit_temperature(_logits(predicted), self.scaled_y(rows), rows.weight)

    def calibrated_loss(self, predicted: np.ndarray) -> float:
        """Return the loss on validation rows with the temperature that fits them best."""
        return self.validation_loss(predicted, self.fit_temperature(predicted))

    def _score(self, rows: Any, predicted: np.ndarray, temperature: float) -> float:
        if temperature != 1:
            predicted = probabilities(_logits(predicted) / temperature)
        return score(self.target, rows.y, predicted, rows.weight).metrics[self.metric].value

    def probabilities(self, shares: np.ndarray, classes: np.ndarray | None = None) -> np.ndarray:
        """Return probabilities of all classes that add up to 1, from those of some classes."""
        full = np.zeros((len(shares), self.classes))
        full[:, np.arange(self.classes) if classes is None else classes] = shares
        return full / full.sum(axis=1, keepdims=True)


def _logits(shares: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(shares, np.finfo(np.float64).tiny))


@lru_cache(maxsize=1)
def load_split(folder: Path, table: str, target: str, seed: int) -> Split:
    """Read a table, sample it if it is large, and split it as a run with this seed does."""
    rows = read_table(folder / f"{table}.parquet")
    rows = rows.drop([name for name in IDENTIFIERS if name in rows])
    if len(rows) > MAX_ROWS:
        chosen = stream(seed, f"sample of {table}").permutation(len(rows))[:MAX_ROWS]
        rows = rows.take(np.sort(chosen))
    return Split(LabelledTable.from_table(rows, target), seed)
