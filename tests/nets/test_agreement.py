"""The engines against plain PyTorch modules and optimisers, and against each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, SuperNet, Task
from tabnas.space import Architecture, SearchSpace

torch = pytest.importorskip("torch")
ROUNDING = {"rtol": 2e-4, "atol": 2e-5}
LOSSES = ("logistic", "softmax", "squared_error")
OPTIMIZERS = {
    "sgd": SGD(),
    "sgd with decay": SGD(weight_decay=0.1),
    "momentum": SGD(momentum=0.9),
    "adam": Adam(),
    "adam of the paper": Adam(epsilon=0.001),
    "adam with decay": Adam(beta1=0.8, beta2=0.95, weight_decay=0.1),
}


class Plain(torch.nn.Module):
    """The network as anyone would write it in PyTorch, for one architecture."""

    def __init__(self, task, architecture, weights):
        super().__init__()
        sizes = [task.inputs.width, *architecture.widths]
        self.tables = torch.nn.ModuleList(
            torch.nn.Embedding(e.categories, e.dimension) for e in task.inputs.embeddings
        )
        body = []
        for fan_in, fan_out in pairwise(sizes):
            body += [
                torch.nn.Linear(fan_in, fan_out), torch.nn.LayerNorm(fan_out), torch.nn.ReLU(),
            ]  # fmt: skip
        self.body = torch.nn.Sequential(*body)
        self.head = torch.nn.Linear(sizes[-1], task.outputs)
        self.loss = task.loss
        self.named = {f"embedding.{i}": (t.weight, False) for i, t in enumerate(self.tables)}
        for layer in range(1, architecture.depth + 1):
            dense, norm = self.body[3 * layer - 3], self.body[3 * layer - 2]
            self.named |= {
                f"layer.{layer}.weight": (dense.weight, True),
                f"layer.{layer}.bias": (dense.bias, False),
                f"layer.{layer}.scale": (norm.weight, False),
                f"layer.{layer}.shift": (norm.bias, False),
            }
        self.named[f"head.{architecture.depth}.weight"] = (self.head.weight, True)
        self.named[f"head.{architecture.depth}.bias"] = (self.head.bias, False)
        assert set(self.named) == set(weights)
        with torch.no_grad():
            for name, (parameter, transposed) in self.named.items():
                source = torch.tensor(weights[name])
                parameter.copy_(source.T if transposed else source)

    def forward(self, numeric, categorical):
        embedded = [table(categorical[:, c]) for c, table in enumerate(self.tables)]
        return self.head(self.body(torch.cat([numeric, *embedded], dim=1)))

    def batch_loss(self, examples, rows):
        logits = self(
            torch.tensor(examples.numeric[rows]), torch.tensor(examples.categorical[rows])
        )
        if self.loss == "softmax":
            target = torch.tensor(examples.labels[rows]).long()
            losses = torch.nn.functional.cross_entropy(logits, target, reduction="none")
        elif self.loss == "logistic":
            target = torch.tensor(examples.values[rows])
            losses = torch.nn.BCEWithLogitsLoss(reduction="none")(logits, target)[:, 0]
        else:
            losses = ((logits - torch.tensor(examples.values[rows])) ** 2).mean(dim=1)
        if not len(examples.weight):
            return losses.mean()
        weight = torch.tensor(examples.weight[rows])
        return (losses * weight).sum() / weight.sum()

    def read(self, of=lambda parameter: parameter):
        return {
            name: of(parameter).detach().numpy().T if transposed else of(parameter).detach().numpy()
            for name, (parameter, transposed) in self.named.items()
        }


def plain_optimizer(model, optimizer, rate):
    decays = [p for name, (p, _) in model.named.items() if name.endswith(".weight")]
    others = [p for name, (p, _) in model.named.items() if not name.endswith(".weight")]
    groups = [
        {"params": decays, "weight_decay": optimizer.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if isinstance(optimizer, SGD):
        return torch.optim.SGD(groups, lr=rate, momentum=optimizer.momentum)
    betas = optimizer.beta1, optimizer.beta2
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=optimizer.epsilon)


def assert_all_close(ours, theirs):
    assert set(ours) == set(theirs)
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], **ROUNDING, err_msg=name)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_gradients_and_steps_of_a_standalone_network(
    make_task, make_examples, loss, optimizer, engine
):
    task = make_task(loss)
    architecture = Architecture((12, 5, 16))
    net = SuperNet.standalone(architecture, task, optimizer=optimizer, engine=engine, seed=1)
    model = Plain(task, architecture, net.weights())
    examples = make_examples(task, 40, weighted=True)
    theirs = plain_optimizer(model, optimizer, 0.01)
    # every batch has all categories, since PyTorch's dense optimisers move the others as well
    for rows in (np.arange(40), slice(0, 30), np.random.default_rng(0).permutation(40)):
        theirs.zero_grad()
        value = model.batch_loss(examples, rows)
        value.backward()
        assert net.loss(architecture, examples, rows) == pytest.approx(value.item(), rel=1e-5)
        gradients = net.gradients(architecture, examples, rows)
        assert_all_close(gradients, model.read(lambda parameter: parameter.grad))
        assert net.train_step(architecture, examples, rows, 0.01) == pytest.approx(
            value.item(), rel=1e-5
        )
        theirs.step()
        assert_all_close(net.weights(), model.read())


@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize("architecture", ["linear", "3", "20-16-9", "8-5"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_child_computes_what_its_slice_alone_would(
    make_task, make_examples, loss, architecture, engine
):
    task = make_task(loss)
    space = SearchSpace(
        [[0, 3, 8, 20], [0, 5, 16], [0, 9]], inputs=task.inputs.width, outputs=task.outputs
    )
    child = Architecture.parse(architecture)
    net = SuperNet(space, task, engine=engine, seed=2)
    examples = make_examples(task, 23)
    model = Plain(task, child, net.child_weights(child))
    for rows in (slice(None), slice(4, 5), np.array([7, 7, 3])):
        value = model.batch_loss(examples, rows)
        model.zero_grad()
        value.backward()
        assert net.loss(child, examples, rows) == pytest.approx(value.item(), rel=1e-5)
        gradients = net.gradients(child, examples, rows)
        assert_all_close(gradients, model.read(lambda parameter: parameter.grad))
    alone = SuperNet.standalone(child, task, engine=engine)
    alone.load_weights(net.child_weights(child))
    np.testing.assert_allclose(
        alone.logits(child, examples), net.logits(child, examples), **ROUNDING
    )


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_engines_take_the_same_steps(make_task, make_examples, optimizer, workers):
    task = make_task("softmax")
    ends = {"inputs": task.inputs.width, "outputs": task.outputs}
    space = SearchSpace([[3, 8, 20], [0, 5, 16], [0, 9]], **ends)
    examples = make_examples(task, 30, weighted=True)
    if isinstance(optimizer, Adam):
        # of a narrow child some gradients are 0 but for rounding; a tiny epsilon makes them steps
        optimizer = replace(optimizer, epsilon=max(optimizer.epsilon, 1e-5))
    first, second = (
        SuperNet(space, task, optimizer=optimizer, engine=engine, workers=workers, seed=3)
        for engine in ("compiled", "torch")
    )
    rng = np.random.default_rng(0)
    names = ["20-16-9", "3", "8-5", "3-16-9", "20", "8-16"]
    for _ in range(8):
        children = [Architecture.parse(name) for name in rng.choice(names, workers)]
        rows = [rng.integers(0, 30, size=rng.integers(1, 9)) for _ in children]
        ours = first.train_step_workers(children, examples, rows, 0.01)
        theirs = second.train_step_workers(children, examples, rows, 0.01)
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert_all_close(first.state(), second.state())
    # either engine goes on from the other's state
    second.load_state(first.state())
    for net in (first, second):
        net.train_step(Architecture((8, 16)), examples, slice(0, 7), 0.01)
    assert_all_close(first.state(), second.state())


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_many_classes(make_task, make_examples, classes):
    task = make_task("softmax", outputs=classes)
    architecture = Architecture((24, 16))
    net = SuperNet.standalone(architecture, task)
    examples = make_examples(task, 17)
    model = Plain(task, architecture, net.weights())
    value = model.batch_loss(examples, slice(None))
    value.backward()
    assert net.loss(architecture, examples) == pytest.approx(value.item(), rel=1e-5)
    assert_all_close(
        net.gradients(architecture, examples), model.read(lambda parameter: parameter.grad)
    )


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_small_network(data):
    widths = tuple(data.draw(st.lists(st.integers(1, 40), max_size=3)))
    loss = data.draw(st.sampled_from(LOSSES))
    dimensions = data.draw(st.lists(st.integers(1, 20), max_size=3))
    inputs = Inputs(
        numeric=data.draw(st.integers(0 if dimensions else 1, 30)),
        embeddings=[Embedding(categories=3, dimension=d) for d in dimensions],
    )
    outputs = 1 if loss == "logistic" else data.draw(st.integers(2, 20))
    task = Task(inputs=inputs, loss=loss, outputs=outputs)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = data.draw(st.integers(1, 20))
    targets = {
        "logistic": rng.random(rows),
        "softmax": rng.integers(0, outputs, rows),
        "squared_error": rng.normal(size=(rows, outputs)),
    }
    examples = Examples(
        task,
        numeric=rng.normal(size=(rows, inputs.numeric)),
        categorical=rng.integers(0, 3, (rows, len(dimensions))),
        target=targets[loss],
    )
    architecture = Architecture(widths)
    net = SuperNet.standalone(architecture, task)
    model = Plain(task, architecture, net.weights())
    value = model.batch_loss(examples, slice(None))
    value.backward()
    assert net.loss(architecture, examples) == pytest.approx(value.item(), rel=1e-4, abs=1e-6)
    theirs = model.read(lambda parameter: parameter.grad)
    ours = net.gradients(architecture, examples)
    for name, gradient in theirs.items():
        # LayerNorm of a unit or two is all rounding: the derivative of a constant
        scale = 1e-5 + 1e-3 * np.abs(gradient).max()
        if min(widths, default=9) > 2:
            np.testing.assert_allclose(ours[name], gradient, rtol=2e-3, atol=scale, err_msg=name)
