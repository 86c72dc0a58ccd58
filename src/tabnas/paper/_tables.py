"""The tables of the paper's experiments, or substitutes for them, with the paper's settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tabnas.data import Scaling, Shares, TableEncoder, Target, split_stratified
from tabnas.decoding import decode, parse_toml
from tabnas.errors import TabNASError, did_you_mean
from tabnas.feasible import FeasibleSet
from tabnas.model import make_examples, make_network_spec, probabilities, score
from tabnas.nets import (
    SGD,
    Adam,
    Constant,
    Cosine,
    Examples,
    NetworkSpec,
    Optimizer,
    SuperNet,
    TrainingSettings,
    train,
)
from tabnas.paper._table_files import find_file, locate_file, sample_rows
from tabnas.runs import LabelledTable
from tabnas.search import Search, SearchSettings
from tabnas.space import COSTS, Architecture, Budget, SearchSpace
from tabnas.streams import stream

OPTIMIZERS: dict[str, Optimizer] = {
    "adam": Adam(epsilon=1e-3),
    "sgd": SGD(),
    "momentum": SGD(momentum=0.9),
}
SPLIT = Shares(validation=0.2, test=0.0)  # as the paper


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of `tables.toml`."""

    description: str
    file: str
    target: str
    scaling: Scaling
    layers: int
    widths: tuple[int, ...]
    reference: str
    batch_size: int
    learning_rate: float
    cosine: bool
    optimizer: str
    epochs: int
    samples: int
    openml: int = 0
    rows: int = 0
    embedding: int = 0
    max_categories: int = 0

    def prepare(self, folder: Path | None) -> PreparedTable:
        """Read, split and encode the table."""
        remedy = (
            f"fetch https://www.openml.org/d/{self.openml}, save it as {self.file!r} in a folder, "
            "and name that with --data"
        )
        path = locate_file(self.file, folder, remedy=remedy if self.openml else "")
        data = LabelledTable.from_table(sample_rows(path, self.rows, name="paper"), self.target)
        split = split_stratified(data.y, SPLIT, stream(0, "split"))
        encoder = TableEncoder.fit(data.features, scaling=self.scaling, rows=split.train)
        if self.max_categories:
            encoder = encoder.with_max_categories(self.max_categories)
        spec = make_network_spec(
            encoder, data.target, (self.embedding,) * len(encoder.n_categories)
        )
        training, validation = (
            make_examples(spec, encoder.encode(data.features, rows=part), data.y[part])
            for part in (split.train, split.validation)
        )
        return PreparedTable(
            config=self,
            target=data.target,
            spec=spec,
            training=training,
            validation=validation,
            y=data.y[split.validation],
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedTable:
    """A table that is ready for searches and trainings as the paper makes them."""

    config: PaperTable
    target: Target
    spec: NetworkSpec
    training: Examples
    validation: Examples
    y: NDArray[Any]  # of the validation rows

    @cached_property
    def space(self) -> SearchSpace:
        """The paper's space for the inputs and outputs of this table."""
        inputs = self.spec.inputs
        return SearchSpace.uniform(
            layers=self.config.layers,
            widths=self.config.widths,
            inputs=inputs.width,
            outputs=self.spec.outputs,
            embedding_parameters=inputs.embedding_parameters,
        )

    @cached_property
    def limit(self) -> int:
        """The cost of the reference architecture."""
        reference = Architecture.parse(self.config.reference)
        return int(COSTS["dense_parameters"](self.space, reference))

    @cached_property
    def feasible(self) -> FeasibleSet:
        """The architectures that cost no more than the reference."""
        return FeasibleSet(self.space, Budget(dense_parameters=self.limit))

    def search_settings(self, *, seed: int = 0) -> SearchSettings:
        """Return the settings of Algorithms 1 and 2 as the paper runs them."""
        config = self.config
        return SearchSettings.paper(
            epochs=config.epochs,
            batch_size=config.batch_size,
            optimizer=OPTIMIZERS[config.optimizer],
            learning_rate=config.learning_rate,
            cosine=config.cosine,
            samples=config.samples,
            rl_learning_rate=0.005,
            seed=seed,
        )

    def search(self, settings: SearchSettings) -> Search:
        """Return a search within the limit that has not started."""
        return Search(self.feasible, self.training, self.validation, settings)

    def train(self, architecture: Architecture, *, seed: int) -> StandaloneScore:
        """Train an architecture stand-alone, and evaluate it after its last epoch."""
        config = self.config
        net = SuperNet.standalone(
            architecture, self.spec, optimizer=OPTIMIZERS[config.optimizer], seed=seed
        )
        schedule = Cosine(config.learning_rate) if config.cosine else Constant(config.learning_rate)
        settings = TrainingSettings(
            epochs=config.epochs, batch_size=config.batch_size, schedule=schedule, seed=seed
        )
        train(net, architecture, self.training, settings)
        loss = float(net.loss(architecture, self.validation))
        predicted = probabilities(net.logits(architecture, self.validation))
        scores = score(self.target, self.y, predicted, None, resamples=1)
        return StandaloneScore(loss=loss, balanced_error=scores["balanced_error"].value)

    def losses(self, architecture: Architecture, trainings: int) -> list[float]:
        """Return the losses of several trainings, with seeds 0, 1, ..."""
        return [self.train(architecture, seed=seed).loss for seed in range(trainings)]


@dataclass(frozen=True, kw_only=True)
class StandaloneScore:
    """The scores of a stand-alone training on the validation rows."""

    loss: float
    balanced_error: float


@lru_cache(maxsize=1)
def load_paper_tables() -> dict[str, PaperTable]:
    """Return all tables of `tables.toml` by name."""
    text = resources.files("tabnas.paper").joinpath("tables.toml").read_text()
    content = parse_toml(text, source="tables.toml")
    return decode(dict[str, PaperTable], content, source="tables.toml")


def get_paper_table(name: str) -> PaperTable:
    """Return the table with this name."""
    tables = load_paper_tables()
    if name not in tables:
        raise TabNASError(f"there is no table {name!r}; {did_you_mean(name, tables)}")
    return tables[name]


def prepare_table(
    name: str, data: Path | None, changes: Mapping[str, Any] | None = None
) -> PreparedTable:
    """Return a prepared table with changes to its fields; jobs in a row share it."""
    return _prepare(name, data, json.dumps(changes or {}))


@lru_cache(maxsize=4)
def _prepare(name: str, data: Path | None, changes: str) -> PreparedTable:
    values = json.loads(changes)
    if "widths" in values:
        values["widths"] = tuple(values["widths"])
    return replace(get_paper_table(name), **values).prepare(data)


def find_available_tables(names: Iterable[str], folder: Path | None) -> list[str]:
    """Return those of the tables whose files are in the folder or come with tabnas."""
    return [name for name in names if find_file(get_paper_table(name).file, folder)]


def describe_missing_tables(names: Iterable[str], available: Iterable[str]) -> str:
    """Return a sentence that names the tables that are not available; empty if all are."""
    available = set(available)
    missing = {name: get_paper_table(name) for name in names if name not in available}
    if not missing:
        return ""
    listed = ", ".join(
        f"{name} (`{table.file}`" + (f", OpenML {table.openml})" if table.openml else ")")
        for name, table in missing.items()
    )
    return f"Not run, since their files are missing: {listed}. Name their folder with `--data`."
