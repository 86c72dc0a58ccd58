"""The interface of runtimes: how they call an exported model and a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabnas.data import Table
from tabnas.latency._clock import Call
from tabnas.latency._terms import NetworkShape
from tabnas.model import Model, weight_shapes
from tabnas.nets import Inputs, NetworkSpec
from tabnas.space import Precision
from tabnas.streams import stream
from tabnas.types import Float32Array

DEFAULT_RESOLUTION = 2.0**-7
"""8 ns: far below what can be measured in onnxruntime, and coarse enough for costs to coincide,
which keeps feasible sets small."""


@dataclass(frozen=True, kw_only=True)
class SurveySize:
    """How many random networks and tables are measured to know a machine."""

    fitted: int  # networks to fit the terms on
    held_out: int  # others, to measure the errors of the terms
    tables: int  # to fit the terms of columns on, and as many to measure their errors
    embedded: int  # networks to fit the terms of embeddings on, and as many to measure their errors
    max_width: int  # of a random network


class Runtime(ABC):
    """A way to run exported models on one thread."""

    name: ClassVar[str]
    precisions: ClassVar[tuple[Precision, ...]]
    """The precisions that are measured. If it is only float32, the others take as long."""
    survey: ClassVar[SurveySize]
    has_single_units: ClassVar[bool]
    """Whether units beyond full vectors are computed one by one: see `LatencyTerms`."""
    loops_over_rows: ClassVar[bool]
    """Whether a call of several rows is a loop, and takes as many times as long as one row."""
    build_threads: ClassVar[int]
    """How many calls can be made ready at the same time."""

    @abstractmethod
    def version(self) -> str:
        """Return the installed version; raise an error if it is not installed."""

    @abstractmethod
    def describe(self, version: str) -> str:
        """Return what reports call the runtime in that version."""

    @abstractmethod
    def model_call(self, model: Model, table: Table, rows: int) -> Call:
        """Return a call of an exported model, preprocessing included, on this many rows of a table.

        If the table has fewer rows, they are repeated.
        """

    @abstractmethod
    def network_call(
        self, shape: NetworkShape, rows: int, precision: Precision = Precision.FLOAT32
    ) -> Call:
        """Return a call of a network without preprocessing, with random weights, on random rows."""

    def resolution(self, rows: int) -> float:
        """Return the resolution of a `LatencyCost` for calls of this many rows."""
        return DEFAULT_RESOLUTION

    def precisions_to_measure(self, precisions: Sequence[Precision]) -> tuple[Precision, ...]:
        """Return the precisions that are measured for networks of these precisions.

        Float32 is always measured, since busy machines are recognised by a network of float32.
        """
        others = [p for p in precisions if p in self.precisions and p != Precision.FLOAT32]
        return (Precision.FLOAT32, *others)


def take_rows(table: Table, rows: int) -> Table:
    """Return the first rows of a table; if it has fewer, they are repeated."""
    return table.take(np.resize(np.arange(len(table)), rows))


def make_spec(shape: NetworkShape) -> NetworkSpec:
    """Return a spec whose networks have this shape.

    All embedded columns have the same number of knots.
    """
    others = shape.inputs - shape.columns
    count = shape.knots // max(1, shape.columns)
    knots = [np.linspace(-2.0, 2.0, count).tolist()] * shape.columns + [[]] * others
    return NetworkSpec(
        inputs=Inputs(numeric=shape.inputs, knots=knots),
        loss="squared_error",
        outputs=shape.outputs,
    )


def make_weights_and_rows(
    shape: NetworkShape, spec: NetworkSpec, rows: int
) -> tuple[Mapping[str, Float32Array], Float32Array]:
    """Return random weights of a network, and random rows."""
    rng = stream(0, f"latency weights/{shape.architecture}")
    weights = {
        name: rng.normal(scale=size[0] ** -0.5, size=size).astype(np.float32)
        for name, size in weight_shapes(spec, shape.architecture).items()
    }
    return weights, rng.normal(size=(rows, shape.inputs)).astype(np.float32)
