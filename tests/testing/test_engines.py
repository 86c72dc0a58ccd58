"""Every engine keeps the contract, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import (
    ENGINES,
    NUMERIC_EMBEDDING,
    Child,
    EngineFactory,
    Examples,
    Inputs,
    Loss,
    NetworkSpec,
    RowIndex,
    State,
    SuperNet,
    TopClasses,
)
from tabnas.space import Architecture
from tabnas.testing import ReferenceEngine, check_engine
from tabnas.types import BoolArray, FloatArray, IntArray

IN_A_GROUP = {"torch.distributed"}  # tests/nets/torch/test_group.py


@pytest.mark.parametrize("name", sorted(ENGINES.keys() - IN_A_GROUP))
def test_conformance(name: str) -> None:
    if name == "torch":
        # the networks are so small that threads only wait for each other
        pytest.importorskip("torch").set_num_threads(1)
    check_engine(name)


def test_conformance_of_the_reference() -> None:
    check_engine(ReferenceEngine)


class _Decays(ReferenceEngine):
    """Lets biases decay, too."""

    def _update(self, name: str, g: FloatArray, *given: Any) -> None:
        super()._update(name, g, *given[:3], self._optimizer.weight_decay)


class _Dense(ReferenceEngine):
    """Moves what no child uses, as a dense optimiser would."""

    def _update(self, name: str, g: FloatArray, used: BoolArray, *given: Any) -> None:
        super()._update(name, g, np.ones_like(used), *given)


class _MovesAllKnots(ReferenceEngine):
    """Moves knots that no value has read."""

    def _update(self, name: str, g: FloatArray, used: BoolArray, *given: Any) -> None:
        all_knots = np.broadcast_to(used.any(axis=-1, keepdims=True), used.shape)
        super()._update(name, g, all_knots if name == NUMERIC_EMBEDDING else used, *given)


class _CountsTheNetworksSteps(ReferenceEngine):
    def _count_steps(self, name: str, used: BoolArray) -> IntArray:
        return super()._count_steps(name, np.ones_like(used))


class _Reckless(ReferenceEngine):
    """Takes whatever step it is told to."""

    def train_step_workers(
        self, children: Sequence[Child], examples: Examples, rows: Sequence[RowIndex], rate: float
    ) -> list[float]:
        losses = super().train_step_workers(children, examples, rows, rate)
        if not all(map(isfinite, losses)):
            self._state["weight/head.1.bias"] += 1
        return losses


class _Weightless(ReferenceEngine):
    """Does not know that rows have weights."""

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        arrays = {"numeric": examples.numeric, "categorical": examples.categorical}
        return super().loss(child, Examples(examples.spec, target=examples.target, **arrays), rows)


def _with_target(examples: Examples, target: Any) -> Examples:
    arrays = {
        "numeric": examples.numeric,
        "categorical": examples.categorical,
        "weight": examples.weight,
    }
    return Examples(examples.spec, target=target, **arrays)


class _Hardens(ReferenceEngine):
    """Learns only the most probable class."""

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        if not len(examples.labels) and examples.spec.loss is Loss.SOFTMAX:
            examples = _with_target(examples, examples.values.argmax(axis=1))
        return super().loss(child, examples, rows)


class _ForgetsRepeatedClasses(ReferenceEngine):
    """Takes the last probability of a class that is repeated in a row."""

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        if isinstance(examples.target, TopClasses):
            probabilities = np.zeros((len(examples), examples.spec.outputs))
            for k in range(examples.labels.shape[1]):
                at = np.arange(len(examples)), examples.labels[:, k]
                probabilities[at] = examples.values[:, k]
            probabilities /= probabilities.sum(axis=1, keepdims=True)
            examples = _with_target(examples, probabilities)
        return super().loss(child, examples, rows)


class _Shares(ReferenceEngine):
    """Hands out its own arrays for a state."""

    def state_dict(self) -> State:
        return self._state


class _Forgets(ReferenceEngine):
    """Loads the weights and nothing else."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        weights = {name: array for name, array in state.items() if name.startswith("weight/")}
        super().load_state_dict(self._state | weights)


class _Omits(ReferenceEngine):
    """Has buffers without the last array."""

    def weight_buffers(self) -> list[Any]:
        return super().weight_buffers()[:-1]

    def load_weight_buffers(self, buffers: Sequence[Any]) -> None:
        super().load_weight_buffers([*buffers, *super().weight_buffers()[-1:]])


class _Restarts(ReferenceEngine):
    """Forgets the moments when it gets other weights."""

    def load_weight_buffers(self, buffers: Sequence[Any]) -> None:
        super().load_weight_buffers(buffers)
        for name, array in self._state.items():
            if "moment" in name:
                array[...] = 0


class _Leaks(ReferenceEngine):
    """Multiplies what is beyond the child by 0."""

    def _child(self, child: Child) -> dict[str, FloatArray]:
        beyond = sum(0 * float(array.sum()) for array in self.weights().values())
        return {name: array + beyond for name, array in super()._child(child).items()}


class _Moody(ReferenceEngine):
    """Depends on more than it was told."""

    made = 0

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        _Moody.made += 1
        self._mood = 1 + 1e-6 * _Moody.made

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        rates: Sequence[float],
    ) -> list[float]:
        return super().train_steps(children, examples, rows, [rate * self._mood for rate in rates])


class _TakesOneRate(ReferenceEngine):
    """Takes all steps of a call with the first learning rate."""

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        rates: Sequence[float],
    ) -> list[float]:
        return super().train_steps(children, examples, rows, [rates[0]] * len(rates))


class _GoesOn(ReferenceEngine):
    """Takes the steps of a call that follow one that is not finite."""

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        rates: Sequence[float],
    ) -> list[float]:
        losses: list[float] = []
        for child, batch, rate in zip(children, rows, rates, strict=True):
            losses += self.train_step_workers([child], examples, [batch], rate)
        return losses


class _Wraps(ReferenceEngine):
    """Counts rows from the end where they are negative, as NumPy does."""

    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Any:
        if isinstance(rows, np.ndarray):
            rows = rows % len(examples)
        return super().logits(child, examples, rows)


class _Sorts(ReferenceEngine):
    """Gives rows in their own order, each once."""

    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Any:
        return super().logits(child, examples, rows if isinstance(rows, slice) else np.sort(rows))


@pytest.mark.parametrize(
    ("engine", "complaint"),
    [
        (_Decays, "the state after steps of SGD"),
        (_Dense, "must not move all of"),
        (_MovesAllKnots, "must not move all of .*numeric_embedding"),
        (_CountsTheNetworksSteps, "the state after steps of Adam"),
        (_Reckless, "a step that is not finite must move nothing"),
        (_Weightless, "loss must raise TabNASError"),
        (_Hardens, "the softmax loss of class probabilities must be"),
        (_ForgetsRepeatedClasses, "the softmax loss of three top classes must be"),
        (_Shares, "a state must not change"),
        (_Forgets, "must continue with the same bits"),
        (_Omits, "buffers of earlier weights must replace the weights"),
        (_Restarts, "must replace the weights, and nothing else"),
        (_Leaks, "beside broken weights"),
        (_Moody, "the same"),
        (_TakesOneRate, "steps in one call must have the losses of single steps"),
        (_GoesOn, "a step that is not finite must be the last of its call"),
        (_Wraps, "logits must raise TabNASError"),
        (_Sorts, "logits must be"),
    ],
)
def test_the_suite_finds_what_is_broken(engine: EngineFactory, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_engine(engine)


def test_a_custom_engine_has_a_name_once_it_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = NetworkSpec(inputs=Inputs(numeric=2), loss="logistic")
    with pytest.raises(TabNASError, match="unknown engine 'plain'"):
        SuperNet.standalone("4", spec, engine="plain")
    monkeypatch.setitem(ENGINES, "plain", ReferenceEngine)
    net = SuperNet.standalone("4", spec, engine="plain")
    assert net.loss(Architecture((4,)), Examples(spec, numeric=[[0.0, 1.0]], target=[1])) > 0
