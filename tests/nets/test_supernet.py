"""SuperNets with every engine; `check_engine` tests the engines."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import SGD, Adam, Examples, NonFiniteLossError, SuperNet
from tabnas.nets.compiled import CompiledEngine
from tabnas.space import Architecture, SearchSpace

CHILD = Architecture((3, 5))


@pytest.fixture(params=["compiled", "torch"])
def engine(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param


@pytest.fixture
def make_net(make_spec):
    def make(engine="compiled", loss="softmax", **settings):
        spec = make_spec(loss)
        ends = {"inputs": spec.inputs.width, "outputs": spec.outputs}
        space = SearchSpace([[3, 8], [0, 5, 9]], **ends)
        return SuperNet(space, spec, engine=engine, **settings)

    return make


def test_adam_counts_the_steps_of_each_element(engine, make_net, make_examples):
    net = make_net(engine, optimizer=Adam())
    examples = make_examples(net.spec, 10)
    for child, times in ((Architecture((8, 9)), 1), (Architecture((3, 5)), 2), (CHILD, 1)):
        for _ in range(times):
            net.train_step(child, examples, slice(0, 4), 0.01)
    net.train_step(Architecture((8,)), examples, slice(0, 4), 0.01)
    state = net.state_dict()
    np.testing.assert_array_equal(state["steps/layer.1"], [[5, 2]])
    np.testing.assert_array_equal(state["steps/layer.2"], [[4, 1], [1, 1]])
    np.testing.assert_array_equal(state["steps/head.1"], [[1], [1]])
    assert state["steps"] == 5
    is_used = np.isin(np.arange(4), examples.categorical[:4, 0])
    np.testing.assert_array_equal(state["steps/embedding.0"], 5 * is_used)


def test_a_late_element_takes_a_full_first_step(engine, make_net, make_examples):
    """With the step count of the network, its first step would be 3 times longer."""
    net = make_net(engine, optimizer=Adam(epsilon=1e-12))
    examples = make_examples(net.spec, 10)
    for _ in range(200):
        net.train_step(CHILD, examples, slice(0, 10), 1e-4)
    before = net.weights()["layer.2.bias"]
    net.train_step(Architecture((8, 9)), examples, slice(0, 10), 1e-4)
    step = np.abs(net.weights()["layer.2.bias"] - before)[5:]
    assert step.max() == pytest.approx(1e-4, rel=1e-2)


def test_a_step_averages_over_workers(make_net, make_examples, engine):
    """Two workers with the same child and halves of a batch make the step of the full batch."""
    together = make_net(engine, workers=2, optimizer=SGD())
    single = make_net(engine, optimizer=SGD())
    examples = make_examples(together.spec, 12)
    halves = [slice(0, 6), slice(6, 12)]
    losses = together.train_step_workers([CHILD, CHILD], examples, halves, 0.1)
    assert np.mean(losses) == pytest.approx(single.train_step(CHILD, examples, slice(0, 12), 0.1))
    for name, array in single.weights().items():
        np.testing.assert_allclose(together.weights()[name], array, rtol=1e-4, atol=1e-6)


PROGRAM = """
import hashlib, sys
import numpy as np
from threadpoolctl import threadpool_limits
from tabnas.nets import Examples, Inputs, SuperNet, NetworkSpec
from tabnas.space import Architecture

spec = NetworkSpec(inputs=Inputs(numeric=300), loss="softmax", outputs=40)
rng = np.random.default_rng(0)
examples = Examples(spec, numeric=rng.normal(size=(256, 300)), target=rng.integers(0, 40, 256))
child = Architecture((256, 200))
with threadpool_limits(int(sys.argv[1])):
    net = SuperNet.standalone(child, spec)
    for _ in range(3):
        net.train_step(child, examples, slice(0, 256), 0.01)
digest = hashlib.sha256()
for array in net.state_dict().values():
    digest.update(array.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_bits_do_not_depend_on_the_process_or_its_blas_threads():
    digests = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, threads], check=True, capture_output=True, text=True
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1


def test_a_loss_that_is_not_finite_changes_no_weights(engine, make_net, make_examples):
    net = make_net(engine, loss="squared_error", optimizer=SGD())
    examples = make_examples(net.spec, 20)
    net.train_step(CHILD, examples, slice(0, 20), 1e20)
    before = net.state_dict()
    with pytest.raises(NonFiniteLossError, match=r"training step 2 is .* well below 1e\+20"):
        net.train_step(CHILD, examples, slice(0, 20), 1e20)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_memory_does_not_grow_with_steps(make_net, make_examples):
    net = make_net(workers=2)
    examples = make_examples(net.spec, 200)
    rng = np.random.default_rng(0)
    children = [Architecture(widths) for widths in ((3,), (8,), (3, 5), (8, 9))]

    def steps(count):
        for _ in range(count):
            child = children[rng.integers(4)]
            net.train_step(child, examples, rng.integers(0, 200, 32), 1e-4)
            net.loss(child, examples)
            net.train_step_workers([child, child], examples, [slice(0, 9), slice(9, 30)], 1e-4)

    steps(500)
    before = resident_bytes()
    steps(3000)
    assert resident_bytes() - before < 2**20


def resident_bytes():
    """Return the current resident bytes; a leak could hide below the peak."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("only Linux tells how much memory a process holds")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_evaluation_in_blocks_is_the_mean_over_all_rows(engine, make_net, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 1300, weighted=True)
    parts = [np.arange(0, 600), np.arange(600, 1300)]
    weights = [examples.weight[part].sum() for part in parts]
    losses = [net.loss(CHILD, examples, part) for part in parts]
    assert net.loss(CHILD, examples) == pytest.approx(np.average(losses, weights=weights), rel=1e-5)
    all_logits = net.logits(CHILD, examples)
    np.testing.assert_allclose(all_logits[600:], net.logits(CHILD, examples, parts[1]), atol=1e-5)


def test_a_child_can_be_given_by_choices(engine, make_net, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 5)
    assert net.loss([0, 1], examples) == net.loss(CHILD, examples)
    assert net.loss(np.array([1, 0]), examples) == net.loss(Architecture((8,)), examples)


def test_children_of_other_widths_are_leading_blocks(engine, make_net, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 10)
    for child in (Architecture((4,)), Architecture((8, 7)), Architecture((1, 1))):
        alone = SuperNet.standalone(child, net.spec, engine=engine)
        alone.load_weights(net.child_weights(child))
        expected = alone.logits(child, examples)
        np.testing.assert_allclose(net.logits(child, examples), expected, rtol=1e-5, atol=1e-6)
        assert net.losses([child, CHILD], examples)[0] == pytest.approx(
            alone.loss(child, examples), rel=1e-5
        )


def test_invalid_arguments_are_refused(engine, make_net, make_spec, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 10)
    step = slice(0, 4)
    with pytest.raises(TabNASError, match="layer 1 has 9 units, and there at most 8"):
        net.loss(Architecture((9,)), examples)
    for train in (
        lambda child: net.train_step(child, examples, step, 0.1),
        lambda child: net.train_steps([child], examples, [step], [0.1]),
        lambda child: net.train_step_workers([child], examples, [step], 0.1),
    ):
        with pytest.raises(TabNASError, match="no candidate width 4"):
            train(Architecture((4,)))
    for rows in (np.array([10]), np.array([-1]), np.zeros(0, np.int64), slice(3, 3)):
        with pytest.raises(TabNASError, match="rows must be at least one, each from 0 to 9"):
            net.train_step(CHILD, examples, rows, 0.1)
    for rows in (np.zeros((2, 2), np.int64), np.array([0.5])):
        with pytest.raises(TabNASError, match="one-dimensional array of integers"):
            net.train_step(CHILD, examples, rows, 0.1)
    with pytest.raises(TabNASError, match="no step, got 2"):
        net.loss(CHILD, examples, slice(0, 4, 2))
    with pytest.raises(TabNASError, match="learning_rate must be at least 0"):
        net.train_step(CHILD, examples, step, -0.1)
    with pytest.raises(TabNASError, match="must have the spec of the network"):
        net.loss(CHILD, make_examples(make_spec("logistic"), 10))
    with pytest.raises(TabNASError, match="from 1 to 1 \\(the workers"):
        net.train_step_workers([CHILD, CHILD], examples, [step, step], 0.1)
    without = Examples(net.spec, numeric=examples.numeric, categorical=examples.categorical)
    with pytest.raises(TabNASError, match="must have targets"):
        net.train_step(CHILD, without, step, 0.1)
    assert net.logits(CHILD, without).shape == (10, 5)
    weightless = Examples(
        net.spec, numeric=examples.numeric, categorical=examples.categorical,
        target=examples.target, weight=np.zeros(10),
    )  # fmt: skip
    with pytest.raises(TabNASError, match="must have a weight above 0"):
        net.train_step(CHILD, weightless, step, 0.1)


def test_weights_and_states_of_other_shapes_are_refused(make_net):
    net = make_net()
    weights = net.weights()
    with pytest.raises(TabNASError, match=r"missing or unknown: head.1.bias"):
        net.load_weights({name: w for name, w in weights.items() if name != "head.1.bias"})
    with pytest.raises(TabNASError, match=r"must have the shape \(5,\), got \(4,\)"):
        net.load_weights({**weights, "head.1.bias": np.zeros(4)})
    with pytest.raises(TabNASError, match="missing or unknown"):
        net.load_state_dict(make_net(optimizer=SGD()).state_dict())


def test_engines_are_found_by_name(make_net):
    with pytest.raises(TabNASError, match="did you mean 'compiled'"):
        make_net("compield")
    with pytest.raises(TabNASError, match="device must be 'cpu' for the compiled engine"):
        make_net(device="cuda")


def test_without_torch_the_error_says_what_to_install(make_net, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("tabnas.nets.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TabNASError, match=r"pip install tabnas\[torch\]"):
        make_net("torch")


def test_importing_the_networks_imports_neither_numba_nor_torch():
    check = "import sys, tabnas.nets; print({'numba', 'torch', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_no_gradient_of_a_loss_that_is_not_finite(engine, make_net, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 20)
    net.gradients(Architecture((3, 5)), examples)
    weights = net.weights()
    weights["head.2.bias"][:] = np.nan
    net.load_weights(weights)
    with pytest.raises(TabNASError, match="cannot be differentiated"):
        net.gradients(Architecture((3, 5)), examples)


def test_a_loss_has_the_same_bits_after_other_calls(make_net, make_examples):
    net = make_net()
    examples = make_examples(net.spec, 3_000)
    weighted = Examples(
        net.spec,
        numeric=examples.numeric,
        categorical=examples.categorical,
        target=examples.target,
        weight=10.0 ** np.random.default_rng(0).uniform(-5, 5, 3_000),
    )
    child = Architecture((3, 5))
    before = net.loss(child, weighted)
    net.train_step(child, weighted, slice(0, 1_999), 0.0)
    assert net.loss(child, weighted) == before


@pytest.mark.parametrize("copy_net", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_train_identically(copy_net, make_net, make_examples):
    net = make_net(workers=2)
    examples = make_examples(net.spec, 20)
    child = Architecture((3, 5))
    net.train_step(child, examples, slice(0, 20), 0.1)
    other = copy_net(net)
    losses = [n.train_step(child, examples, slice(0, 20), 0.1) for n in (net, other, net, other)]
    assert losses[0] == losses[1]
    assert losses[2] == losses[3]


def test_step_counts_of_a_state_must_not_be_negative(make_net):
    net = make_net()
    state = net.state_dict()
    name = next(name for name in state if name.startswith("steps/"))
    wrapping = np.full(state[name].shape, 2**64 - 5, np.uint64)  # -5 as a signed number
    for wrong in (state[name] - 5, state[name].astype(float), wrapping):
        with pytest.raises(TabNASError, match="of the state must be"):
            net.load_state_dict(state | {name: wrong})


def test_rates_that_overflow_float32_are_refused(make_net, make_examples):
    net = make_net()
    with pytest.raises(TabNASError, match="learning_rate must be"):
        net.train_step(Architecture((3, 5)), make_examples(net.spec, 20), slice(0, 20), 1e39)


def test_threads_can_share_a_network(make_net, make_examples):
    net = make_net()
    examples = make_examples(net.spec, 200)
    children = [Architecture(widths) for widths in ((3,), (8,), (3, 5), (8, 9))]
    expected = [net.loss(child, examples) for child in children]
    with ThreadPoolExecutor(4) as pool:
        shared = list(pool.map(lambda k: net.loss(children[k % 4], examples), range(400)))
    assert shared == expected * 100


class ConcurrencyRecorder:
    """The compiled engine, which records calls that overlap another call."""

    def __init__(self, *args, **settings):
        self._engine = CompiledEngine(*args, **settings)
        self._busy = Lock()
        self.overlaps = []

    def __getattr__(self, name):
        def call(*args):
            acquired = self._busy.acquire(blocking=False)
            if not acquired:
                self.overlaps.append(name)
            try:
                time.sleep(0.001)
                return getattr(self._engine, name)(*args)
            finally:
                if acquired:
                    self._busy.release()

        return call


def test_the_engine_is_called_by_one_thread_at_a_time(make_net, make_examples):
    net = make_net(ConcurrencyRecorder)
    examples = make_examples(net.spec, 20)
    weights, state = net.weights(), net.state_dict()
    calls = [
        lambda: net.train_step(CHILD, examples, slice(0, 4), 0.01),
        lambda: net.loss(CHILD, examples),
        net.weights,
        net.state_dict,
        lambda: net.child_weights(CHILD),
        lambda: net.load_weights(weights),
        lambda: net.load_state_dict(state),
        lambda: net.__reduce__(),
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: calls[k % len(calls)](), range(10 * len(calls))))
    assert net._engine.overlaps == []


def test_a_worker_whose_loss_is_not_finite_stops_the_step(engine, make_net, make_examples):
    net = make_net(engine, workers=2)
    examples = make_examples(net.spec, 20)
    weights = net.weights()
    weights["head.1.bias"][:] = np.nan
    net.load_weights(weights)
    before = net.weights()
    children = [Architecture((3, 5)), Architecture((3,))]
    with pytest.raises(NonFiniteLossError):
        net.train_step_workers(children, examples, [slice(0, 10), slice(10, 20)], 0.1)
    for name, array in net.weights().items():
        np.testing.assert_array_equal(array, before[name])
