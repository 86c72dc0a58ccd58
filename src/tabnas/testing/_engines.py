"""What every engine must do, ours and a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.nets import (
    SGD,
    Adam,
    Embedding,
    Examples,
    Inputs,
    Loss,
    MakeEngine,
    NonFiniteLossError,
    Optimizer,
    SuperNet,
    Task,
)
from tabnas.space import Architecture, SearchSpace
from tabnas.testing._comparing import all_close, close, copied, refused, same
from tabnas.testing._reference import ReferenceEngine

ROWS = 30
CANDIDATES = ((0, 3, 8, 20), (0, 5, 16), (0, 9))
CHILDREN = tuple(map(Architecture.parse, ("linear", "3", "20", "8-5", "8-16", "3-16-9", "20-16-9")))
OPTIMIZERS = (
    SGD(),
    SGD(momentum=0.9, weight_decay=0.1),
    # of a narrow child some gradients are 0 but for rounding; a tiny epsilon makes them steps
    Adam(epsilon=1e-3),
    Adam(beta1=0.8, beta2=0.95, epsilon=1e-4, weight_decay=0.1),
)


@dataclass(frozen=True)
class Bench:
    """Networks of the engine to be checked, and of the reference beside them."""

    engine: str | MakeEngine
    device: str

    def net(
        self,
        task: Task,
        *,
        optimizer: Optimizer | None = None,
        workers: int = 1,
        reference: bool = False,
    ) -> SuperNet:
        """A fresh network of the space that all checks share."""
        return SuperNet(
            SearchSpace(CANDIDATES, inputs=task.inputs.width, outputs=task.outputs),
            task,
            optimizer=optimizer,
            workers=workers,
            seed=1,
            engine=ReferenceEngine if reference else self.engine,
            device="cpu" if reference else self.device,
        )


def check_engine(engine: str | MakeEngine, *, device: str = "cpu") -> None:
    """Raise AssertionError unless the engine keeps the contract of `tabnas.nets.Engine`.

    It must compute, on `device`, what a plain NumPy engine does: outputs, losses, gradients and
    steps, for every loss and kind of optimiser, of children with and without optional layers.

    >>> check_engine("compiled")
    """
    bench = Bench(engine, device)
    check_refusals(bench)
    check_beyond_the_child(bench)
    check_row_weights(bench)
    for loss in Loss:
        check_outputs(bench, loss)
    for optimizer in OPTIMIZERS:
        check_what_stands_still(bench, optimizer)
        check_exploding(bench, optimizer)
        check_steps(bench, optimizer)
    check_states(bench)


def task_of(loss: Loss) -> Task:
    """Numbers and two embeddings, one narrow and one wide."""
    tables = [Embedding(categories=4, dimension=2), Embedding(categories=6, dimension=9)]
    outputs = {Loss.LOGISTIC: 1, Loss.SOFTMAX: 5, Loss.SQUARED_ERROR: 2}[loss]
    return Task(inputs=Inputs(numeric=3, embeddings=tables), loss=loss, outputs=outputs)


def examples_of(task: Task, *, size: float = 1.0, weight: Any = None) -> Examples:
    """Random rows; targets of a regression are about as large as `size`."""
    rng = np.random.default_rng(0)
    target: NDArray[Any] = rng.integers(max(2, task.outputs), size=ROWS)
    if task.loss is Loss.SQUARED_ERROR:
        target = size * rng.normal(size=(ROWS, task.outputs))
    categories = [embedding.categories for embedding in task.inputs.embeddings]
    return Examples(
        task,
        numeric=rng.normal(size=(ROWS, task.inputs.numeric)),
        categorical=rng.integers(categories, size=(ROWS, len(categories))),
        target=target,
        weight=rng.uniform(0.0, 2.0, ROWS) if weight is None else weight,
    )


def check_outputs(bench: Bench, loss: Loss) -> None:
    """Outputs, losses and gradients are those of the formulas, and asking changes nothing."""
    task = task_of(loss)
    examples = examples_of(task)
    ours, theirs = bench.net(task), bench.net(task, reference=True)
    before = copied(ours.state())
    for child in CHILDREN:
        for rows in (slice(None), slice(4, 5), np.array([7, 7, 3])):
            close(
                ours.logits(child, examples, rows), theirs.logits(child, examples, rows), "logits"
            )
            expected = theirs.loss(child, examples, rows)
            close(ours.loss(child, examples, rows), expected, f"the {loss} loss")
            gradients = ours.gradients(child, examples, rows)
            all_close(gradients, theirs.gradients(child, examples, rows), "gradients")
    alone = [ours.loss(child, examples) for child in CHILDREN]
    close(ours.losses(CHILDREN, examples), alone, "losses of several children")
    same(before, ours.state(), "evaluation must change nothing")


def check_steps(bench: Bench, optimizer: Optimizer) -> None:
    """Weights, moments and step counts after some steps are those of the formulas."""
    task = task_of(Loss.SOFTMAX)
    examples = examples_of(task)
    ours, again = (bench.net(task, optimizer=optimizer, workers=3) for _ in range(2))
    theirs = bench.net(task, optimizer=optimizer, workers=3, reference=True)
    rng = np.random.default_rng(0)
    for step in range(8):
        picked = rng.integers(len(CHILDREN), size=1 + step % 3)
        children = [CHILDREN[place] for place in picked]
        rows = [rng.integers(ROWS, size=rng.integers(1, 9)) for _ in children]
        losses = [
            [net.train_step(children[0], examples, rows[0], 0.01)]
            if step < 2
            else net.train_step_workers(children, examples, rows, 0.01)
            for net in (ours, again, theirs)
        ]
        assert losses[0] == losses[1], "the same steps must have the same losses, bit for bit"
        close(losses[0], losses[2], "losses of a step")
        all_close(ours.state(), theirs.state(), f"the state after steps of {optimizer}")
    same(ours.state(), again.state(), "the same steps must give the same bits")


def check_what_stands_still(bench: Bench, optimizer: Optimizer) -> None:
    """A step leaves all but the child's part, and the categories of its rows, as it was."""
    task = task_of(Loss.SOFTMAX)
    examples = examples_of(task)
    net, rows = bench.net(task, optimizer=optimizer), np.array([0, 1])
    for child in (CHILDREN[-1], Architecture.parse("3-5")):
        before = copied(net.state())
        net.train_step(child, examples, rows, 0.1)
        parts = {name: array.shape for name, array in net.child_weights(child).items()}
        for name, array in net.state().items():
            kind, _, array_name = name.partition("/")
            if kind.startswith("steps"):
                continue
            still = np.ones(array.shape, np.bool_)
            if array_name.startswith("embedding."):
                still[examples.categorical[rows, int(array_name.split(".")[1])]] = False
            elif array_name in parts:
                still[tuple(slice(size) for size in parts[array_name])] = False
            moved = array != before[name]
            assert not moved[still].any(), f"a step of {child} must not move all of {name}"
        head = f"weight/head.{child.depth}.bias"
        assert (net.state()[head] != before[head]).any(), f"a step of {child} must move {head}"


def check_exploding(bench: Bench, optimizer: Optimizer) -> None:
    """A step whose loss or gradient leaves float32 moves nothing; large ones that fit are taken."""
    task = task_of(Loss.SQUARED_ERROR)
    children, halves = [CHILDREN[2], CHILDREN[-1]], [slice(0, ROWS // 2), slice(ROWS // 2, ROWS)]
    net = bench.net(task, optimizer=optimizer, workers=2)
    net.train_step_workers(children, examples_of(task), halves, 0.01)
    before = copied(net.state())
    for size in (1e25, 8e18):  # the squares of one are infinite; the slopes of the other too long
        bad = examples_of(task, size=size)
        for child in CHILDREN:
            refused(NonFiniteLossError, net.train_step, child, bad, slice(0, ROWS), 0.01)
            refused(TabnasError, net.gradients, child, bad)
        refused(NonFiniteLossError, net.train_step_workers, children, bad, halves, 0.01)
    same(before, net.state(), "a step that is not finite must move nothing")
    large = examples_of(task, size=1e12)
    net.train_step(CHILDREN[2], large, slice(0, ROWS), 1e-9)
    finite = all(np.isfinite(array).all() for array in net.state().values())
    assert finite, "a large gradient that float32 can hold must leave finite numbers"


def check_states(bench: Bench) -> None:
    """A state is a copy, and whoever loads it goes on as if nothing had happened."""
    task = task_of(Loss.LOGISTIC)
    examples = examples_of(task)
    net, copy = bench.net(task), bench.net(task)
    reference = bench.net(task, reference=True)
    net.train_step(CHILDREN[-1], examples, slice(0, 9), 0.01)
    kept = net.state()
    expected = copied(kept)
    copy.load_state(kept)
    reference.load_state(kept)
    for each in (net, copy, reference):
        each.train_step(Architecture((8, 16)), examples, slice(3, 20), 0.01)
    same(expected, kept, "a state must not change with the network it was taken from")
    same(net.state(), copy.state(), "a loaded state must go on with the same bits")
    all_close(net.state(), reference.state(), "the state after another engine's")
    net.load_state(reference.state())
    same(reference.state(), net.state(), "a state of another engine must be taken over as it is")


def check_beyond_the_child(bench: Bench) -> None:
    """What wider children have made of their weights, even NaN, does not reach a narrow one."""
    task = task_of(Loss.SOFTMAX)
    examples, child = examples_of(task), CHILDREN[3]
    net = bench.net(task)
    clean = net.logits(child, examples), net.gradients(child, examples)
    weights = net.weights()
    for name, inside in net.child_weights(child).items():
        weights[name][...] = np.nan
        weights[name][tuple(slice(size) for size in inside.shape)] = inside
    net.load_weights(weights)
    close(net.logits(child, examples), clean[0], "logits beside broken weights")
    all_close(net.gradients(child, examples), clean[1], "gradients beside broken weights")


def check_row_weights(bench: Bench) -> None:
    """Only proportions of row weights matter, and without any all rows count the same."""
    task = task_of(Loss.LOGISTIC)
    net, child = bench.net(task), CHILDREN[3]
    plain = examples_of(task, weight=np.ones(ROWS))
    none = Examples(
        task, numeric=plain.numeric, categorical=plain.categorical, target=plain.values[:, 0]
    )
    for other in (none, *(examples_of(task, weight=np.full(ROWS, w)) for w in (1e-44, 3e38))):
        close(net.loss(child, other), net.loss(child, plain), "a loss with other weights")
        all_close(net.gradients(child, other), net.gradients(child, plain), "gradients by weight")


def check_refusals(bench: Bench) -> None:
    """Rows that are not there, none at all, and rows that weigh nothing."""
    task = task_of(Loss.SOFTMAX)
    net, child = bench.net(task), CHILDREN[3]
    examples, weightless = examples_of(task), examples_of(task, weight=np.zeros(ROWS))
    for rows in (np.array([ROWS]), np.array([-1]), np.zeros(0, np.int64), slice(3, 3)):
        refused(TabnasError, net.train_step, child, examples, rows, 0.1)
        refused(TabnasError, net.loss, child, examples, rows)
        refused(TabnasError, net.logits, child, examples, rows)
    refused(TabnasError, net.train_step, child, weightless, slice(0, 4), 0.1)
    refused(TabnasError, net.loss, child, weightless)
