"""The conformance suite of engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabnas.errors import TabNASError
from tabnas.nets import (
    NUMERIC_EMBEDDING,
    SGD,
    Adam,
    EngineFactory,
    Examples,
    Loss,
    NonFiniteLossError,
    Optimizer,
    RowIndex,
    read_between_knots,
)
from tabnas.space import Architecture
from tabnas.testing._assertions import (
    assert_all_close,
    assert_close,
    assert_identical,
    assert_raises,
    copy_arrays,
)
from tabnas.testing._engine_examples import (
    ROWS,
    NetworkFactory,
    make_examples,
    make_soft_examples,
    make_spec,
)

OPTIMIZERS = (
    SGD(),
    SGD(momentum=0.9, weight_decay=0.1),
    # some gradients of a narrow child are 0 up to rounding; a tiny epsilon turns them into steps
    Adam(epsilon=1e-3),
    Adam(beta1=0.8, beta2=0.95, epsilon=1e-4, weight_decay=0.1),
)


def check_engine(engine: str | EngineFactory, *, device: str = "cpu") -> None:
    """Raise AssertionError unless the engine meets the contract of `tabnas.nets.Engine`.

    On `device` it must compute the same outputs, losses, gradients and steps as a plain NumPy
    engine, for every loss, kind of target and kind of optimizer, and children with and without
    optional layers and numeric embeddings.

    >>> check_engine("compiled")
    """
    networks = NetworkFactory(engine, device)
    check_invalid_rows(networks)
    check_isolation(networks)
    check_row_weights(networks)
    for loss in Loss:
        check_outputs(networks, make_examples(make_spec(loss)), f"the {loss} loss")
    for form, examples in make_soft_examples().items():
        check_outputs(networks, examples, f"the softmax loss of {form}")
    for optimizer in OPTIMIZERS:
        check_untouched_weights(networks, optimizer)
        check_non_finite_steps(networks, optimizer)
        check_steps(networks, optimizer, make_examples(make_spec(Loss.SOFTMAX)))
    for examples in make_soft_examples().values():
        check_steps(networks, OPTIMIZERS[-1], examples)
    check_stretches(networks)
    check_states(networks)
    check_weight_buffers(networks)
    without_numeric_embeddings = replace(networks, dimensions=())
    examples = make_examples(make_spec(Loss.SOFTMAX))
    check_outputs(without_numeric_embeddings, examples, "the softmax loss")
    check_steps(without_numeric_embeddings, OPTIMIZERS[-1], examples)


def check_outputs(networks: NetworkFactory, examples: Examples, loss: str) -> None:
    """Check outputs, losses and gradients, and that computing them changes no state."""
    spec = examples.spec
    ours, theirs = networks.build(spec), networks.build(spec, reference=True)
    before = copy_arrays(ours.state_dict())
    for child in networks.evaluated:
        for rows in (slice(None), slice(4, 5), np.array([7, 7, 3])):
            assert_close(
                ours.logits(child, examples, rows), theirs.logits(child, examples, rows), "logits"
            )
            expected = theirs.loss(child, examples, rows)
            assert_close(ours.loss(child, examples, rows), expected, loss)
            gradients = ours.gradients(child, examples, rows)
            assert_all_close(gradients, theirs.gradients(child, examples, rows), "gradients")
    single = [ours.loss(child, examples) for child in networks.evaluated]
    assert_close(ours.losses(networks.evaluated, examples), single, "losses of several children")
    assert_identical(before, ours.state_dict(), "evaluation must change nothing")


def check_steps(networks: NetworkFactory, optimizer: Optimizer, examples: Examples) -> None:
    """Check weights, moments and step counts after some steps."""
    spec = examples.spec
    ours, again = (networks.build(spec, optimizer=optimizer, workers=3) for _ in range(2))
    theirs = networks.build(spec, optimizer=optimizer, workers=3, reference=True)
    rng = np.random.default_rng(0)
    for step in range(11):
        picked = rng.integers(len(networks.children), size=1 + step % 3)
        children = [networks.children[index] for index in picked]
        rows = [rng.integers(ROWS, size=rng.integers(1, 9)) for _ in children]
        losses = [
            [net.train_step(children[0], examples, rows[0], 0.01)]
            if step < 2
            else net.train_step_workers(children, examples, rows, 0.01)
            for net in (ours, again, theirs)
        ]
        assert losses[0] == losses[1], "the same steps must have the same losses, bit for bit"
        assert_close(losses[0], losses[2], "losses of a step")
        assert_all_close(
            ours.state_dict(), theirs.state_dict(), f"the state after steps of {optimizer}"
        )
    assert_identical(
        ours.state_dict(), again.state_dict(), "the same steps must give the same bits"
    )


def check_stretches(networks: NetworkFactory) -> None:
    """Check that steps in one call are those of one call each, up to one that is not finite."""
    spec = make_spec(Loss.SQUARED_ERROR)
    examples, rng = make_examples(spec), np.random.default_rng(0)
    target = np.array(examples.target)
    target[-1] = 1e25
    bad = Examples(spec, numeric=examples.numeric, categorical=examples.categorical, target=target)
    together, single = (networks.build(spec) for _ in range(2))
    rows: list[RowIndex] = [
        slice(3, 9),
        *(rng.integers(ROWS - 1, size=1 + i) for i in range(5)),
        slice(0, 7),
    ]
    children = [networks.children[-i] for i in range(len(rows))]
    rates = [0.01 / (1 + i) for i in range(len(rows))]
    steps = list(zip(children, rows, rates, strict=True))
    losses: list[float] = []
    while len(losses) < len(steps):
        losses += together.train_steps(
            children[len(losses) :], bad, rows[len(losses) :], rates[len(losses) :]
        )
    expected = [single.train_step(child, bad, batch, rate) for child, batch, rate in steps]
    assert losses == expected, "steps in one call must have the losses of single steps"
    what = "steps in one call must give the bits of single steps"
    assert_identical(together.state_dict(), single.state_dict(), what)
    losses = together.train_steps(
        children[:1] * 2, bad, [slice(ROWS - 1, ROWS), slice(4)], [0.1] * 2
    )
    assert len(losses) == 1, "a step that is not finite must be the last of its call"
    assert not np.isfinite(losses[0]), "a step that is not finite must have such a loss"
    what = "a step that is not finite must be the last of its call"
    assert_identical(together.state_dict(), single.state_dict(), what)


def check_untouched_weights(networks: NetworkFactory, optimizer: Optimizer) -> None:
    """Check that a step changes only what it uses.

    It uses the weights of the child, the categories of its rows, and the knots around its values.
    """
    spec = make_spec(Loss.SOFTMAX)
    examples = make_examples(spec)
    net, rows = networks.build(spec, optimizer=optimizer), np.array([0, 1])
    read = read_between_knots(spec.inputs, examples.numeric[rows]).any(axis=(0, 1))
    assert not read.all()
    net.train_step(networks.children[-1], examples, slice(None), 0.01)  # moments above 0 everywhere
    for child in map(Architecture.parse, ("d3-20-16-9", "3-5", "d1-3-5")):
        before = copy_arrays(net.state_dict())
        net.train_step(child, examples, rows, 0.1)
        parts = {name: array.shape for name, array in net.child_weights(child).items()}
        for name, array in net.state_dict().items():
            kind, _, array_name = name.partition("/")
            if kind.startswith("steps"):
                continue
            still = np.ones(array.shape, np.bool_)
            if array_name.startswith("embedding."):
                still[examples.categorical[rows, int(array_name.split(".")[1])]] = False
            elif array_name == NUMERIC_EMBEDDING:
                still[: child.dimension, read] = False
            elif array_name in parts:
                still[tuple(slice(size) for size in parts[array_name])] = False
            moved = array != before[name]
            assert not moved[still].any(), f"a step of {child} must not move all of {name}"
        tables = [NUMERIC_EMBEDDING] * bool(child.dimension)
        for name in (f"weight/{array}" for array in (f"head.{child.depth}.bias", *tables)):
            moved = net.state_dict()[name] != before[name]
            assert moved.any(), f"a step of {child} must move {name}"


def check_non_finite_steps(networks: NetworkFactory, optimizer: Optimizer) -> None:
    """Check that a step whose loss or gradient overflows float32 changes nothing.

    Large gradients that fit into float32 must be applied.
    """
    spec = make_spec(Loss.SQUARED_ERROR)
    children, halves = (
        [Architecture((20,)), networks.children[-1]],
        [slice(0, ROWS // 2), slice(ROWS // 2, ROWS)],
    )
    net = networks.build(spec, optimizer=optimizer, workers=2)
    net.train_step_workers(children, make_examples(spec), halves, 0.01)
    before = copy_arrays(net.state_dict())
    for size in (1e25, 8e18):  # infinite squares; then gradients that are too large
        bad = make_examples(spec, size=size)
        for child in networks.children:
            assert_raises(NonFiniteLossError, net.train_step, child, bad, slice(0, ROWS), 0.01)
            assert_raises(TabNASError, net.gradients, child, bad)
        assert_raises(NonFiniteLossError, net.train_step_workers, children, bad, halves, 0.01)
    assert_identical(before, net.state_dict(), "a step that is not finite must move nothing")
    large = make_examples(spec, size=1e12)
    net.train_step(Architecture((20,), dimension=3), large, slice(0, ROWS), 1e-9)
    finite = all(np.isfinite(array).all() for array in net.state_dict().values())
    assert finite, "a large gradient that float32 can hold must leave finite numbers"


def check_states(networks: NetworkFactory) -> None:
    """Check that a state is a copy, and that training continues the same after loading it."""
    spec = make_spec(Loss.LOGISTIC)
    examples = make_examples(spec)
    net, copy = networks.build(spec), networks.build(spec)
    reference = networks.build(spec, reference=True)
    net.train_step(networks.children[-1], examples, slice(0, 9), 0.01)
    saved = net.state_dict()
    expected = copy_arrays(saved)
    copy.load_state_dict(saved)
    reference.load_state_dict(saved)
    for each in (net, copy, reference):
        each.train_step(Architecture((8, 16), dimension=1), examples, slice(3, 20), 0.01)
    assert_identical(expected, saved, "a state must not change with the network it was taken from")
    assert_identical(
        net.state_dict(), copy.state_dict(), "a loaded state must continue with the same bits"
    )
    assert_all_close(net.state_dict(), reference.state_dict(), "the state after another engine's")
    net.load_state_dict(reference.state_dict())
    assert_identical(
        reference.state_dict(),
        net.state_dict(),
        "a state of another engine must be taken over as it is",
    )


def check_weight_buffers(networks: NetworkFactory) -> None:
    """Check that buffers hold all weights, element by element, and that loading changes no more."""
    spec = make_spec(Loss.LOGISTIC)
    examples = make_examples(spec)
    net = networks.build(spec)
    earlier = [np.array(buffer) for buffer in net.weight_buffers()]
    weights = net.weights()
    net.train_step(networks.children[-1], examples, slice(0, 9), 0.01)
    later, state = net.weight_buffers(), net.state_dict()
    half = np.float32(0.5)
    mean = [half * a + half * b for a, b in zip(earlier, later, strict=True)]
    for buffers, what, expected in (
        (earlier, "earlier weights", weights),
        (mean, "a mean", {n: half * w + half * state[f"weight/{n}"] for n, w in weights.items()}),
    ):
        net.load_weight_buffers(buffers)
        assert_identical(
            state | {f"weight/{name}": array for name, array in expected.items()},
            net.state_dict(),
            f"buffers of {what} must replace the weights, and nothing else",
        )


def check_isolation(networks: NetworkFactory) -> None:
    """Check that weights of wider children, even NaN, do not affect a narrow child."""
    spec = make_spec(Loss.SOFTMAX)
    examples = make_examples(spec)
    for child in map(Architecture.parse, ("8-5", "d1-8-5")):
        net = networks.build(spec)
        clean = net.logits(child, examples), net.gradients(child, examples)
        weights = {name: np.full_like(array, np.nan) for name, array in net.weights().items()}
        for name, inside in net.child_weights(child).items():
            weights[name][tuple(slice(size) for size in inside.shape)] = inside
        net.load_weights(weights)
        assert_close(net.logits(child, examples), clean[0], "logits beside broken weights")
        assert_all_close(
            net.gradients(child, examples), clean[1], "gradients beside broken weights"
        )


def check_row_weights(networks: NetworkFactory) -> None:
    """Check that only the ratios of row weights matter, and that the default weights are equal."""
    spec = make_spec(Loss.LOGISTIC)
    net, child = networks.build(spec), Architecture((8, 5), dimension=1)
    plain = make_examples(spec, weight=np.ones(ROWS))
    none = Examples(
        spec, numeric=plain.numeric, categorical=plain.categorical, target=plain.values[:, 0]
    )
    for other in (none, *(make_examples(spec, weight=np.full(ROWS, w)) for w in (1e-44, 3e38))):
        assert_close(net.loss(child, other), net.loss(child, plain), "a loss with other weights")
        assert_all_close(
            net.gradients(child, other), net.gradients(child, plain), "gradients by weight"
        )


def check_invalid_rows(networks: NetworkFactory) -> None:
    """Check errors for row numbers out of range, no rows, and rows without weight."""
    spec = make_spec(Loss.SOFTMAX)
    net, child = networks.build(spec), Architecture((8, 5), dimension=1)
    examples, weightless = make_examples(spec), make_examples(spec, weight=np.zeros(ROWS))
    for rows in (np.array([ROWS]), np.array([-1]), np.zeros(0, np.int64), slice(3, 3)):
        assert_raises(TabNASError, net.train_step, child, examples, rows, 0.1)
        assert_raises(TabNASError, net.loss, child, examples, rows)
        assert_raises(TabNASError, net.logits, child, examples, rows)
    assert_raises(TabNASError, net.train_step, child, weightless, slice(0, 4), 0.1)
    assert_raises(TabNASError, net.loss, child, weightless)
