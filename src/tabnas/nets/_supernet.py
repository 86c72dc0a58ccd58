"""The SuperNet: one set of weights for all architectures of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabnasError, whole
from tabnas.nets._engine import Rows, State
from tabnas.nets._engines import MakeEngine, maker_of
from tabnas.nets._errors import NonFiniteLossError
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._initial import initial_weights
from tabnas.nets._optimizers import Adam, Optimizer
from tabnas.nets._shape import Child, SuperNetShape
from tabnas.nets._task import Task
from tabnas.space import ABSENT, Architecture, SearchSpace
from tabnas.states import counts, floats
from tabnas.types import IntArray

ChildLike = Architecture | Sequence[int] | IntArray
REMEMBERED_CHILDREN = 1 << 16
CHOICES = -1  # begins the keys of children that are given as choices, as no width can


class SuperNet:
    """Weights shared by all architectures of a space: a child uses the first units of each layer.

    A child is an `Architecture` or its choices (one index per layer). Rows of the examples are a
    slice without a step, or an array of row numbers.

    >>> from tabnas.nets import Inputs
    >>> task = Task(inputs=Inputs(numeric=2), loss="logistic")
    >>> net = SuperNet(SearchSpace([[2, 4], [0, 4]], inputs=2, outputs=1), task, seed=1)
    >>> examples = Examples(task, numeric=[[0.0, 1.0], [1.0, 0.0]], target=[0, 1])
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
        task: Task,
        *,
        optimizer: Optimizer | None = None,
        seed: int = 0,
        engine: str | MakeEngine = "compiled",
        workers: int = 1,
        device: str = "cpu",
    ) -> None:
        """Build with fresh weights.

        Parameters
        ----------
        optimizer : Optimizer
            `SGD(...)` or `Adam(...)`, the default.
        seed : int
            Determines the initial weights.
        engine : str or MakeEngine
            A name among `tabnas.nets.ENGINES`: "compiled", or "torch" (an extra); or the class of
            an engine of your own. "torch.distributed" is the torch engine in several processes,
            those of the group that `torch.distributed` was initialised with: each of them makes the
            same network and asks it for the same, and they share the work of `train_step`,
            `train_step_workers` and `losses`. The rest each computes for itself.
        workers : int
            The most children that `train_step_workers` trains side by side.
        device : str
            For the torch engine, for example "cuda".
        """
        self.space = space
        self.task = task
        self.optimizer = Adam() if optimizer is None else optimizer
        self._lock = Lock()  # the engines have one workspace
        self._made_with = {"engine": engine, "device": device}
        self.workers = whole("workers", workers, least=1)
        self.steps = 0  # training steps taken so far
        self._shape = SuperNetShape(space, task)
        self._children: dict[tuple[int, ...], Child] = {}
        weights = initial_weights(self._shape, whole("seed", seed, least=0))
        make = maker_of(engine)
        self._engine = make(self._shape, self.optimizer, weights, workers=workers, device=device)

    @classmethod
    def standalone(cls, architecture: Architecture | str, task: Task, **settings: Any) -> SuperNet:
        """A network of one architecture; `settings` as for the SuperNet."""
        if isinstance(architecture, str):
            architecture = Architecture.parse(architecture)
        widths = architecture.widths or (ABSENT,)
        ends = {"inputs": task.inputs.width, "outputs": task.outputs}
        return cls(SearchSpace([[width] for width in widths], **ends), task, **settings)

    # -- training --------------------------------------------------------------------------------

    def train_step(
        self, child: ChildLike, examples: Examples, rows: Rows, learning_rate: float
    ) -> float:
        """Move the child's weights by one step on these rows; returns the loss before the step."""
        self._check(examples, target=True)
        rate = _rate(learning_rate)
        resolved, listed = self._child(child), _as_rows(rows)
        with self._lock:
            loss = self._engine.train_step(resolved, examples, listed, rate)
            return self._finite(loss, rate)

    def train_step_workers(
        self,
        children: Sequence[ChildLike],
        examples: Examples,
        rows: Sequence[Rows],
        learning_rate: float,
    ) -> list[float]:
        """One step by the average gradient of several children, each on its own rows.

        The average is over all children; one that does not use an element adds 0 to its gradient.
        An element moves if any child uses it. Returns the loss of each child before the step.
        """
        if not 1 <= len(children) == len(rows) <= self.workers:
            raise TabnasError(
                f"children and rows must be equally many, from 1 to the {self.workers} workers of "
                f"this network, however {len(children)} and {len(rows)} were given"
            )
        self._check(examples, target=True)
        rate = _rate(learning_rate)
        resolved = [self._child(child) for child in children]
        batches = [_as_rows(batch) for batch in rows]
        with self._lock:
            losses = self._engine.train_step_workers(resolved, examples, batches, rate)
            self._finite(max(losses, key=lambda loss: loss if isfinite(loss) else np.inf), rate)
        return losses

    def _finite(self, loss: float, rate: float) -> float:
        if not isfinite(loss):
            raise NonFiniteLossError(self.steps + 1, loss, rate)
        self.steps += 1
        return loss

    # -- evaluation ------------------------------------------------------------------------------

    def loss(self, child: ChildLike, examples: Examples, rows: Rows | None = None) -> float:
        """The (weighted) mean loss of the child, on all rows unless some are given."""
        self._check(examples, target=True)
        rows = slice(None) if rows is None else _as_rows(rows)
        with self._lock:
            return self._engine.loss(self._child(child), examples, rows)

    def losses(
        self, children: Sequence[ChildLike], examples: Examples, rows: Rows | None = None
    ) -> list[float]:
        """The loss of each child, all on the same rows."""
        self._check(examples, target=True)
        rows = slice(None) if rows is None else _as_rows(rows)
        resolved = [self._child(child) for child in children]
        if not resolved:
            return []
        with self._lock:
            return self._engine.losses(resolved, examples, rows)

    def logits(
        self, child: ChildLike, examples: Examples, rows: Rows | None = None
    ) -> Float32Array:
        """The child's outputs [rows, outputs]: logits, or predictions if it is a regression."""
        self._check(examples, target=False)
        rows = slice(None) if rows is None else _as_rows(rows)
        with self._lock:
            return self._engine.logits(self._child(child), examples, rows)

    def gradients(
        self, child: ChildLike, examples: Examples, rows: Rows | None = None
    ) -> dict[str, Float32Array]:
        """The gradient of the loss for every array that the child uses, in the child's shapes."""
        self._check(examples, target=True)
        rows = slice(None) if rows is None else _as_rows(rows)
        with self._lock:
            return self._engine.gradients(self._child(child), examples, rows)

    # -- weights and state -----------------------------------------------------------------------

    def weights(self) -> dict[str, Float32Array]:
        """Copies of all weights, by name (see `child_weights` for one child's)."""
        with self._lock:
            weights = self._engine.weights()
            return {name: np.array(array, order="C") for name, array in weights.items()}

    def child_weights(self, child: ChildLike) -> dict[str, Float32Array]:
        """Copies of one child's weights: what a stand-alone network of it can load."""
        shapes = self._shape.child_shapes(self._child(child))
        with self._lock:
            weights = self._engine.weights()
            return {
                name: np.array(weights[name][tuple(slice(size) for size in shape)], order="C")
                for name, shape in shapes.items()
            }

    def load_weights(self, weights: Mapping[str, ArrayLike]) -> None:
        """Replace all weights; moments and step counts stay."""
        _check_names("weights", weights, self._shape.shapes())
        loaded = {
            f"weight/{name}": np.asarray(array, np.float32) for name, array in weights.items()
        }
        with self._lock:
            self._engine.load_state({**self._engine.state(), **loaded})

    def state(self) -> State:
        """All that shapes the future, as plain arrays: weights, moments and step counts."""
        with self._lock:
            return {"steps": np.array(self.steps, np.int64), **self._engine.state()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state of a network with the same space, task and kind of optimiser."""
        own = self.state()
        _check_names("state", state, {name: array.shape for name, array in own.items()})
        # the kernels take step counts for indices, so that one out of range would be read as such
        checked: State = {
            name: counts(state, name, array.shape)
            if name.startswith("steps")
            else floats(state, name, array.shape, finite=False, dtype=np.float32)
            for name, array in own.items()
        }
        with self._lock:
            self._engine.load_state(checked)
            self.steps = int(checked["steps"])

    def __reduce__(self) -> tuple[Any, ...]:
        """Networks go from process to process as their settings and state."""
        settings = {"optimizer": self.optimizer, "workers": self.workers, **self._made_with}
        return _rebuilt, (self.space, self.task, settings, self.state())

    # -- borders ---------------------------------------------------------------------------------

    def _child(self, child: ChildLike) -> Child:
        # a hash of the widths alone is several times faster than the architecture's own
        key = child.widths if isinstance(child, Architecture) else (CHOICES, *child)
        found = self._children.get(key)
        if found is not None:
            return found
        if not isinstance(child, Architecture):
            if min(child, default=0) < 0:
                raise TabnasError(f"choices must be indices of candidates, however {child} is not")
            child = self.space.architecture(child)
        if len(self._children) >= REMEMBERED_CHILDREN:
            self._children.clear()
        resolved = self._children[key] = self._shape.child(child)
        return resolved

    def _check(self, examples: Examples, *, target: bool) -> None:
        if examples.task is not self.task and examples.task != self.task:
            raise TabnasError(
                f"the examples must be of the network's task, {self.task}, "
                f"however they are of {examples.task}"
            )
        if target and not examples.has_target:
            raise TabnasError("the examples must have targets, however none were given")


def _rebuilt(space: SearchSpace, task: Task, settings: dict[str, Any], state: State) -> SuperNet:
    net = SuperNet(space, task, **settings)
    net.load_state(state)
    return net


def _as_rows(rows: Rows) -> Rows:
    if isinstance(rows, slice):
        if rows.step not in (None, 1):
            raise TabnasError(f"a slice of rows must have no step, however {rows.step} was given")
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
        raise TabnasError(
            "rows must be a slice or a one-dimensional array of whole numbers, "
            f"however {array.dtype} {array.shape} was given"
        )
    return np.array(array, np.int64)


def _rate(learning_rate: float) -> float:
    if not 0.0 <= learning_rate <= float(np.finfo(np.float32).max):
        raise TabnasError(
            f"the learning rate must be at least 0 and finite, however {learning_rate} was given"
        )
    return float(learning_rate)


def _check_names(
    what: str, given: Mapping[str, ArrayLike], expected: Mapping[str, tuple[int, ...]]
) -> None:
    wrong = sorted(set(given) ^ set(expected))
    if wrong:
        raise TabnasError(
            f"the {what} must hold the arrays of this network, no more and no fewer, however "
            f"{', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} missing or unknown"
        )
    for name, shape in expected.items():
        if np.shape(given[name]) != shape:
            raise TabnasError(
                f"{name} must have the shape {shape}, however {np.shape(given[name])} was given"
            )
