"""Numeric embeddings of SuperNets with every engine."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import SGD, Adam, Examples, Inputs, NetworkSpec, SuperNet, read_between_knots
from tabnas.space import Architecture, SearchSpace
from tabnas.testing import ReferenceEngine

OPTIMIZERS = [SGD(), SGD(momentum=0.9), Adam()]


@pytest.fixture(params=["compiled", "torch", ReferenceEngine])
def engine(request):
    if request.param == "torch":
        pytest.importorskip("torch").set_num_threads(1)
    return request.param


@pytest.fixture
def make_net(make_spec):
    def make(engine, dimensions=(0, 1, 3), *, loss="softmax", knots=True, **settings):
        spec = make_spec(loss, knots=knots)
        embeddings = spec.inputs.numeric_embeddings(dimensions) if dimensions else None
        ends = {"inputs": spec.inputs.width, "outputs": spec.outputs}
        space = SearchSpace([[0, 3, 8], [0, 5]], **ends, numeric_embeddings=embeddings)
        return SuperNet(space, spec, engine=engine, **settings)

    return make


def read_inputs(engine, knots, table, values):
    """Return what a column with these knots and this table adds to the inputs of a network.

    The head of a linear model is the unit matrix, so that its outputs are its inputs.
    """
    dimension = len(table)
    inputs = Inputs(numeric=1, knots=[knots])
    spec = NetworkSpec(inputs=inputs, loss="squared_error", outputs=1 + dimension)
    net = SuperNet.standalone(Architecture((), dimension=dimension), spec, engine=engine)
    head = {"head.0.weight": np.eye(1 + dimension), "head.0.bias": np.zeros(1 + dimension)}
    net.load_weights({"numeric_embedding": table, **head})
    examples = Examples(spec, numeric=np.reshape(values, (-1, 1)))
    return net.logits(Architecture((), dimension=dimension), examples)[:, 1:]


def test_values_are_read_between_the_knots(engine):
    knots, table = (-1.0, 0.0, 4.0), np.array([[10.0, 20.0, 40.0], [1.0, 0.0, -1.0]])
    values = [-1.0, -0.25, 0.0, 1.0, 4.0]  # knots among them
    expected = [[10.0, 1.0], [17.5, 0.25], [20.0, 0.0], [25.0, -0.25], [40.0, -1.0]]
    np.testing.assert_allclose(read_inputs(engine, knots, table, values), expected, rtol=1e-6)


def test_values_beyond_the_knots_read_the_first_or_last(engine):
    knots, table = (-1.0, 0.0, 4.0), np.array([[10.0, 20.0, 40.0]])
    values = [-3e38, -1.5, 4.5, 3e38]
    outputs = read_inputs(engine, knots, table, values)[:, 0]
    np.testing.assert_array_equal(outputs, [10.0, 10.0, 40.0, 40.0])


def test_two_knots_are_a_clipped_line(engine):
    outputs = read_inputs(engine, (0.0, 2.0), np.array([[1.0, 5.0]]), [-1.0, 0.0, 0.5, 2.0, 3.0])
    np.testing.assert_allclose(outputs[:, 0], [1.0, 1.0, 2.0, 5.0, 5.0], rtol=1e-6)


def test_the_distance_of_knots_may_overflow_or_underflow_float32(engine):
    table = np.array([[0.0, 1.0]])
    for knots in ((-3e38, 3e38), (0.0, 1e-44)):
        outputs = read_inputs(engine, knots, table, [-3e38, *knots, 3e38])
        np.testing.assert_array_equal(outputs[:, 0], [0.0, 0.0, 1.0, 1.0])


def test_a_value_on_a_knot_reads_and_moves_that_knot_alone(engine):
    rng = np.random.default_rng(0)
    columns, number = 20, 6
    knots = [np.sort(rng.normal(size=number)).astype(np.float32) for _ in range(columns)]
    spec = NetworkSpec(inputs=Inputs(numeric=columns, knots=knots), loss="squared_error")
    child = Architecture((), dimension=2)
    for knot in range(number):
        net = SuperNet.standalone(child, spec, engine=engine)
        examples = Examples(spec, numeric=[[k[knot] for k in knots]], target=[5.0])
        expected = np.tile(np.arange(number) == knot, columns)
        before = net.weights()["numeric_embedding"]
        net.train_step(child, examples, slice(None), 0.01)
        state = net.state_dict()
        np.testing.assert_array_equal(state["steps/numeric_embedding"], expected[None])
        moved = state["weight/numeric_embedding"] != before
        np.testing.assert_array_equal(moved, np.tile(expected, (2, 1)))


def test_steps_are_counted_per_knot_and_candidate_dimension(engine, make_net, make_examples):
    net = make_net(engine, workers=2)
    examples = make_examples(net.spec, 20)
    reads = read_between_knots(net.spec.inputs, examples.numeric).any(axis=1)
    expected = np.zeros((2, 7), np.int64)
    for name, rows in (("d3-8", [0, 1]), ("d1-3-5", [2]), ("8-5", [3, 4]), ("d3-linear", [5])):
        child = Architecture.parse(name)
        net.train_step(child, examples, np.array(rows), 0.01)
        expected[: [0, 1, None, 2][child.dimension]] += reads[rows].any(axis=0)
    children = [Architecture.parse("d1-8"), Architecture.parse("d3-3")]
    net.train_step_workers(children, examples, [np.array([6, 7]), np.array([8])], 0.01)
    expected[0] += reads[6:9].any(axis=0)
    expected[1] += reads[8]
    np.testing.assert_array_equal(net.state_dict()["steps/numeric_embedding"], expected)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_a_child_of_dimension_0_never_touches_the_table(engine, optimizer, make_net, make_examples):
    net = make_net(engine, optimizer=optimizer, workers=2)
    examples = make_examples(net.spec, 20)
    net.train_step(Architecture((8,), dimension=3), examples, slice(None), 0.1)  # moments above 0
    before = net.state_dict()
    children = [Architecture((8, 5)), Architecture(())]
    for _ in range(3):
        net.train_step(children[0], examples, slice(0, 10), 0.1)
        net.train_step_workers(children, examples, [slice(0, 9), slice(9, 20)], 0.1)
    for name, array in net.state_dict().items():
        if name.endswith("numeric_embedding"):
            np.testing.assert_array_equal(array, before[name])
    assert "numeric_embedding" not in net.gradients(children[0], examples)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_a_space_of_dimension_0_has_the_bits_of_one_without_numeric_embeddings(
    engine, optimizer, make_net, make_examples
):
    states = []
    for dimensions, knots in (((), False), ((), True), ((0,), True)):
        net = make_net(engine, dimensions, knots=knots, optimizer=optimizer, workers=2)
        examples = make_examples(net.spec, 40)
        for child in (Architecture((8, 5)), Architecture((3,)), Architecture(())):
            net.train_step(child, examples, slice(0, 30), 0.01)
            net.train_step_workers(
                [child, Architecture((8,))], examples, [slice(0, 9), slice(9, 20)], 0.01
            )
        states.append(net.state_dict())
    for state in states[1:]:
        assert set(state) == set(states[0])
        for name, array in state.items():
            np.testing.assert_array_equal(array, states[0][name])


@pytest.mark.parametrize("name", ["d1-8-5", "d3-3", "d3-linear", "8"])
def test_a_standalone_network_with_the_weights_of_a_child_has_its_logits(
    engine, name, make_net, make_examples
):
    net = make_net(engine)
    examples, child = make_examples(net.spec, 30), Architecture.parse(name)
    net.train_step(child, examples, slice(None), 0.1)
    standalone = SuperNet.standalone(name, net.spec, engine=engine)
    standalone.load_weights(net.child_weights(child))
    np.testing.assert_allclose(
        standalone.logits(child, examples), net.logits(child, examples), rtol=1e-5, atol=1e-6
    )


def test_a_standalone_network_with_numeric_embeddings_learns(engine, make_spec, make_examples):
    spec = make_spec("logistic", knots=True)
    net = SuperNet.standalone("d2-8", spec, engine=engine)
    examples, child = make_examples(spec, 40), Architecture((8,), dimension=2)
    before = net.loss(child, examples)
    for _ in range(30):
        net.train_step(child, examples, slice(None), 0.01)
    assert net.loss(child, examples) < before


def test_numeric_embeddings_need_knots(make_spec):
    with pytest.raises(
        TabNASError, match="the inputs of its network spec must have knots, got none"
    ):
        SuperNet.standalone("d2-8", make_spec("logistic"))


def test_dimensions_outside_of_the_space_are_refused(make_net, make_examples):
    net = make_net("compiled")
    with pytest.raises(TabNASError, match="no candidate dimension 2, only 0, 1, 3"):
        net.loss(Architecture((8,), dimension=2), make_examples(net.spec, 5))


def test_a_child_with_numeric_embeddings_can_be_given_by_choices(engine, make_net, make_examples):
    net = make_net(engine)
    examples = make_examples(net.spec, 5)
    child = Architecture.parse("d3-8-5")
    assert net.loss([2, 2, 1], examples) == net.loss(child, examples)


@pytest.mark.parametrize("name", ["d2-linear", "d2-8"])
def test_gradients_of_the_table_are_finite_differences(engine, name, make_spec, make_examples):
    spec = make_spec("squared_error", knots=True)
    net = SuperNet.standalone(name, spec, engine=engine, seed=1)
    child, examples = Architecture.parse(name), make_examples(spec, 60, weighted=True)
    weights = net.weights()
    if child.depth:
        weights["layer.1.shift"][...] = 4.0  # so that no ReLU has its kink within a step
    net.load_weights(weights)
    gradient = net.gradients(child, examples)["numeric_embedding"]
    table, step = weights["numeric_embedding"], 0.01
    differences = np.zeros(table.shape)
    for index in np.ndindex(table.shape):
        value, losses = table[index], []
        for table[index] in (value + step, value - step):
            net.load_weights(weights)
            losses.append(net.loss(child, examples))
        table[index] = value
        differences[index] = (losses[0] - losses[1]) / (2 * step)
    np.testing.assert_allclose(gradient, differences, rtol=1e-3, atol=2e-4)
