"""The tables of the paper's experiments, or those in their place, with the paper's settings."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tabnas.data import Scaling, Shares, TableEncoder, Target, split_stratified
from tabnas.errors import TabNASError, did_you_mean
from tabnas.feasible import FeasibleSet
from tabnas.model import make_examples, network_task, probabilities, score
from tabnas.nets import (
    SGD,
    Adam,
    Constant,
    Cosine,
    Examples,
    Optimizer,
    SuperNet,
    Task,
    TrainingSettings,
    train,
)
from tabnas.paper._table_files import locate_file, sample_rows
from tabnas.runs import LabelledTable
from tabnas.search import SearchSettings
from tabnas.space import COSTS, Architecture, Budget, SearchSpace
from tabnas.streams import stream

OPTIMIZERS: dict[str, Optimizer] = {
    "adam": Adam(epsilon=1e-3),
    "sgd": SGD(),
    "momentum": SGD(momentum=0.9),
}
SPLIT = Shares(validation=0.2, test=0.0)  # as the paper; seed and rows decide nothing else


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table as the TOML file describes it."""

    name: str
    what: str
    file: str
    target: str
    scaling: Scaling
    layers: int
    widths: tuple[int, ...]
    reference: str
    batch_size: int
    rate: float
    cosine: bool
    optimizer: str
    epochs: int
    samples: int
    openml: int = 0
    rows: int = 0
    embedding: int = 0
    most_categories: int = 0

    def prepare(self, folder: Path | None, *, rows: int = 0, epochs: int = 0) -> PreparedTable:
        """Read, split and encode the table; quick forms take fewer rows and epochs."""
        table = sample_rows(self._path(folder), rows or self.rows, name="paper")
        data = LabelledTable.from_table(table, self.target)
        split = split_stratified(data.truth, SPLIT, stream(0, "split"))
        encoder = TableEncoder.fit(data.features, scaling=self.scaling, rows=split.train)
        if self.most_categories:
            encoder = encoder.with_max_categories(self.most_categories)
        task = network_task(encoder, data.target, (self.embedding,) * len(encoder.categories))
        training, validation = (
            make_examples(task, encoder.encode(data.features, rows=part), data.truth[part])
            for part in (split.train, split.validation)
        )
        return PreparedTable(
            said=replace(self, epochs=epochs or self.epochs),
            target=data.target,
            task=task,
            training=training,
            validation=validation,
            truth=data.truth[split.validation],
        )

    def _path(self, folder: Path | None) -> Path:
        remedy = (
            f"fetch https://www.openml.org/d/{self.openml}, save it as {self.file!r} in a folder, "
            "and name that with --data"
        )
        return locate_file(self.file, folder, remedy=remedy if self.openml else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedTable:
    """A table ready for searches and trainings as the paper makes them."""

    said: PaperTable
    target: Target
    task: Task
    training: Examples
    validation: Examples
    truth: NDArray[Any]  # of the validation rows

    @cached_property
    def space(self) -> SearchSpace:
        """The paper's space for the ends of this table."""
        inputs = self.task.inputs
        return SearchSpace.uniform(
            layers=self.said.layers,
            widths=self.said.widths,
            inputs=inputs.width,
            outputs=self.task.outputs,
            embedding_parameters=inputs.embedding_parameters,
        )

    @cached_property
    def limit(self) -> int:
        """What the reference costs here."""
        reference = Architecture.parse(self.said.reference)
        return int(COSTS["dense_parameters"](self.space, reference))

    @cached_property
    def feasible(self) -> FeasibleSet:
        """What costs no more than the reference."""
        return FeasibleSet(self.space, Budget(dense_parameters=self.limit))

    def search_settings(self, *, rl_rate: float = 0.005, seed: int = 0) -> SearchSettings:
        """Algorithms 1 and 2 as the paper runs them."""
        said = self.said
        return SearchSettings.paper(
            epochs=said.epochs,
            batch_size=said.batch_size,
            optimizer=OPTIMIZERS[said.optimizer],
            learning_rate=said.rate,
            cosine=said.cosine,
            samples=said.samples,
            rl_learning_rate=rl_rate,
            seed=seed,
        )

    def train(self, architecture: Architecture, *, seed: int) -> Trained:
        """One stand-alone training, judged after its last epoch."""
        said = self.said
        net = SuperNet.standalone(
            architecture, self.task, optimizer=OPTIMIZERS[said.optimizer], seed=seed
        )
        schedule = Cosine(said.rate) if said.cosine else Constant(said.rate)
        how = TrainingSettings(
            epochs=said.epochs, batch_size=said.batch_size, schedule=schedule, seed=seed
        )
        train(net, architecture, self.training, how)
        loss = float(net.loss(architecture, self.validation))
        chances = probabilities(net.logits(architecture, self.validation))
        scores = score(self.target, self.truth, chances, None, resamples=1)
        return Trained(loss=loss, balanced_error=scores["balanced_error"].value)


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What became of a stand-alone training, on the validation rows."""

    loss: float
    balanced_error: float


def paper_tables() -> dict[str, PaperTable]:
    """All tables by name."""
    text = resources.files("tabnas.paper").joinpath("tables.toml").read_text()
    return {
        name: PaperTable(name=name, **{**said, "widths": tuple(said["widths"])})
        for name, said in tomllib.loads(text).items()
    }


def paper_table(name: str) -> PaperTable:
    """One of them."""
    tables = paper_tables()
    if name not in tables:
        raise TabNASError(f"there is no table {name!r}; {did_you_mean(name, tables)}")
    return tables[name]
