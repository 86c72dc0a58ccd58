"""The SuperNet: one set of weights for all architectures of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError, check_int
from tabnas.nets._engine import RowIndex, State
from tabnas.nets._engines import EngineFactory, get_engine_factory
from tabnas.nets._errors import NonFiniteLossError
from tabnas.nets._examples import Examples
from tabnas.nets._initialization import init_weights
from tabnas.nets._network_spec import NetworkSpec
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._shape import Child, SuperNetShape
from tabnas.space import ABSENT, Architecture, SearchSpace
from tabnas.states import read_counts, read_floats
from tabnas.types import Float32Array, IntArray

ChildLike = Architecture | Sequence[int] | IntArray
MAX_CACHED_CHILDREN = 1 << 16
MAX_FLOAT32 = float(np.finfo(np.float32).max)
# the first entry of cache keys that hold choices, or a dimension and widths; no width is negative
CHOICES, EMBEDDED = -1, -2


class SuperNet:
    """Weights shared by all architectures of a space: a child uses the first units of each layer.

    A child is an `Architecture` or its choices (one index per layer). Rows of the examples are a
    slice without a step, or an array of row numbers.

    >>> from tabnas.nets import Inputs
    >>> spec = NetworkSpec(inputs=Inputs(numeric=2), loss="logistic")
    >>> net = SuperNet(SearchSpace([[2, 4], [0, 4]], inputs=2, outputs=1), spec, seed=1)
    >>> examples = Examples(spec, numeric=[[0.0, 1.0], [1.0, 0.0]], target=[0, 1])
    >>> child = Architecture((4,))
    >>> before = net.loss(child, examples)
    >>> for _ in range(20):
    ...     loss = net.train_step(child, examples, slice(0, 2), learning_rate=0.01)
    >>> net.loss(child, examples) < before
    True
    """

    def __init__(
        self,
        space: SearchSpace,
        spec: NetworkSpec,
        *,
        optimizer: Optimizer | None = None,
        seed: int = 0,
        engine: str | EngineFactory = "compiled",
        workers: int = 1,
        device: str = "cpu",
    ) -> None:
        """Build a network with new weights.

        Parameters
        ----------
        optimizer : Optimizer
            `SGD(...)` or `Adam(...)`, the default.
        seed : int
            Determines the initial weights.
        engine : str or EngineFactory
            A name in `tabnas.nets.ENGINES`, "compiled" or "torch" (an extra), or the class of your
            own engine. "torch.distributed" is the torch engine in several processes, those of the
            group that `torch.distributed` was initialised with. Each of them builds the same
            network and makes the same calls. They share the work of `train_steps`,
            `train_step_workers` and `losses`; every process computes everything else itself.
        workers : int
            The maximal number of children that `train_step_workers` trains in one step.
        device : str
            For the torch engine, for example "cuda".
        """
        self.space = space
        self.spec = spec
        self.optimizer = Adam() if optimizer is None else optimizer
        self._lock = Lock()  # an engine has one workspace
        self._engine_settings = {"engine": engine, "device": device}
        self.workers = check_int("workers", workers, minimum=1)
        self.steps = 0  # training steps taken so far
        self._shape = SuperNetShape(space, spec)
        self._children: dict[tuple[int, ...], Child] = {}
        weights = init_weights(self._shape, check_int("seed", seed, minimum=0))
        factory = get_engine_factory(engine)
        self._engine = factory(self._shape, self.optimizer, weights, workers=workers, device=device)

    @classmethod
    def standalone(
        cls, architecture: Architecture | str, spec: NetworkSpec, **settings: Any
    ) -> SuperNet:
        """Return a network of one architecture; `settings` are those of the SuperNet."""
        if isinstance(architecture, str):
            architecture = Architecture.parse(architecture)
        dimension = architecture.dimension
        if dimension and not spec.inputs.embedded_numeric:
            raise TabNASError(
                f"{architecture} has numeric embeddings, so the inputs of its network spec must "
                "have knots, got none; pass Inputs(knots=...)"
            )
        space = SearchSpace(
            [[width] for width in architecture.widths or (ABSENT,)],
            inputs=spec.inputs.width,
            outputs=spec.outputs,
            numeric_embeddings=spec.inputs.numeric_embeddings([dimension]) if dimension else None,
        )
        return cls(space, spec, **settings)

    # -- training --------------------------------------------------------------------------------

    def train_step(
        self, child: ChildLike, examples: Examples, rows: RowIndex, learning_rate: float
    ) -> float:
        """Update the child's weights by one step on these rows; return the loss before the step."""
        self._check_examples(examples, target=True)
        learning_rate = _check_learning_rate(learning_rate)
        resolved, row_numbers = self._resolve_trained(child), _check_rows(rows)
        with self._lock:
            (loss,) = self._engine.train_steps([resolved], examples, [row_numbers], [learning_rate])
            return self._count_step(loss, learning_rate)

    def train_steps(
        self,
        children: Sequence[ChildLike],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rates: Sequence[float],
    ) -> list[float]:
        """Take one step after another, each of one child; return the losses before each.

        It gives the same bits as `train_step` for each, and takes less time for small networks. A
        step whose loss or gradient is not finite changes nothing and is the last: its loss, which
        is not finite, ends the list. If there are fewer losses for another reason, the remaining
        steps were not taken either; ask for them again.
        """
        if not 1 <= len(children) == len(rows) == len(learning_rates):
            raise TabNASError(
                "there must be as many children as batches of rows and learning rates, at least "
                f"one, got {len(children)}, {len(rows)} and {len(learning_rates)}"
            )
        self._check_examples(examples, target=True)
        rates = [_check_learning_rate(learning_rate) for learning_rate in learning_rates]
        resolved = [self._resolve_trained(child) for child in children]
        batches = [_check_rows(batch) for batch in rows]
        with self._lock:
            losses = self._engine.train_steps(resolved, examples, batches, rates)
            self.steps += len(losses) - (not isfinite(losses[-1]))
        return losses

    def train_step_workers(
        self,
        children: Sequence[ChildLike],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the average gradient of several children, each on its own rows.

        The average is over all children; a child that does not use an element adds 0 to its
        gradient. An element moves if any child uses it. Return the loss of each child before the
        step.
        """
        if not 1 <= len(children) == len(rows) <= self.workers:
            raise TabNASError(
                f"there must be as many children as batches of rows, from 1 to {self.workers} (the "
                f"workers of this network), got {len(children)} and {len(rows)}"
            )
        self._check_examples(examples, target=True)
        learning_rate = _check_learning_rate(learning_rate)
        resolved = [self._resolve_trained(child) for child in children]
        batches = [_check_rows(batch) for batch in rows]
        with self._lock:
            losses = self._engine.train_step_workers(resolved, examples, batches, learning_rate)
            worst = max(losses, key=lambda loss: loss if isfinite(loss) else np.inf)
            self._count_step(worst, learning_rate)
        return losses

    def _count_step(self, loss: float, learning_rate: float) -> float:
        """Count a step and return its loss; raise an error if it is not finite."""
        if not isfinite(loss):
            raise NonFiniteLossError(self.steps + 1, loss, learning_rate)
        self.steps += 1
        return loss

    def multiply_adds(self, child: ChildLike) -> int:
        """Return the multiply-adds of the child's dense layers, for the outputs of one row."""
        return self._resolve(child).multiply_adds

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: ChildLike, examples: Examples, rows: RowIndex | None = None) -> float:
        """Return the (weighted) mean loss of the child on the given rows, by default all."""
        self._check_examples(examples, target=True)
        rows = slice(None) if rows is None else _check_rows(rows)
        with self._lock:
            return self._engine.loss(self._resolve(child), examples, rows)

    def losses(
        self, children: Sequence[ChildLike], examples: Examples, rows: RowIndex | None = None
    ) -> list[float]:
        """Return the loss of each child, all on the same rows."""
        self._check_examples(examples, target=True)
        rows = slice(None) if rows is None else _check_rows(rows)
        resolved = [self._resolve(child) for child in children]
        if not resolved:
            return []
        with self._lock:
            return self._engine.losses(resolved, examples, rows)

    def logits(
        self, child: ChildLike, examples: Examples, rows: RowIndex | None = None
    ) -> Float32Array:
        """Return the child's outputs [rows, outputs]: logits, or predictions of a regression."""
        self._check_examples(examples, target=False)
        rows = slice(None) if rows is None else _check_rows(rows)
        with self._lock:
            return self._engine.logits(self._resolve(child), examples, rows)

    def gradients(
        self, child: ChildLike, examples: Examples, rows: RowIndex | None = None
    ) -> dict[str, Float32Array]:
        """Return the gradient of the loss for every array that the child uses, in its shapes."""
        self._check_examples(examples, target=True)
        rows = slice(None) if rows is None else _check_rows(rows)
        with self._lock:
            return self._engine.gradients(self._resolve(child), examples, rows)

    # -- weights and state -----------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Return copies of all weights by name (see `child_weights` for one child's)."""
        with self._lock:
            weights = self._engine.weights()
            return {name: np.array(array, order="C") for name, array in weights.items()}

    def child_weights(self, child: ChildLike) -> dict[str, Float32Array]:
        """Return copies of one child's weights, for a stand-alone network to load."""
        shapes = self._shape.child_shapes(self._resolve(child))
        with self._lock:
            weights = self._engine.weights()
            return {
                name: np.array(weights[name][tuple(slice(size) for size in shape)], order="C")
                for name, shape in shapes.items()
            }

    def load_weights(self, weights: Mapping[str, ArrayLike]) -> None:
        """Replace all weights; moments and step counts do not change."""
        _check_names("weights", weights, self._shape.shapes())
        loaded = {
            f"weight/{name}": np.asarray(array, np.float32) for name, array in weights.items()
        }
        with self._lock:
            self._engine.load_state_dict({**self._engine.state_dict(), **loaded})

    def weight_buffers(self) -> list[Float32Array]:
        """Return all weights as few arrays, as the engine stores them; do not write to them.

        They may be views of the weights, which the next step changes.
        """
        with self._lock:
            return self._engine.weight_buffers()

    def load_weight_buffers(self, buffers: Sequence[Float32Array]) -> None:
        """Replace all weights by arrays like those of `weight_buffers`; see `load_weights`.

        It is much faster than `load_weights`, which checks names and shapes.
        """
        with self._lock:
            self._engine.load_weight_buffers(buffers)

    def state_dict(self) -> State:
        """Return weights, moments and step counts, as plain arrays."""
        with self._lock:
            return {"steps": np.array(self.steps, np.int64), **self._engine.state_dict()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load the state of a network with the same space, spec and kind of optimizer."""
        current = self.state_dict()
        _check_names("state", state, {name: array.shape for name, array in current.items()})
        # the kernels use step counts as indices, so one out of range would read other memory
        checked: State = {
            name: read_counts(state, name, array.shape)
            if name.startswith("steps")
            else read_floats(state, name, array.shape, finite=False, dtype=np.float32)
            for name, array in current.items()
        }
        with self._lock:
            self._engine.load_state_dict(checked)
            self.steps = int(checked["steps"])

    def with_weights(self, weights: Mapping[str, ArrayLike]) -> SuperNet:
        """Return a network of the same space and engine with other weights, for evaluation."""
        net = SuperNet(self.space, self.spec, optimizer=SGD(), **self._engine_settings)  # type: ignore[arg-type]
        net.load_weights(weights)
        return net

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the network as its settings and state."""
        settings = {"optimizer": self.optimizer, "workers": self.workers, **self._engine_settings}
        return _rebuild, (self.space, self.spec, settings, self.state_dict())

    # -- checks ----------------------------------------------------------------------------------

    def _resolve(self, child: ChildLike) -> Child:
        # a hash of only the widths is several times faster than the architecture's own
        if isinstance(child, Architecture):
            key = child.widths
            if child.dimension:
                key = (EMBEDDED, child.dimension, *key)
        else:
            key = (CHOICES, *child)
        cached = self._children.get(key)
        if cached is not None:
            return cached
        if not isinstance(child, Architecture):
            if min(child, default=0) < 0:
                raise TabNASError(f"choices must be indices of candidates, got {child}")
            child = self.space.architecture(child)
        if len(self._children) >= MAX_CACHED_CHILDREN:
            self._children.clear()
        resolved = self._children[key] = self._shape.child(child)
        return resolved

    def _resolve_trained(self, child: ChildLike) -> Child:
        """Resolve a child that is trained: steps are counted between candidate widths."""
        resolved = self._resolve(child)
        if not resolved.is_trainable:
            self.space.choices(resolved.architecture)  # raises an error
        return resolved

    def _check_examples(self, examples: Examples, *, target: bool) -> None:
        if examples.spec is not self.spec and examples.spec != self.spec:
            raise TabNASError(
                f"examples must have the spec of the network, {self.spec}, got {examples.spec}"
            )
        if target and not examples.has_target:
            raise TabNASError("examples must have targets, got none")


def _rebuild(
    space: SearchSpace, spec: NetworkSpec, settings: dict[str, Any], state: State
) -> SuperNet:
    net = SuperNet(space, spec, **settings)
    net.load_state_dict(state)
    return net


def _check_rows(rows: RowIndex) -> RowIndex:
    if isinstance(rows, slice):
        if rows.step not in (None, 1):
            raise TabNASError(f"a slice of rows must have no step, got {rows.step}")
        return rows
    if (
        isinstance(rows, np.ndarray)
        and rows.dtype == np.int64
        and rows.ndim == 1
        and rows.flags.carray
    ):
        return rows
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TabNASError(
            "rows must be a slice or a one-dimensional array of integers, "
            f"got {array.dtype} {array.shape}"
        )
    return np.array(array, np.int64)


def _check_learning_rate(learning_rate: float) -> float:
    if not 0.0 <= learning_rate <= MAX_FLOAT32:
        raise TabNASError(f"learning_rate must be at least 0 and finite, got {learning_rate}")
    return float(learning_rate)


def _check_names(
    what: str, arrays: Mapping[str, ArrayLike], expected: Mapping[str, tuple[int, ...]]
) -> None:
    wrong = sorted(set(arrays) ^ set(expected))
    if wrong:
        raise TabNASError(
            f"the {what} must hold exactly the arrays of this network; missing or unknown: "
            f"{', '.join(wrong[:5])}"
        )
    for name, shape in expected.items():
        if np.shape(arrays[name]) != shape:
            raise TabNASError(f"{name} must have the shape {shape}, got {np.shape(arrays[name])}")
